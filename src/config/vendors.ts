// Vendors by name: `alchemy://KEY` stands for the vendor's URL of the network, with the prices of its calls. Each row of
// vendors.json names the sources of its facts. A fact without a source is left out; limits are then learned from the
// vendor's answers, as for every upstream.
import type { ChainFacts } from "./known-chains.ts";
import rows from "./vendors.json" with { type: "json" };

/** What the vendor says of its limits, by plan. It is shown to people; the limits of a key are learned from answers. */
export type VendorLimits = {
  /** The most blocks of a log query. */
  readonly logBlocks?: string;
  /** The most calls of one request. */
  readonly batches?: string;
  /** On which plans or chains it has traces. */
  readonly traces?: string;
  /** That it is closed, or will be. */
  readonly closed?: string;
};

type Vendor = VendorLimits & {
  /** A host and a path, with the placeholders `{chain}`, `{key}` and `{name}`. */
  readonly url: string;
  /** The vendor's name of each chain, by chain id; `-` where the chain is not part of the host. Block networks only. */
  readonly chains: Readonly<Record<string, string>>;
  /** The vendor's credits by method or pattern; left out: each call costs one. */
  readonly costs?: Readonly<Record<string, number>>;
  /** Its rates, by plan. Shown to people only: a rate holds for all networks of an account, not for one upstream. */
  readonly rates?: string;
  /** The sources of the above. */
  readonly sources: readonly string[];
};

const table: Readonly<Record<string, Vendor>> = rows;

export const vendorNames: readonly string[] = Object.keys(table);

/** Empty for a name that is no vendor's. */
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
  /** The text never has the key. */
  | { readonly kind: "mistake"; readonly why: string };

/**
 * What a URL such as `alchemy://KEY` stands for; undefined where it is no vendor's.
 *
 * @param chain The chain of the network; undefined while it is not known.
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

/** Has no character that would change the rest of a URL. */
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
