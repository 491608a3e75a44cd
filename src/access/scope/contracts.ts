// The contracts that a key may read: hex addresses of block networks, BASE32 of epoch networks.
import { looksLikeAddress, readAddress } from "../../conflux/address.ts";

/** A test for addresses as callers write them. Anything that is no address is in no list. */
export function contractMatcher(contracts: readonly string[]): (address: unknown) => boolean {
  const known = new Set(contracts.flatMap(spellings));
  return (address) =>
    typeof address === "string" && (known.has(address) || known.has(usual(address)));
}

/** As most write it, and nodes: decoding BASE32 on each call costs more than the rest of the check. */
const spellings = (contract: string): readonly string[] => {
  const address = read(contract);
  if (!address) return HEX.test(contract) ? [contract.toLowerCase()] : [];
  const { short, verbose } = address;
  return [short, verbose, short.toUpperCase(), verbose.toUpperCase()];
};

const HEX = /^0x[0-9a-fA-F]{40}$/;

/** One text for one address; what is none stays as it is, and is not in the list. */
const usual = (address: string): string =>
  HEX.test(address) ? address.toLowerCase() : (read(address)?.short ?? address);

/** Whether it is of the network that is called is checked with the other parameters. */
function read(address: string): { short: string; verbose: string } | undefined {
  if (!looksLikeAddress(address)) return undefined;
  const reading = readAddress(address, networkIdOf(address));
  return reading.kind === "address" ? reading.address : undefined;
}

function networkIdOf(address: string): number {
  const [prefix = ""] = address.toLowerCase().split(":", 1);
  if (prefix === "cfx") return 1029;
  return prefix === "cfxtest" ? 1 : Number(prefix.slice("net".length));
}
