// The measured calls, and the most that each may cost beside Y: a `node:http` server that reads the body, parses it,
// and writes the same answer.
import { BUSY_BLOCKS, QUIET_BLOCKS } from "./chains.ts";

/** `alone`: the chain of `quiet`, over a node that gets each call as a request of its own. */
type Network = "quiet" | "busy" | "alone";

export type Case = {
  readonly name: string;
  readonly network: Network;
  readonly bodies: readonly string[];
  readonly aim: Aim;
  /** The usual cost: a check fails when the measured cost is twice as high (test/bench). */
  readonly usualTimesY?: number;
};

/** Limits: times Y, microseconds beyond Y, or microseconds; `nodeAMember`: the node's microseconds for a batch member. */
export type Aim = {
  readonly timesY?: number;
  readonly beyondY?: number;
  readonly micros?: number;
  readonly nodeAMember?: number;
};

const BATCH = 100;
/** The number of different bodies: calls in flight are never equal, so that the gateway merges none. */
const TEXTS = 6_400;

const hex = (number: number): string => `0x${number.toString(16)}`;
const call = (method: string, params: readonly unknown[], id = 1): string =>
  JSON.stringify({ jsonrpc: "2.0", id, method, params });
const many = <T>(count: number, make: (index: number) => T): T[] =>
  Array.from({ length: count }, (_, index) => make(index));
const batch = (make: (member: number) => string): string => `[${many(BATCH, make).join(",")}]`;
const word = (number: number): string => number.toString(16).padStart(64, "0");
const contract = `0x${"11".repeat(20)}`;
/** The call of ERC-20's `balanceOf`. */
const balanceOf = (owner: number, id?: number): string =>
  call("eth_call", [{ to: contract, data: `0x70a08231${word(owner)}` }, "latest"], id);

/** @param transactions Hashes of transactions in the blocks of `busy`. */
export function casesFor(transactions: readonly string[]): readonly Case[] {
  const receipt = (index: number, id?: number): string =>
    call("eth_getTransactionReceipt", [transactions[index % transactions.length]], id);
  const lastTen = BUSY_BLOCKS - 10;
  return [
    {
      ...{ name: "chain id", network: "quiet", aim: { timesY: 1.4 }, usualTimesY: 1 },
      bodies: [call("eth_chainId", [])],
    },
    {
      ...{
        name: "receipt from the store",
        network: "busy",
        aim: { timesY: 1.8 },
        usualTimesY: 1.5,
      },
      bodies: many(transactions.length, (index) => receipt(index)),
    },
    {
      ...{ name: "block with its transactions", network: "busy", aim: { timesY: 2 } },
      bodies: many(BUSY_BLOCKS - 1, (index) =>
        call("eth_getBlockByNumber", [hex(index + 1), true]),
      ),
    },
    {
      ...{ name: "logs of 10 blocks", network: "busy", aim: { beyondY: 300 } },
      bodies: many(lastTen, (index) =>
        call("eth_getLogs", [{ fromBlock: hex(index + 1), toBlock: hex(index + 10) }]),
      ),
    },
    {
      ...{ name: "logs of 2,000 blocks, no hit", network: "quiet", aim: { timesY: 2 } },
      bodies: many(QUIET_BLOCKS - 2000, (index) =>
        call("eth_getLogs", [
          { address: contract, fromBlock: hex(index + 1), toBlock: hex(index + 2000) },
        ]),
      ),
    },
    {
      ...{ name: "batch of 100 receipts", network: "busy", aim: { micros: 600 }, usualTimesY: 11 },
      bodies: many(64, (index) => batch((member) => receipt(index * BATCH + member, member))),
    },
    {
      ...{ name: "forwarded call", network: "quiet", aim: { timesY: 3 }, usualTimesY: 2.5 },
      bodies: many(TEXTS, (index) => balanceOf(index)),
    },
    {
      ...{
        name: "forwarded call, not merged",
        network: "alone",
        aim: { timesY: 3 },
        usualTimesY: 2.9,
      },
      bodies: many(TEXTS, (index) => balanceOf(index)),
    },
    {
      ...{ name: "batch of 100 forwarded", network: "quiet" },
      aim: { micros: 2000, nodeAMember: 40 },
      bodies: many(256, (index) => batch((member) => balanceOf(index * BATCH + member, member))),
    },
  ];
}

export const membersOf = (body: string): number => (body.startsWith("[") ? BATCH : 1);
