// What may be written short in a configuration, and what it stands for: a list of networks, an upstream that is its URL
// alone or a vendor's name, what networks and upstreams have in common (`defaults`), and which chain a network is. Reads whatever it is
// given: mistakes are the schema's.
import { z } from "zod";
import { type ChainFacts, chainNamed, familyOfChain } from "./known-chains.ts";
import { networkDefaults } from "./network-settings.ts";
import type { Path } from "./setting-names.ts";
import { isMapping } from "./units.ts";
import { upstreamDefaults } from "./upstream-settings.ts";
import { resolveVendor, vendorNames } from "./vendors.ts";

/** What was found out of networks whose file does not say which chain they are, by network. */
export type Facts = Readonly<Record<string, ChainFacts>>;

type Mapping = Record<string, unknown>;
type Mistake = { readonly path: Path; readonly message: string };

const vendorUrl = z
  .string({ error: expectedVendor() })
  .refine((text) => vendorNames.some((name) => text.startsWith(`${name}://`)), {
    error: expectedVendor(),
  });

function expectedVendor(): string {
  return `expected a vendor such as alchemy://KEY (${vendorNames.join(", ")}); the URL of a node belongs to one network`;
}

/** What a setting is that neither the network, or the upstream, has itself. */
export const defaults = z.strictObject({
  upstreams: z
    .array(vendorUrl)
    .optional()
    .describe(
      "Vendors such as alchemy://KEY, which are upstreams of every network that they have, beside its own.",
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
  /** See `resolveVendor`. */
  readonly through: string | undefined;
  readonly mistakes: Mistake[];
};

/**
 * The same configuration, every network and upstream written out.
 *
 * @param options.vendorsThrough See `resolveVendor`.
 */
export function writtenOut(
  config: unknown,
  { facts, vendorsThrough: through }: { facts: Facts; vendorsThrough: string | undefined },
): { value: unknown; mistakes: readonly Mistake[] } {
  const mistakes: Mistake[] = [];
  if (!isMapping(config)) return { value: config, mistakes };
  const { networks, defaults: given } = config;
  // Mistakes of the defaults are told once, not in each network.
  const common = isMapping(given) && defaults.safeParse(given).success ? given : {};
  const areNames = Array.isArray(networks) && networks.every((name) => typeof name === "string");
  const all = areNames ? Object.fromEntries(networks.map((name) => [name, {}])) : networks;
  if (!isMapping(all)) return { value: config, mistakes };
  const options = { common, facts, through, mistakes };
  const whole = Object.entries(all).map(([name, network]) => [
    name,
    isMapping(network ?? {}) ? networkWrittenOut(name, network ?? {}, options) : network,
  ]);
  return { value: { ...config, networks: Object.fromEntries(whole) }, mistakes };
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

/** The file's word counts most, then what was found out, then the network's name. */
function chainFacts(name: string, { family, chainId }: Mapping, facts: Facts): Mapping {
  if (chainId !== undefined)
    return family === undefined && typeof chainId === "number"
      ? { family: familyOfChain(chainId) }
      : {};
  const known = (Object.hasOwn(facts, name) ? facts[name] : undefined) ?? chainNamed(name);
  if (!known || (family !== undefined && family !== known.family)) return {};
  return { family: known.family, chainId: known.chainId };
}

/** `why` it cannot be. */
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

/** Mappings are merged; in all else what is `own` counts. */
function merged(common: unknown, own: unknown): unknown {
  if (own === undefined) return common;
  if (!isMapping(common) || !isMapping(own)) return own;
  const both = Object.keys({ ...common, ...own }).map((name) => [
    name,
    merged(common[name], own[name]),
  ]);
  return Object.fromEntries(both);
}
