// Finds the keys that some providers put into the first labels of a host name: `KEY.eth.example.com`.

/** The form of such a key. */
const KEY_IN_HOST = /(?=[a-z]*\d)[a-z0-9]{12}|[a-z]{16}/i;

/** Whether a host name, or a label of one, may hold a key. */
export const mayHoldKey = (host: string): boolean => KEY_IN_HOST.test(host);

/** The last labels are the domain, which is no key: it is public. */
const DOMAIN_LABELS = 2;

/** The host name without the labels before its domain that may hold a key. */
export const withoutKeys = (host: string): string =>
  host
    .split(".")
    .filter((label, at, { length }) => at >= length - DOMAIN_LABELS || !mayHoldKey(label))
    .join(".");

/** The labels that may hold a key, and the parts of these labels that have the form of one. */
export const keysInHost = (host: string): string[] =>
  host
    .split(".")
    .slice(0, -DOMAIN_LABELS)
    .filter(mayHoldKey)
    .flatMap((label) => [label, ...label.split("-").filter(mayHoldKey)]);
