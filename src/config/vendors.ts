// Vendors by name: `alchemy://KEY` stands for the vendor's URL of the network, with the prices of its calls. Each row of
// vendors.json names the sources of its facts. Facts without a source are left out: as for every upstream, the gateway
// learns limits from the vendor's replies.
import type { ChainFacts } from "./known-chains.ts";
import rows from "./vendors.json" with { type: "json" };

/** A vendor's published limits by plan, to be shown to people; the gateway learns an account's limits from replies. */
export type VendorLimits = {
  /** The most blocks of a log query. */
  readonly logBlocks?: string;
  /** The most calls in one batch. */
  readonly batches?: string;
  /** The plans or chains with traces. */
  readonly traces?: string;
  /** A note that the vendor has closed or will close. */
  readonly closed?: string;
};

type Vendor = VendorLimits & {
  /** The host and path of the vendor's URLs, with the placeholders `{chain}`, `{key}` and `{name}`. */
  readonly url: string;
  /** The vendor's name for each block network, by chain id; `-` if the host does not contain the chain. */
  readonly chains: Readonly<Record<string, string>>;
  /** The price of calls in the vendor's credits, by method or pattern; left out: each call costs one. */
  readonly costs?: Readonly<Record<string, number>>;
  /** The vendor's rates by plan, for people only: a rate holds for all networks of an account, not for one upstream. */
  readonly rates?: string;
  /** The sources of these facts. */
  readonly sources: readonly string[];
};

const table: Readonly<Record<string, Vendor>> = rows;

export const vendorNames: readonly string[] = Object.keys(table);

/** The published limits of a vendor; empty for an unknown one. */
export const limitsOf = (vendor: string): VendorLimits => table[vendor] ?? {};

type VendorUpstream = {
  readonly url: string;
  readonly vendor: string;
  readonly rate?: { readonly costs: Readonly<Record<string, number>> };
};

type ResolvedVendor =
  | { readonly kind: "upstream"; readonly upstream: VendorUpstream }
  /** The vendor is not known to have the chain. */
  | { readonly kind: "without"; readonly why: string }
  /** The URL is wrong, or the chain is unknown. `why` does not contain the vendor's key. */
  | { readonly kind: "mistake"; readonly why: string };

/**
 * The upstream that a URL such as `alchemy://KEY` stands for; undefined for a URL that is no vendor's.
 * @param chain The chain of the network; undefined while it is not known.
 * @param through The URL of a proxy for vendors, which gets the vendor's host as the first part of the path.
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
  if (!credentials) return { kind: "mistake", why: `must be written ${formOf(name, vendor.url)}` };
  if (!chain)
    return {
      kind: "mistake",
      why: `the chain of this network is not known, so ${name}'s URL is not known either: write the network's chainId, or give the network a known name (eth-mainnet, base, …)`,
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

/** A part of the credentials, without characters that would change the rest of a URL. */
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
