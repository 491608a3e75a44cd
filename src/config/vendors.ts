// Vendors by name: `alchemy://KEY` stands for the vendor's URL of the network that it is an upstream of, with what its calls
// cost there. Each row of vendors.json names where its facts are from; what no source says is left out: limits are learned from
// the vendor's answers then, as of every upstream.
import type { ChainFacts } from "./known-chains.ts";
import rows from "./vendors.json" with { type: "json" };

/** What is known of a vendor's limits, by plan; for people: what holds for a key is learned from the answers. */
export type VendorLimits = {
  /** The largest log query that it takes. */
  readonly logBlocks?: string;
  /** How many calls it takes in one request. */
  readonly batches?: string;
  /** Where it has traces. */
  readonly traces?: string;
};

type Vendor = VendorLimits & {
  /** A host and a path, in which `{chain}`, and `{key}` or `{name}` and `{key}`, are put. */
  readonly url: string;
  /** How the vendor calls a chain, by chain id; `-` where the chain is not part of the host. Block networks only. */
  readonly chains: Readonly<Record<string, string>>;
  /** In the vendor's credits, by method or pattern. Left out: each call counts as one. */
  readonly costs?: Readonly<Record<string, number>>;
  /** What it takes, by plan; for people: it is one for all networks of an account, and not one of each upstream. */
  readonly rates?: string;
  /** Where the above is from. */
  readonly sources: readonly string[];
};

const table: Readonly<Record<string, Vendor>> = rows;

export const vendorNames: readonly string[] = Object.keys(table);

/** Nothing is known of other names than vendors'. */
export const limitsOf = (vendor: string): VendorLimits => table[vendor] ?? {};

type VendorUpstream = {
  readonly url: string;
  readonly vendor: string;
  readonly rate?: { readonly costs: Readonly<Record<string, number>> };
};

type ResolvedVendor =
  | { readonly kind: "upstream"; readonly upstream: VendorUpstream }
  /** The vendor does not have the chain. */
  | { readonly kind: "without"; readonly why: string }
  /** Never with the key. */
  | { readonly kind: "mistake"; readonly why: string };

/**
 * What a URL such as `alchemy://KEY` stands for; undefined where it is no vendor's.
 *
 * @param chain Of the network; undefined where nobody knows it yet.
 * @param through A URL through which vendors are asked, with their host as the first part of the path.
 */
export function resolveVendor(
  url: string,
  chain: ChainFacts | undefined,
  through?: string,
): ResolvedVendor | undefined {
  const [, name = "", rest = ""] = /^([a-z]+):\/\/(.*)$/s.exec(url) ?? [];
  const vendor = Object.hasOwn(table, name) ? table[name] : undefined;
  if (!vendor) return undefined;
  const credentials = credentialsIn(rest, vendor.url);
  if (!credentials) return { kind: "mistake", why: `want ${formOf(name, vendor.url)}` };
  if (!chain)
    return {
      kind: "mistake",
      why: `which chain of ${name}'s? Write the network's chainId, or call it by a known name (eth-mainnet, base, …)`,
    };
  const called = chain.family === "evm" ? vendor.chains[chain.chainId] : undefined;
  if (called === undefined)
    return { kind: "without", why: `${name} is not known to have chain ${chain.chainId}` };
  const place = placeOf(vendor.url, { ...credentials, chain: called });
  const rate = vendor.costs ? { rate: { costs: vendor.costs } } : {};
  const whole = through ? `${through.replace(/\/$/, "")}/${place}` : `https://${place}`;
  return { kind: "upstream", upstream: { url: whole, vendor: name, ...rate } };
}

type Credentials = { readonly name: string; readonly key: string };

/** Nothing that would change the rest of a URL. */
const WORD = /^[\w.~-]{1,200}$/;

function credentialsIn(text: string, form: string): Credentials | undefined {
  if (!form.includes("{key}")) return text === "" ? { name: "", key: "" } : undefined;
  const parts = text.replace(/\/$/, "").split("/");
  const [name = "", key = ""] = form.includes("{name}") ? parts : ["", ...parts];
  const wanted = form.includes("{name}") ? 2 : 1;
  return parts.length === wanted && parts.every((part) => WORD.test(part))
    ? { name, key }
    : undefined;
}

const formOf = (name: string, form: string): string =>
  form.includes("{name}")
    ? `${name}://ENDPOINT-NAME/TOKEN`
    : form.includes("{key}")
      ? `${name}://KEY`
      : `${name}:// alone`;

const placeOf = (form: string, values: Credentials & { readonly chain: string }): string =>
  form
    .replace("{chain}.", () => (values.chain === "-" ? "" : `${values.chain}.`))
    .replace("{chain}", () => values.chain)
    .replace("{name}", () => values.name)
    .replace("{key}", () => values.key);
