// Filters that cfx_getLogs refuses, with the error texts.

import { expect } from "vitest";
import { toQuantity } from "../../src/evm/values.ts";

type Known = { readonly latestState: number; readonly contract: string };
export type Refusal = {
  readonly title: string;
  readonly filter: (known: Known) => object;
  readonly network?: "narrow";
  readonly code: number;
  readonly message: unknown;
};

const NODE = "Error processing request: Filter error:";
const NOBODY = `0x${"5a".repeat(32)}`;
const short = (contract: string): string => contract.toLowerCase().replace(/:.*:/, ":");
/** The address with another last letter, and thus a wrong checksum. */
const misspelled = (text: string): string => text.slice(0, -1) + (text.endsWith("a") ? "b" : "a");

const address = (title: string, words: string, spell: (contract: string) => unknown): Refusal => ({
  title: `an address ${title}`,
  filter: ({ contract }) => ({ address: spell(contract) }),
  code: -32602,
  message: expect.stringContaining(words),
});

export const refusals: readonly Refusal[] = [
  {
    title: "reversed epochs",
    filter: () => ({ fromEpoch: "0x20", toEpoch: "0x10" }),
    code: -32016,
    message: `${NODE} Filter has wrong epoch numbers set (from: 32, to: 16)`,
  },
  {
    title: "an epoch that is not executed yet",
    filter: ({ latestState }) => ({ fromEpoch: toQuantity(latestState + 1) }),
    code: -32016,
    message: expect.stringContaining("Filter has wrong epoch numbers set"),
  },
  {
    title: "an epoch that is not there yet",
    filter: () => ({ fromEpoch: "0xfffff", toEpoch: "0xfffff" }),
    code: -32016,
    message: `${NODE} Invalid params: expected a numbers with less than largest epoch number.`,
  },
  {
    title: "more epochs than one query may have",
    filter: () => ({ fromEpoch: "0x1", toEpoch: "0xb" }),
    network: "narrow",
    code: -32016,
    message: `${NODE} The gap between from_epoch and to_epoch is larger than max_gap (from: 1, to: 11, max_gap: 10)`,
  },
  {
    title: "a block that nobody has",
    filter: () => ({ blockHashes: [NOBODY] }),
    code: -32016,
    message: `${NODE} Unable to identify block ${NOBODY}`,
  },
  {
    title: "the end latest_mined",
    filter: () => ({ toEpoch: "latest_mined" }),
    code: -32602,
    message: expect.stringContaining("latest_mined"),
  },
  {
    title: "the start latest_mined",
    filter: () => ({ fromEpoch: "latest_mined" }),
    code: -32602,
    message: expect.stringContaining("latest_mined"),
  },
  {
    title: "the tag of another family",
    filter: () => ({ toEpoch: "latest" }),
    code: -32602,
    message: expect.stringContaining("want an epoch number"),
  },
  {
    title: "five topics",
    filter: () => ({ topics: [null, null, null, null, null] }),
    code: -32602,
    message: expect.stringContaining("4 topics"),
  },
  {
    title: "a limit that is no quantity",
    filter: () => ({ limit: 5 }),
    code: -32602,
    message: expect.stringContaining("invalid argument 0"),
  },
  address("in mixed case", "mixed case", (contract) => `${short(contract).slice(0, -3)}AAA`),
  address("in mixed case, in a list", "mixed case", (contract) => [
    contract,
    short(contract).replace("net", "NET"),
  ]),
  address(
    "of another network",
    "wrong network",
    () => "cfxtest:aar8jzybzv0fhzreav49syxnzut8s0jt1a1pdeeuwb",
  ),
  address("of the wrong type", "wrong type", (contract) =>
    contract.toLowerCase().replace("type.contract", "type.user"),
  ),
  address("with a wrong checksum", "wrong checksum", (contract) => misspelled(short(contract))),
  address("with a wrong checksum, in a list", "wrong checksum", (contract) => [
    misspelled(contract.toLowerCase()),
  ]),
  address("in hex", "BASE32", () => `0x8${"1".repeat(39)}`),
  address("without a network", "BASE32", (contract) => short(contract).split(":")[1]),
];
