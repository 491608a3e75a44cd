// What the holder of a key has: what it may do, how much of it, and what it did.
import type { Meter } from "../limits/meter.ts";
import type { Scope } from "../scope/scope.ts";
import type { KeyUsage } from "../usage/key-usage.ts";

export type Grant = {
  /** Unique among all keys, and kept when the key's text is changed: filters, limits and usage go by it. */
  readonly name: string;
  readonly scope: Scope;
  readonly meter: Meter;
  readonly usage: KeyUsage;
};
