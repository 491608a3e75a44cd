// Epochs among nodes that lag or say anything, and callers that read nothing, quote a provider's words or reach beyond
// their keys: the followed chain is the honest node's, and everybody else is served.
import { once } from "node:events";
import { afterAll, beforeAll, expect, it } from "vitest";
import { WebSocket } from "ws";
import { memory } from "../../bench/process-cost.ts";
import { toQuantity } from "../../src/evm/values.ts";
import { readGauge } from "../faults/watch.ts";
import { ask, post, read } from "../support/ask.ts";
import { atDepth } from "../support/depth.ts";
import { type RunningGateway, startGatewayProcess } from "../support/gateway-process.ts";
import { until } from "../support/processes.ts";
import {
  failure,
  type NodeCall,
  result,
  type ScriptedNode,
  startScriptedNode,
} from "../support/scripted-node.ts";
import { SocketCaller } from "../support/socket-caller.ts";
import { GeneratedEpochs, NETWORK_ID } from "./generated-epochs.ts";
import { type OldNode, startOldNode } from "./old-node.ts";

const PRESET = 1_000;
const LAG = 12;
const QUOTA = "monthly quota exceeded, retry in 60m0s";
const MB = 2 ** 20;
/** The results that the third node gives in turn; only its identity is right. */
const ODD: readonly string[] = [
  ...[
    "null",
    "[]",
    "{}",
    "-1",
    '""',
    '"0x"',
    '"0xffffffffffffffffffffffff"',
    `"${"9".repeat(50_000)}"`,
  ],
  '{"hash":null,"parentHash":7,"epochNumber":"0x-1"}',
  `{"hash":"0x${"ab".repeat(32)}","parentHash":"0x${"cd".repeat(32)}","epochNumber":"0x1ffffffffffff0","height":"0x0"}`,
  `[${'{"blockHash":"<script>","epochNumber":"0x1","topics":[[]]},'.repeat(50)}null]`,
];

let ahead: GeneratedEpochs;
let behind: GeneratedEpochs;
let honest: OldNode;
let nodes: readonly ScriptedNode[];
let gateway: RunningGateway;
let url: string;

/** A node of the same chain which quotes the caller where it refuses a call, as nodes quote reverts. */
const quoting = (node: OldNode): Promise<ScriptedNode> =>
  startScriptedNode((call, response) => {
    if (call.method === "cfx_call") return refusal(call, String(Object(call.params[0]).data));
    void post(node.url, JSON.stringify({ jsonrpc: "2.0", ...call }))
      .then((answer) => answer.text())
      .then((text) => response.end(text));
    return undefined;
  });
const refusal = (call: NodeCall, hex: string): string => {
  const message = `Transaction reverted: ${Buffer.from(hex.slice(2), "hex")}`;
  return failure(call, JSON.stringify({ code: -32_015, message }));
};

beforeAll(async () => {
  const make = () => new GeneratedEpochs({ seed: 5, oneOf: 2, logs: [1, 6] });
  [ahead, behind] = [make(), make()];
  ahead.extend(200);
  behind.extend(200 - LAG);
  honest = await startOldNode(ahead, { preset: PRESET, gap: 1_000 });
  const lagging = await startOldNode(behind, { preset: PRESET, gap: 1_000 });
  let turn = 0;
  const odd = await startScriptedNode((call) => {
    turn += 1;
    if (call.method === "cfx_getStatus")
      return result(
        call,
        JSON.stringify({ chainId: toQuantity(NETWORK_ID), networkId: toQuantity(NETWORK_ID) }),
      );
    if (turn % 4 === 0) return failure(call, JSON.stringify({ code: -32_000, message: QUOTA }));
    return result(call, ODD[turn % ODD.length] as string);
  });
  nodes = [await quoting(honest), await quoting(lagging), odd, honest, lagging];
  gateway = await startGatewayProcess({
    keys: [
      { name: "test", key: "test-key" },
      { name: "bound", key: "bound-key", contracts: [ahead.contracts[0]] },
    ],
    limits: { reading: { over: "1s" } },
    networks: {
      main: {
        ...{ family: "conflux", chainId: NETWORK_ID, window: { blocks: 100 } },
        upstreams: nodes
          .slice(0, 3)
          .map((node, at) => ({ name: ["honest", "lagging", "odd"][at], url: node.url })),
      },
    },
  });
  url = gateway.endpoint("main");
  await settled();
});
afterAll(async () => {
  expect(gateway.process).toMatchObject({ exitCode: null, signalCode: null });
  expect(gateway.log.map(({ msg }) => msg)).not.toContain("an unexpected error");
  expect(await gateway.stop()).toBe(0);
  await Promise.all(nodes.map((node) => node.close()));
});

const settled = (): Promise<unknown> =>
  until("the newest epoch is followed", async () => {
    const body = {
      jsonrpc: "2.0",
      id: 1,
      method: "cfx_getLogs",
      params: [{ fromEpoch: "latest_state" }],
    };
    const response = await post(url, JSON.stringify(body));
    const { result: logs } = (await response.json()) as { result?: unknown };
    const isNewest = JSON.stringify(logs) === JSON.stringify(ahead.head.logs);
    return response.headers.get("x-headgate-source") === "store" && isNewest;
  });
function extend(count: number, given: { logs?: number } = {}): void {
  for (const chain of [ahead, behind]) chain.extend(count, given);
}

it("the head and the logs are the honest node's, and each epoch is told once, in order", async () => {
  const caller = await SocketCaller.open(url, "cfx");
  const epochs = await caller.subscribe("epochs", "latest_state");
  const first = ahead.head.number + 1;
  let last = 0;
  for (let round = 0; round < atDepth(6, 60); round += 1) {
    extend(2, { logs: 2 });
    await settled();
    const { head } = ahead;
    for (const from of [head.number - 90, head.number - 150, 0]) {
      const filter = {
        fromEpoch: toQuantity(from),
        toEpoch: "latest_state",
        topics: [ahead.topics[0] as string],
      };
      const logs = await read<unknown[]>(url, "cfx_getLogs", filter);
      expect(logs).toEqual(ahead.model().answer(filter, PRESET).logs);
    }
    const told = Number(await read(url, "cfx_epochNumber", "latest_state"));
    expect(told).toBeGreaterThanOrEqual(last);
    expect(told).toBeLessThanOrEqual(head.number);
    last = told;
  }
  type Epoch = { epochNumber: number | string };
  const told = () => caller.resultsOf<Epoch>(epochs).map(({ epochNumber }) => Number(epochNumber));
  await until("all is told", async () => told().includes(ahead.head.number));
  expect(told()).toEqual(
    Array.from({ length: ahead.head.number - first + 1 }, (_, at) => first + at),
  );
  await caller.close();
});

it("a provider's words, quoted by a caller, pause no node", async () => {
  const data = `0x${Buffer.from(QUOTA).toString("hex")}`;
  const call = { to: ahead.contracts[0], data };
  for (let tries = 0; tries < 12; tries += 1) {
    const { error } = await ask(url, "cfx_call", [
      { ...call, nonce: toQuantity(tries) },
      "latest_state",
    ]);
    expect(error?.message).toContain("Transaction reverted");
  }
  for (const name of ["honest", "lagging"])
    expect(await readGauge(gateway, "headgate_upstream_paused_seconds", `upstream="${name}"`)).toBe(
      0,
    );
  const { error } = await ask(url, "cfx_getBlocksByEpoch", [toQuantity(3)]);
  expect(error).toBeUndefined();
});

it("a key that is bound to a contract reaches no further, whatever the parameters' positions", async () => {
  const [own, other] = ahead.contracts as [string, string];
  const bound = gateway.endpoint("main", "bound-key");
  const codeOf = async (method: string, ...params: unknown[]) =>
    (await ask(bound, method, params)).error?.code;
  expect(await codeOf("cfx_getLogs", { address: own, fromEpoch: "latest_state" })).toBeUndefined();
  const refused: readonly [string, ...unknown[]][] = [
    ["cfx_getLogs", {}],
    ["cfx_getLogs", { address: other }],
    ["cfx_getLogs", { address: [own, other] }],
    ["cfx_getLogs", { address: [] }],
    ["cfx_getLogs", { address: null }],
    ["cfx_newFilter", {}],
    ["cfx_newFilter", { address: [own, other] }],
    ["cfx_call", { to: other }, "latest_state"],
    ["cfx_call", { data: "0x6000" }, "latest_state"],
    ["cfx_call", { to: own }, "latest_state", { [own]: { code: "0x00" } }],
    ["cfx_estimateGasAndCollateral", { to: other }],
    ["cfx_getStorageAt", other, "0x0"],
    ["cfx_getEpochReceipts", "latest_state"],
    ["trace_filter", {}],
  ];
  for (const [method, ...params] of refused)
    expect([-32002, -32004, -32601, -32602], `${method} ${JSON.stringify(params)}`).toContain(
      await codeOf(method, ...params),
    );
  const caller = await SocketCaller.open(bound, "cfx");
  for (const params of [
    ["logs", {}],
    ["logs", { address: other }],
    ["logs", { address: [own, other] }],
  ])
    expect(
      (await caller.ask("cfx_subscribe", ...params)).error,
      JSON.stringify(params),
    ).toBeDefined();
  await caller.close();
});

it.each([
  { fromEpoch: toQuantity(2n ** 255n) },
  { fromEpoch: "0x0", toEpoch: toQuantity(2n ** 64n) },
  { fromEpoch: "latest_state", toEpoch: "0x0" },
  {
    fromEpoch: "earliest",
    toEpoch: "earliest",
    limit: "0xffffffffffffffff",
    offset: "0xffffffffffffffff",
  },
  { blockHashes: Array.from({ length: 500 }, () => `0x${"ab".repeat(32)}`) },
  { blockHashes: [] },
])("logs of %j are answered or refused in words", async (filter) => {
  const { result: logs, error } = await ask(url, "cfx_getLogs", [filter]);
  if (error) expect([-32602, -32016]).toContain(error.code);
  else expect(Array.isArray(logs)).toBe(true);
});

it("subscriptions that nobody reads take little memory, and delay nobody", async () => {
  const sockets: WebSocket[] = [];
  for (let made = 0; made < 20; made += 1) {
    const socket = new WebSocket(url.replace("http:", "ws:"));
    await once(socket, "open");
    for (let id = 0; id < 10; id += 1)
      socket.send(
        JSON.stringify({
          jsonrpc: "2.0",
          id,
          method: "cfx_subscribe",
          params: id % 2 ? ["epochs", "latest_state"] : ["logs", {}],
        }),
      );
    await once(socket, "message");
    (socket as unknown as { _socket: { pause(): void } })._socket.pause();
    sockets.push(socket);
  }
  const before = await memory(gateway.process.pid ?? 0);
  for (let round = 0; round < atDepth(5, 40); round += 1) {
    extend(4, { logs: 400 });
    await settled();
  }
  const after = await memory(gateway.process.pid ?? 0);
  expect(after.own - before.own).toBeLessThan(200 * MB); // unread, the logs alone would take hundreds of MB
  for (const socket of sockets) socket.terminate();
});
