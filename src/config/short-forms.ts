// Writes out the short forms of a configuration: a list of networks, an upstream that is only a URL or a vendor's name,
// settings that networks and upstreams share (`defaults`), and the chain of a network that does not name it. Invalid
// values are left to the schema.
import { z } from "zod";
import { type ChainFacts, chainNamed, familyOfChain } from "./known-chains.ts";
import { networkDefaults } from "./network-settings.ts";
import type { Path } from "./setting-names.ts";
import { isMapping } from "./units.ts";
import { upstreamDefaults } from "./upstream-settings.ts";
import { resolveVendor, vendorNames } from "./vendors.ts";

/** The chains that nodes told, by network. */
export type Facts = Readonly<Record<string, ChainFacts>>;

type Mapping = Record<string, unknown>;
type Mistake = { readonly path: Path; readonly message: string };

const vendorUrl = z
  .string({ error: expectedVendor() })
  .refine((text) => vendorNames.some((name) => text.startsWith(`${name}://`)), {
    error: expectedVendor(),
  });

function expectedVendor(): string {
  return `expected a vendor such as alchemy://KEY (${vendorNames.join(", ")}), not the URL of a node, which belongs to one network`;
}

/** Settings for networks and upstreams that do not have them themselves. */
export const defaults = z.strictObject({
  upstreams: z
    .array(vendorUrl)
    .optional()
    .describe(
      "Vendors such as alchemy://KEY, which become upstreams of every network that they have, in addition to the network's own.",
    ),
  network: networkDefaults
    .optional()
    .describe("Settings of every network that does not have them itself."),
  upstream: upstreamDefaults
    .optional()
    .describe("Settings of every upstream that does not have them itself."),
});

type WriteOut = {
  readonly common: Mapping;
  readonly facts: Facts;
  /** The parameter of `resolveVendor`. */
  readonly through: string | undefined;
  readonly mistakes: Mistake[];
};

/** Writes out all networks and upstreams. @param options.vendorsThrough As `through` in `resolveVendor`. */
export function writtenOut(
  config: unknown,
  { facts, vendorsThrough: through }: { facts: Facts; vendorsThrough: string | undefined },
): { value: unknown; mistakes: readonly Mistake[] } {
  const mistakes: Mistake[] = [];
  if (!isMapping(config)) return { value: config, mistakes };
  const { networks, defaults: given } = config;
  // Invalid defaults are left out here, so that their mistakes are told once, not for each network.
  const common = isMapping(given) && defaults.safeParse(given).success ? given : {};
  const all = namesAsMapping(networks);
  if (!isMapping(all)) return { value: config, mistakes };
  const options = { common, facts, through, mistakes };
  const whole = Object.entries(all).map(([name, network]) => [
    name,
    isMapping(network ?? {}) ? networkWrittenOut(name, network ?? {}, options) : network,
  ]);
  return { value: { ...config, networks: Object.fromEntries(whole) }, mistakes };
}

/** A list of names, which `networks` may be, as a mapping; any other value as it is. */
export function namesAsMapping(value: unknown): unknown {
  const areNames = Array.isArray(value) && value.every((name) => typeof name === "string");
  return areNames ? Object.fromEntries(value.map((name) => [name, {}])) : value;
}

function networkWrittenOut(name: string, network: object, options: WriteOut): Mapping {
  const { common, facts, mistakes } = options;
  const merging = merged(common["network"], { ...network }) as Mapping;
  const whole = { ...merging, ...chainFacts(name, merging, facts) };
  const { upstreams } = whole;
  const everywhere = Array.isArray(common["upstreams"]) ? common["upstreams"] : [];
  if (!Array.isArray(upstreams) && everywhere.length === 0) return whole;
  if (upstreams !== undefined && !Array.isArray(upstreams)) return whole;
  const path = ["networks", name, "upstreams"];
  const own = (upstreams ?? []).map((each: unknown, at: number) => {
    const written = upstreamWrittenOut(each, whole, options);
    if (written.why !== undefined)
      mistakes.push({ path: [...path, at, "url"], message: written.why });
    return written.upstream;
  });
  const shared = everywhere.map((each: unknown) => upstreamWrittenOut(each, whole, options));
  const of = shared.flatMap(({ upstream, why }) => (why === undefined ? [upstream] : []));
  if (own.length + of.length === 0 && everywhere.length > 0) {
    const why = shared.flatMap((each) => each.why ?? []).join("; ");
    mistakes.push({ path, message: why || "at least one upstream is needed" });
  }
  return { ...whole, upstreams: [...own, ...of] };
}

/** The missing `family` and `chainId` of a network: by its settings, else its nodes' facts, else its name. */
function chainFacts(name: string, { family, chainId }: Mapping, facts: Facts): Mapping {
  if (chainId !== undefined)
    return family === undefined && typeof chainId === "number"
      ? { family: familyOfChain(chainId) }
      : {};
  const known = (Object.hasOwn(facts, name) ? facts[name] : undefined) ?? chainNamed(name);
  if (!known || (family !== undefined && family !== known.family)) return {};
  return { family: known.family, chainId: known.chainId };
}

/** An upstream in its long form; `why` is the reason if its vendor has no URL for the chain. */
function upstreamWrittenOut(
  upstream: unknown,
  { family, chainId }: Mapping,
  { common, through }: WriteOut,
): { upstream: unknown; why?: string } {
  const whole = typeof upstream === "string" ? { url: upstream } : upstream;
  if (!isMapping(whole)) return { upstream };
  const written = merged(common["upstream"], whole) as Mapping;
  const { url } = whole;
  const isKnown = typeof chainId === "number" && (family === "evm" || family === "conflux");
  const chain = isKnown ? ({ family, chainId } as ChainFacts) : undefined;
  const resolved = typeof url === "string" ? resolveVendor(url, chain, through) : undefined;
  if (!resolved) return { upstream: written };
  if (resolved.kind !== "upstream") return { upstream: written, why: resolved.why };
  const { url: place, ...facts } = resolved.upstream;
  return { upstream: { ...(merged(facts, written) as Mapping), url: place } };
}

/** Merges mappings recursively; for all other values `own` wins. */
function merged(common: unknown, own: unknown): unknown {
  if (own === undefined) return common;
  if (!isMapping(common) || !isMapping(own)) return own;
  const both = Object.keys({ ...common, ...own }).map((name) => [
    name,
    merged(common[name], own[name]),
  ]);
  return Object.fromEntries(both);
}
