// What no configuration can open: methods that administer a node, or sign with the keys it holds.
// What is behind a gateway belongs to its operator, not to whoever has an API key.

const closedNamespaces = ["admin_", "personal_", "miner_", "engine_"];
const closedPrefixes = ["eth_sign", "cfx_sign"];
// eth_resend replaces a pending transaction, and signs the new one with the node's account.
const closedMethods = new Set(["eth_sendTransaction", "eth_resend", "cfx_sendTransaction"]);

/** Whether this method is refused whatever the lists of a network or a key say. */
export const isNeverServed = (method: string): boolean =>
  closedMethods.has(method) ||
  [...closedNamespaces, ...closedPrefixes].some((prefix) => method.startsWith(prefix));

/**
 * Whether a pattern asks for what is never served: `admin_*` and `eth_sign*` do; `eth_*` does not,
 * it means the rest of its namespace. A pattern that leaves the namespace open, as `*` does, would
 * also ask for all of them.
 */
export function asksForNeverServed(pattern: string): boolean {
  const [beginning = "", ...rest] = pattern.split("*");
  return isNeverServed(beginning) || (rest.length > 0 && !beginning.includes("_"));
}
