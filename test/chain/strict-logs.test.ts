// With strict proof, the logs of old blocks are exactly those in the blocks: the gateway answers nothing that a node
// withholds, invents or falsifies in logs, receipts and headers, and the work for that is bounded and charged.
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { headerHash } from "../../src/proofs/check-header.ts";
import { post, read } from "../support/ask.ts";
import { type RunningGateway, startGatewayProcess } from "../support/gateway-process.ts";
import { answerOf } from "../support/generated-chain/answers.ts";
import { GeneratedChain } from "../support/generated-chain.ts";
import { until } from "../support/processes.ts";
import {
  missing,
  type NodeCall,
  result,
  type ScriptedNode,
  startScriptedNode,
} from "../support/scripted-node.ts";

type Fields = Readonly<Record<string, unknown>>;
type Change = (honest: unknown, call: NodeCall) => unknown;

const WINDOW = 20;
const FROM = 101;
const TO = 200;

const chain = new GeneratedChain({
  ...{ seed: 40, transactions: [1, 3], logs: [0, 2], addresses: 30, topics: 30, busy: 1_000 },
});
chain.extend(400);
const hex = (number: number): string => `0x${number.toString(16)}`;
const numbers = Array.from({ length: TO - FROM + 1 }, (_, index) => FROM + index);
const emittersOf = (number: number): readonly string[] =>
  (chain.block(number)?.logs ?? []).map((log) => log.address);
/** The fortieth block of the range, or the next one that has a log. */
const TOLD = numbers.find((number) => number >= FROM + 39 && emittersOf(number).length > 0) ?? 0;
const address = emittersOf(TOLD)[0] ?? "";
const holders = numbers.filter((number) => emittersOf(number).includes(address));
/** A block far beyond the sixteenth block of the range and the sixteenth block with such logs. */
const EMPTY = numbers.find((n) => n >= FROM + 80 && !emittersOf(n).includes(address)) ?? 0;

const logsOf = (filter: object): Fields[] =>
  JSON.parse(answerOf(chain, "eth_getLogs", [filter]) ?? "") as Fields[];
const range = (from: number, to: number) => ({ fromBlock: hex(from), toBlock: hex(to) });
const truth = logsOf({ ...range(FROM, TO), address });

const inLogs =
  (change: (logs: readonly Fields[]) => unknown): Change =>
  (honest, { method }) =>
    method === "eth_getLogs" ? change(honest as Fields[]) : honest;
const inBlock =
  (number: number, change: (block: Fields) => Fields): Change =>
  (honest, { method }) =>
    /^eth_getBlockBy/.test(method) && (honest as Fields | null)?.["number"] === hex(number)
      ? change(honest as Fields)
      : honest;

const NO_BLOOM = `0x${"00".repeat(256)}`;
const withoutBloom = (block: Fields): Fields => ({ ...block, logsBloom: NO_BLOOM });
const made = (block: Fields): Fields => ({ ...block, hash: headerHash(block) });

const LIES: readonly { what: string; lie: Change; isCounted?: boolean }[] = [
  {
    what: "a log of the fortieth block of a hundred is held back",
    lie: inLogs((logs) => logs.filter((log) => log["blockNumber"] !== hex(TOLD))),
  },
  {
    what: "a log is made up far behind the sixteenth block",
    lie: inLogs((logs) => [
      ...logs.filter((log) => Number(log["blockNumber"]) < EMPTY),
      {
        ...logs[0],
        ...{ blockNumber: hex(EMPTY), blockHash: chain.block(EMPTY)?.hash, logIndex: "0x0" },
      },
      ...logs.filter((log) => Number(log["blockNumber"]) > EMPTY),
    ]),
  },
  {
    what: "the receipts of that block have no logs",
    lie: (honest, { method, params }) =>
      method === "eth_getBlockReceipts" &&
      [hex(TOLD), chain.block(TOLD)?.hash].includes(String(params[0]))
        ? (honest as Fields[]).map((receipt) => ({ ...receipt, logs: [] }))
        : honest,
  },
  {
    what: "the bloom of a header is falsified",
    lie: inBlock(TOLD, withoutBloom),
    isCounted: true,
  },
  {
    what: "a header without logs has a hash that is right for it",
    lie: inBlock(TOLD, (block) => made(withoutBloom(block))),
    isCounted: true, // the liar gives the same block by its hash
  },
  {
    what: "a header is that of another block",
    lie: (honest, { method, params }) =>
      method === "eth_getBlockByNumber" && params[0] === hex(TOLD)
        ? JSON.parse(answerOf(chain, method, [hex(TOLD + 1), params[1]]) ?? "")
        : honest,
    isCounted: true,
  },
  {
    what: "blocks are unknown",
    lie: (honest, { method, params }) =>
      method === "eth_getBlockByNumber" && Number(params[0]) <= TO ? null : honest,
  },
];

describe("logs of old blocks where all must be proven", () => {
  let liar: ScriptedNode;
  let honest: ScriptedNode;
  let gateway: RunningGateway;
  let lie: Change | undefined;

  const settings = (round: number) => {
    // Each round has networks of its own, so that the gateway has proven none of their blocks before.
    const network = { family: "evm", chainId: 1, window: { blocks: WINDOW }, proof: "strict" };
    const first = { name: "liar", url: liar.url };
    return {
      keys: [
        { name: "test", key: "test-key" },
        { name: "billed", key: "billed-key" },
        { name: "narrow", key: "narrow-key", limits: { upstreamCalls: 60 } },
      ],
      networks: {
        [`main${round}`]: {
          ...network,
          upstreams: [first, { name: "honest", url: honest.url, price: 1 }],
        },
        [`alone${round}`]: { ...network, upstreams: [first] },
      },
    };
  };

  beforeAll(async () => {
    const start = (change: () => Change | undefined): Promise<ScriptedNode> =>
      startScriptedNode((call) => {
        const json = answerOf(chain, call.method, call.params);
        if (json === undefined) return missing(call);
        const told = change();
        return result(call, told ? JSON.stringify(told(JSON.parse(json), call)) : json);
      });
    liar = await start(() => lie);
    honest = await start(() => undefined);
    gateway = await startGatewayProcess(settings(0));
    await followed(0);
  });
  afterAll(async () => {
    await gateway?.stop();
    await Promise.all([liar?.close(), honest?.close()]);
  });

  const followed = async (round: number): Promise<void> => {
    for (const network of [`main${round}`, `alone${round}`])
      await until(`${network} is followed`, async () => {
        const oldest = chain.head.number - WINDOW + 1;
        return (await query(network, range(oldest, oldest))).source === "store";
      });
  };
  const query = async (network: string, filter: object, key?: string) => {
    const body = { jsonrpc: "2.0", id: 1, method: "eth_getLogs", params: [filter] };
    const response = await post(gateway.endpoint(network, key), JSON.stringify(body));
    const { result: logs, error } = (await response.json()) as {
      result?: readonly Fields[];
      error?: { code: number; data: { from: string; to: string } };
    };
    const [source, proof] = ["x-headgate-source", "x-headgate-proof"].map((name) =>
      response.headers.get(name),
    );
    return { logs, error, source, proof, status: response.status };
  };
  const liesOf = async (network: string): Promise<number> => {
    const metrics = await (await fetch(gateway.metricsUrl)).text();
    const line = `headgate_upstream_lies_total{network="${network}",upstream="liar"} `;
    return Number(
      metrics
        .split("\n")
        .find((each) => each.startsWith(line))
        ?.slice(line.length) ?? 0,
    );
  };

  it("are those of the chain, and paid as they are looked for", async () => {
    expect(await query("main0", { ...range(FROM, TO), address }, "billed-key")).toMatchObject({
      ...{ logs: truth, proof: "full", source: "upstream" },
    });
    const { total } = await read<{ total: { computeUnits: number; upstreamCalls: number } }>(
      gateway.endpoint("main0", "billed-key"),
      "headgate_usage",
    );
    // The last block is fetched whole, and links to the hashes of the others: each of their headers costs 3 units, each
    // block with such logs 3, and 10 for its receipts. The query's own price, 10, includes the first call to a node.
    const others = holders.filter((number) => number !== TO).length;
    expect(total.computeUnits).toBe(10 + 10 + (TO - FROM) * 3 + others * 13);
    expect(total.upstreamCalls).toBeGreaterThanOrEqual(2 + (TO - FROM) + others * 2);
  });

  it.each(LIES)("are the chain's, when $what", async ({ what, lie: told, isCounted }) => {
    const round = 1 + LIES.findIndex((each) => each.what === what);
    await gateway.reload(settings(round));
    await followed(round);
    lie = told;
    try {
      const answer = await query(`main${round}`, { ...range(FROM, TO), address });
      expect(answer).toMatchObject({ logs: truth, proof: "full" });
      if (isCounted) expect(await liesOf(`main${round}`)).toBeGreaterThan(0);
      const { status, logs } = await query(`alone${round}`, { ...range(FROM, TO), address });
      if (status === 200) expect(logs).toEqual(truth);
      else expect(status).toBe(502);
    } finally {
      lie = undefined;
    }
  });

  it("are linked to the window where they are near it", async () => {
    const round = LIES.length + 1;
    await gateway.reload(settings(round));
    await followed(round);
    const tail = chain.head.number - WINDOW + 1;
    const [from, to] = [tail - 60, tail - 20];
    // The only node lies about the last block of the range, with a hash that fits the false header.
    lie = inBlock(to, (block) => made(withoutBloom(block)));
    const asked = liar.calls.length;
    expect((await query(`alone${round}`, range(from, to))).status).toBe(502);
    lie = undefined;
    expect(await query(`alone${round}`, range(from, to))).toMatchObject({
      ...{ logs: logsOf(range(from, to)), proof: "full" },
    });
    const headers = liar.calls.slice(asked).filter(({ params }) => params[0] === hex(tail - 1));
    expect(headers.length).toBeGreaterThan(0);
  });

  it("have a range that would do, where the call may not ask so much", async () => {
    const round = LIES.length + 1;
    const before = honest.calls.length + liar.calls.length;
    const { error } = await query(`main${round}`, range(FROM, TO), "narrow-key");
    expect(error).toMatchObject({ code: -32005, data: { rule: "upstreamCalls", limit: 60 } });
    expect(honest.calls.length + liar.calls.length - before).toBeLessThanOrEqual(70);
    const { from, to } = error?.data ?? { from: "", to: "" };
    const proposed = { fromBlock: from, toBlock: to };
    expect(Number(to)).toBeGreaterThan(FROM);
    expect(await query(`main${round}`, proposed, "narrow-key")).toMatchObject({
      ...{ logs: logsOf(proposed), proof: "full" },
    });
  });
});
