import { readFileSync } from "node:fs";
import {
  formatTransaction,
  getAddress,
  type Hex,
  keccak256,
  type RpcTransaction,
  serializeTransaction,
  type TransactionSerializable,
} from "viem";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { vectorFolder } from "./execution-chain/execute.ts";
import { readVector, shapeOf, vectorPaths } from "./execution-chain/vectors.ts";
import {
  type ExecutionChain,
  executionChainAvailable,
  startExecutionChain,
} from "./execution-chain.ts";

/** Exchanges that this node does not repeat, with the reason. */
const deviations: Readonly<Record<string, string>> = {
  "debug_traceTransaction/trace-legacy-transfer.io": "this node has no debug methods",
};

const vectors = executionChainAvailable ? vectorPaths() : [];

/** A contract that counts its calls in slot 0, and logs each. */
const counter = "0x7dcd17433742f4c0ca53122ab541d0ba67fc27df";

let chain: ExecutionChain;

beforeAll(async () => {
  if (executionChainAvailable) chain = await startExecutionChain();
});

afterAll(async () => {
  await chain?.close();
});

if (!executionChainAvailable)
  it.skip(`the execution chain: ${vectorFolder} lacks chain.rlp or genesis.json`, () => {});

describe.runIf(executionChainAvailable)("the vectors of execution-apis", () => {
  it.each(vectors.filter((path) => !(path in deviations)))("%s", async (path) => {
    const { isSpecOnly, exchanges } = readVector(path);
    expect(exchanges).not.toEqual([]);
    for (const { request, response } of exchanges) {
      const text = await post(request);
      if (isSpecOnly) {
        expect(shapeOf(JSON.parse(text))).toEqual(shapeOf(JSON.parse(response)));
        continue;
      }
      expect(JSON.parse(text)).toEqual(JSON.parse(response));
      expect(text).toBe(response); // also the order of the members
    }
  });
});

describe.runIf(executionChainAvailable)("what the chain holds", () => {
  it("ends at the head the vectors name", () => {
    const { params } = JSON.parse(readFileSync(`${vectorFolder}headfcu.json`, "utf8"));
    expect(chain.headNumber).toBe(54);
    expect(chain.blockHashes.at(-1)).toBe(params[0].headBlockHash);
  });

  it("gives transactions of every type, from whose fields viem computes their hashes", async () => {
    const types = new Set<string>();
    for (const hash of chain.transactionHashes) {
      const sent = await ask<RpcTransaction>("eth_getTransactionByHash", hash);
      types.add(sent.type);
      expect(hashOf(sent)).toBe(hash);
    }
    expect([...types].sort()).toEqual(["0x0", "0x1", "0x2", "0x3", "0x4"]);
  });

  it("gives receipts whose gas and logs add up to their block", async () => {
    const all: unknown[] = [];
    for (const hash of chain.blockHashes) {
      const block = await ask<Fields>("eth_getBlockByHash", hash, false);
      const receipts = await ask<Receipt[]>("eth_getBlockReceipts", hash);
      expect(receipts.at(-1)?.cumulativeGasUsed ?? "0x0").toBe(block["gasUsed"]);
      all.push(...receipts.flatMap(({ logs }) => logs));
    }
    expect(all.length).toBeGreaterThan(100);
    expect(await ask("eth_getLogs", { fromBlock: "earliest", toBlock: "latest" })).toEqual(all);
  });

  it("has uncles, counted and found by number and hash, without transactions", async () => {
    const uncle = await ask<Fields>("eth_getUncleByBlockNumberAndIndex", "0x3", "0x0");
    const { uncles } = await ask<{ uncles: string[] }>("eth_getBlockByNumber", "0x3", false);
    expect(uncles).toEqual([uncle["hash"]]);
    expect(uncle).not.toHaveProperty("transactions");
    expect(await ask("eth_getUncleCountByBlockHash", chain.blockHashes[3])).toBe("0x1");
    expect(await ask("eth_getUncleByBlockHashAndIndex", chain.blockHashes[3], "0x1")).toBe(null);
  });
});

describe.runIf(executionChainAvailable)("the state of the past", () => {
  const sender = "0x7435ed30a8b4aeb0877cef0c6e8cffe834eb865f";

  it.each([
    { block: "0x0", nonce: "0x0" },
    { block: "0x1", nonce: "0x4" },
    { block: "0x2", nonce: "0x3f" },
    { block: "0x1b", nonce: "0x94" },
  ])("after block $block is what the blocks up to it made", async ({ block, nonce }) => {
    const filter = { address: counter, fromBlock: "0x0", toBlock: block };
    const counted = await ask<unknown[]>("eth_getLogs", filter);
    expect(await ask("eth_getStorageAt", counter, "0x0", block)).toBe(word(counted.length));
    expect(await ask("eth_getTransactionCount", sender, block)).toBe(nonce);
  });

  it("is found by hash, and is the head's while nothing is pending", async () => {
    const balanceAt = (block: unknown) => ask("eth_getBalance", sender, block);
    expect(await balanceAt({ blockHash: chain.blockHashes[54] })).toBe(await balanceAt("pending"));
    expect(await balanceAt("0x0")).toBe("0xc097ce7bc90715b34b9f1000000000");
  });

  it("is refused for a block that is not there", async () => {
    expect(await fail("eth_getCode", counter, "0x3e8")).toEqual({
      code: -32000,
      message: "header not found",
    });
  });
});

describe.runIf(executionChainAvailable)("calls", () => {
  const reverting = "0x0ee3ab1371c93e7c0c281cc0c2107cdebc8b1930";
  const environment = "0x9344b07175800259691961298ca11c824e65032d";

  it.each([
    { method: "eth_call", input: `0x${"00".repeat(32)}`, reason: "assert(false)" },
    { method: "eth_call", input: "0x01", reason: "user error" },
    { method: "eth_estimateGas", input: "0x01", reason: "user error" },
  ])("$method that reverts says: $reason", async ({ method, input, reason }) => {
    const { code, message, data } = await fail(method, { to: reverting, input });
    expect({ code, message }).toEqual({ code: 3, message: `execution reverted: ${reason}` });
    expect(data).toMatch(/^0x(4e487b71|08c379a0)/);
  });

  it.each([
    { gasPrice: "0x0", baseFee: 0 },
    { gasPrice: "0x3b9aca00", baseFee: 1_000_000_000 },
  ])(
    "see the block they are asked for; at gas price $gasPrice its base fee is $baseFee",
    async ({ gasPrice, baseFee }) => {
      const words = wordsOf(await ask<string>("eth_call", { to: environment, gasPrice }, "0x1b"));
      const chainId = 3503995874084926;
      expect([words[0], words[1], words[3]]).toEqual([word(27), word(chainId), word(baseFee)]);
    },
  );

  it("fail with a word of geth's when they break a rule: London's BASEFEE before London", async () => {
    const { code, message } = await fail("eth_call", { to: environment }, "0x1a");
    expect({ code, message }).toEqual({ code: -32000, message: "invalid opcode" });
  });

  it("write nothing", async () => {
    const before = await ask("eth_getStorageAt", counter, "0x0", "latest");
    await ask("eth_call", { to: counter, input: "0x01" });
    expect(await ask("eth_getStorageAt", counter, "0x0", "latest")).toBe(before);
  });

  it.each([
    { number: 3 }, // a plain transfer
    { number: 5 },
    { number: 27 }, // with an access list
    { number: 54 },
  ])("are estimated at what block $number needed, or up to 1.5 % more", async ({ number }) => {
    const block = await ask<Body>("eth_getBlockByNumber", quantity(number), true);
    const { from, to, input, value, accessList, hash } = block.transactions[0] ?? {};
    const message = { from, to, input, value, ...(accessList ? { accessList } : {}) };
    const { gasUsed } = await ask<Receipt>("eth_getTransactionReceipt", hash);
    const estimated = Number(await ask("eth_estimateGas", message, quantity(number - 1)));
    expect(estimated).toBeGreaterThanOrEqual(Number(gasUsed));
    expect(estimated).toBeLessThanOrEqual(Number(gasUsed) * 1.015);
    expect(
      await ask("eth_call", { ...message, gas: quantity(estimated) }, quantity(number - 1)),
    ).toMatch(/^0x/);
  });

  it("pay for their access list: 2400 gas an address, so a transfer takes more than 21000", async () => {
    const message = {
      to: `0x${"aa".repeat(20)}`,
      accessList: [{ address: counter, storageKeys: [] }],
    };
    const estimated = Number(await ask("eth_estimateGas", message));
    expect(estimated).toBeGreaterThanOrEqual(23_400);
    expect(estimated).toBeLessThan(23_800);
  });

  it("that send what their sender has not are refused", async () => {
    const from = getAddress(`0x${"aa".repeat(20)}`);
    expect(await fail("eth_call", { from, to: from, value: "0x1" })).toEqual({
      code: -32000,
      message: `err: insufficient funds for gas * price + value: address ${from} have 0 want 1 (supplied gas 16777216)`,
    });
  });
});

describe.runIf(executionChainAvailable)("log filters", () => {
  const emit = word(0x656d6974);

  it.each([
    { filter: { topics: [emit] }, isEmpty: false },
    { filter: { topics: [[word(1), emit], null] }, isEmpty: false },
    { filter: { topics: [null, emit] }, isEmpty: true },
    { filter: { topics: [emit, [], []] }, isEmpty: true }, // the logs have too few topics for a third position
    { filter: { address: [] }, isEmpty: false },
  ])("$filter matches nothing: $isEmpty", async ({ filter, isEmpty }) => {
    const found = await ask<unknown[]>("eth_getLogs", { fromBlock: "0x1", ...filter });
    expect(found.length === 0).toBe(isEmpty);
  });

  it.each([
    { filter: { toBlock: "0x37" }, message: "block range extends beyond current head block" },
    { filter: { fromBlock: "pending" }, message: "pending logs are not supported" },
    { filter: { topics: [null, null, null, null, null] }, message: "exceed max topics" },
  ])("$message: $filter", async ({ filter, message }) => {
    expect(await fail("eth_getLogs", filter)).toEqual({ code: -32602, message });
  });

  it("know no unknown block", async () => {
    const blockHash = word(1);
    expect(await fail("eth_getLogs", { blockHash })).toEqual({
      code: -32000,
      message: "unknown block",
    });
  });
});

describe.runIf(executionChainAvailable)("the server", () => {
  it("answers a batch in its order, and no notification", async () => {
    const calls = [
      { jsonrpc: "2.0", id: "a", method: "eth_chainId" },
      { jsonrpc: "2.0", method: "eth_chainId" },
      { jsonrpc: "2.0", id: 2, method: "net_version", params: [] },
    ];
    expect(JSON.parse(await post(JSON.stringify(calls)))).toEqual([
      { jsonrpc: "2.0", id: "a", result: "0xc72dd9d5e883e" },
      { jsonrpc: "2.0", id: 2, result: "3503995874084926" },
    ]);
  });

  it("plays a node of another dialect, and counts calls by server", async () => {
    const other = await startExecutionChain({ withoutMethods: ["eth_getBlockReceipts"] });
    const text = await post(body("eth_getBlockReceipts", ["latest"]), other.url);
    expect(JSON.parse(text).error).toEqual({
      code: -32601,
      message: "the method eth_getBlockReceipts does not exist/is not available",
    });
    expect(other.requests()).toBe(1);
    await other.close();
  });

  it.each([
    { method: "toString", params: [], code: -32601 },
    { method: "eth_getBlockByNumber", params: ["0x1"], code: -32602 },
    { method: "eth_getBlockByNumber", params: ["0x01", false], code: -32602 },
    { method: "eth_getBalance", params: ["0x12"], code: -32602 },
  ])("refuses $method $params with $code", async ({ method, params, code }) => {
    expect((await fail(method, ...params))["code"]).toBe(code);
  });
});

type Fields = Readonly<Record<string, unknown>>;
type Body = { transactions: readonly Fields[] };
type Receipt = { cumulativeGasUsed: string; gasUsed: string; logs: readonly unknown[] };

const quantity = (value: number): string => `0x${value.toString(16)}`;
const word = (value: number): string => `0x${value.toString(16).padStart(64, "0")}`;
const wordsOf = (text: string): string[] =>
  (text.slice(2).match(/.{64}/g) ?? []).map((one) => `0x${one}`);

async function post(text: string, url = chain.url): Promise<string> {
  const response = await fetch(url, { method: "POST", body: text });
  return await response.text();
}

const body = (method: string, params: readonly unknown[]): string =>
  JSON.stringify({ jsonrpc: "2.0", id: 1, method, params });

async function ask<T = unknown>(method: string, ...params: unknown[]): Promise<T> {
  const reply = JSON.parse(await post(body(method, params)));
  expect(reply).not.toHaveProperty("error");
  return reply.result;
}

async function fail(method: string, ...params: unknown[]): Promise<Fields> {
  return JSON.parse(await post(body(method, params))).error;
}

function hashOf(sent: RpcTransaction): Hex {
  const { r, s, v, yParity, ...fields } = formatTransaction(sent);
  const unsigned = { ...fields, data: fields.input, gasPrice: legacyPrice(sent) };
  return keccak256(
    serializeTransaction(
      unsigned as unknown as TransactionSerializable,
      {
        r,
        s,
        v,
        ...(yParity !== undefined && { yParity }),
      } as Parameters<typeof serializeTransaction>[1],
    ),
  );
}

/** The gas price that the sender set; in later types the node's gasPrice is the paid price. */
const legacyPrice = ({ type, gasPrice }: RpcTransaction): bigint | undefined =>
  type === "0x0" || type === "0x1" ? BigInt(gasPrice ?? 0) : undefined;
