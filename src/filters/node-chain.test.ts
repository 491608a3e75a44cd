import { expect, it } from "vitest";
import { FakeClock } from "../../test/support/fake-clock.ts";
import { errors } from "../jsonrpc/rpc-error.ts";
import type { CallOptions } from "../upstream/asking/call-options.ts";
import { NodeChain } from "./node-chain.ts";

const hashOf = (digits: string): string => `0x${digits.padStart(64, "0")}`;
const block = { number: 5, hash: hashOf("a5"), parentHash: hashOf("a4"), header: "{}" };
const header = { number: "0x5", hash: hashOf("A5"), parentHash: hashOf("a4"), transactions: [] };
const log = {
  ...{ address: `0x${"1".repeat(40)}`, topics: [], data: "0x", removed: false },
  ...{ logIndex: "0x0", transactionIndex: "0x0", transactionHash: hashOf("1") },
  ...{ blockHash: block.hash, blockNumber: "0x5" },
};
const refused = (): never => {
  throw errors.refusedByNode(-32602, "invalid argument 0: blockHash is not supported", "{}");
};
/** A bloom in which every value is. */
const FULL = `0x${"ff".repeat(256)}`;
const ZEROS = `0x${"00".repeat(256)}`;
/** A bloom of one address that no test asks for. */
const OTHER = `0x${"00".repeat(255)}01`;

type Answer = (asked: { blockHash?: string; address?: string }) => unknown;

/** Nodes with scripted answers by method, and the calls that they got. */
function nodesThat(answers: Readonly<Record<string, Answer>>) {
  const calls: string[] = [];
  const given: CallOptions[] = [];
  const call = async (
    method: string,
    params: string,
    _signal: unknown,
    options: CallOptions = {},
  ): Promise<Buffer> => {
    calls.push(method);
    given.push(options);
    await undefined;
    return Buffer.from(JSON.stringify(answers[method]?.(JSON.parse(params)[0]) ?? null));
  };
  const signal = new AbortController().signal;
  const nodes = new NodeChain({ pool: { call }, clock: new FakeClock(), signal });
  return { nodes, calls, given };
}

it("asks for a block once for all filters, and not again by its hash", async () => {
  const { nodes, calls } = nodesThat({ eth_getBlockByNumber: () => header });
  const [one, other] = await Promise.all([nodes.head(), nodes.head()]);
  expect(one).toMatchObject({ number: 5, hash: block.hash, parentHash: block.parentHash });
  expect(other).toBe(one);
  expect(await nodes.blockOf(block.hash)).toBe(one);
  expect(calls).toEqual(["eth_getBlockByNumber"]);
});

it.each([
  ["null", () => null],
  ["an error (Lotus)", refused],
  ["the block before", () => ({ ...header, number: "0x4" })],
])("a height that the chain left out has no block: %s", async (_, answer) => {
  const { nodes } = nodesThat({ eth_getBlockByNumber: answer });
  expect(await nodes.blockAt(5)).toBeUndefined();
});

it("does not take a failure for the absence of a block", async () => {
  const away = (): never => {
    throw errors.upstreamsFailed();
  };
  const { nodes } = nodesThat({ eth_getBlockByNumber: away, eth_getBlockByHash: away });
  await expect(nodes.head()).rejects.toMatchObject({ status: 502 });
  await expect(nodes.blockAt(5)).rejects.toMatchObject({ status: 502 });
  await expect(nodes.blockOf(block.hash)).rejects.toMatchObject({ status: 502 });
});

it("does not believe a node's words about another hash", async () => {
  const { nodes } = nodesThat({ eth_getBlockByHash: () => ({ ...header, hash: hashOf("b5") }) });
  expect(await nodes.blockOf(block.hash)).toBeUndefined();
});

it("asks for the logs of a block by its hash", async () => {
  const asked: unknown[] = [];
  const { nodes } = nodesThat({ eth_getLogs: (given) => [asked.push(given) && log] });
  const filter = { address: log.address, fromBlock: "0x1" };
  const logs = await nodes.logsOf({ ...block, logsBloom: FULL }, filter);
  expect(logs.map((each) => JSON.parse(String(each)))).toEqual([log]);
  expect(asked).toEqual([{ blockHash: block.hash, address: log.address }]);
});

it("fetches all logs of a block once where many filters ask for some", async () => {
  const addressOf = (at: number): string => `0x${String(at).padStart(40, "0")}`;
  const logs = Array.from({ length: 20 }, (_, at) => ({
    ...{ ...log, address: addressOf(at) },
    logIndex: `0x${at.toString(16)}`,
  }));
  let areAllRefused = false;
  const { nodes, calls } = nodesThat({
    eth_getLogs: ({ address }) => {
      if (!address && areAllRefused) refused();
      return logs.filter((each) => !address || each.address === address);
    },
    eth_getBlockByHash: () => header,
  });
  const found = (hash: string) =>
    Promise.all(
      logs.map(async ({ address }) => {
        const [own] = await nodes.logsOf({ ...block, hash, logsBloom: FULL }, { address });
        return (JSON.parse(String(own)) as typeof log).address;
      }),
    );
  expect(await found(block.hash)).toEqual(logs.map(({ address }) => address));
  expect(calls.length).toBe(8 + 1);
  areAllRefused = true;
  expect(await found(hashOf("c5"))).toEqual(logs.map(({ address }) => address));
});

it("asks by the number where nodes refuse the hash, and checks that it is the same block", async () => {
  let blockHash = block.hash;
  const { nodes } = nodesThat({
    eth_getLogs: ({ blockHash: byHash }) => (byHash ? refused() : [{ ...log, blockHash }]),
    eth_getBlockByHash: () => header,
    eth_getBlockByNumber: () => header,
  });
  expect(await nodes.logsOf({ ...block, logsBloom: FULL }, {})).toHaveLength(1);
  blockHash = hashOf("b5");
  const other = nodes.logsOf({ ...block, logsBloom: FULL }, {});
  await expect(other).rejects.toMatchObject({ status: 503 });
});

it("tells the nodes' refusal where they refuse both", async () => {
  const { nodes } = nodesThat({ eth_getLogs: refused, eth_getBlockByHash: () => header });
  const logs = nodes.logsOf({ ...block, logsBloom: FULL }, {});
  await expect(logs).rejects.toMatchObject({ code: -32602 });
});

it.each([
  { what: "is believed of a block that is known", logsBloom: FULL, known: header, want: [] },
  { what: "is not believed of a block that is gone", logsBloom: FULL, known: null, want: 503 },
  { what: "is not believed for a bloom of zeros", logsBloom: ZEROS, known: null, want: 503 },
  { what: "is believed where the bloom says so", logsBloom: OTHER, known: null, want: [] },
])("an empty answer $what", async ({ logsBloom, known, want }) => {
  const { nodes, given } = nodesThat({ eth_getLogs: () => [], eth_getBlockByHash: () => known });
  const found = await nodes
    .logsOf({ ...block, logsBloom }, { address: log.address })
    .catch(({ status }: { status: number }) => status);
  expect(found).toEqual(want);
  const isUncertain = given[0]?.crossCheck?.isUncertain;
  const empty = { kind: "result", json: Buffer.from("[]") } as const;
  expect(isUncertain?.(empty)).toBe(logsBloom !== OTHER);
});
