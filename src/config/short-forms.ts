// What may be written short in a configuration, and what it stands for: a list of networks, an upstream that is its URL
// alone, what networks and upstreams have in common (`defaults`), and which chain a network is. Reads whatever it is
// given: mistakes are the schema's.
import { z } from "zod";
import { type ChainFacts, chainNamed, familyOfChain } from "./known-chains.ts";
import { networkDefaults } from "./network-settings.ts";
import { isMapping } from "./units.ts";
import { upstreamDefaults } from "./upstream-settings.ts";

/** What was found out of networks whose file does not say which chain they are, by network. */
export type Facts = Readonly<Record<string, ChainFacts>>;

type Mapping = Record<string, unknown>;

/** What a setting is that neither the network, or the upstream, has itself. */
export const defaults = z.strictObject({
  network: networkDefaults
    .optional()
    .describe("Settings of every network that does not have them itself."),
  upstream: upstreamDefaults
    .optional()
    .describe("Settings of every upstream that does not have them itself."),
});

/** The same configuration, every network and upstream written out. */
export function writtenOut(config: unknown, facts: Facts): unknown {
  if (!isMapping(config)) return config;
  const { networks, defaults: common } = config;
  // Mistakes of the defaults are told once, not in each network.
  const read = isMapping(common) && defaults.safeParse(common).success ? common : {};
  if (Array.isArray(networks) && networks.every((name) => typeof name === "string")) {
    const named = networks.map((name) => [name, {}] as const);
    return { ...config, networks: allWrittenOut(Object.fromEntries(named), read, facts) };
  }
  if (!isMapping(networks)) return config;
  return { ...config, networks: allWrittenOut(networks, read, facts) };
}

const allWrittenOut = (networks: Mapping, common: Mapping, facts: Facts): Mapping =>
  Object.fromEntries(
    Object.entries(networks).map(([name, network]) => [
      name,
      isMapping(network ?? {})
        ? networkWrittenOut(name, network ?? {}, { common, facts })
        : network,
    ]),
  );

function networkWrittenOut(
  name: string,
  network: object,
  { common, facts }: { readonly common: Mapping; readonly facts: Facts },
): Mapping {
  const whole = merged(common["network"], { ...network }) as Mapping;
  const upstreams = whole["upstreams"];
  return {
    ...whole,
    ...chainFacts(name, whole, facts),
    ...(Array.isArray(upstreams)
      ? { upstreams: upstreams.map((each) => upstreamWrittenOut(each, common["upstream"])) }
      : {}),
  };
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

function upstreamWrittenOut(upstream: unknown, common: unknown): unknown {
  const whole = typeof upstream === "string" ? { url: upstream } : upstream;
  return isMapping(whole) ? merged(common, whole) : whole;
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
