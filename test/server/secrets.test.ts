// A secret in every place of a configuration, and nodes that tell their own secrets in every answer, in every spelling:
// no output of a gateway has any of them.
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { WebSocketServer } from "ws";
import { post } from "../support/ask.ts";
import { atDepth } from "../support/depth.ts";
import {
  type GatewaySettings,
  type RunningGateway,
  runCommand,
  startGatewayProcess,
} from "../support/gateway-process.ts";
import { until } from "../support/processes.ts";
import { textOf } from "../support/request-text.ts";
import { SocketCaller } from "../support/socket-caller.ts";
import { SPELLINGS, toldSecrets } from "../support/spelled.ts";
import { startTraceCollector, type TraceCollector } from "../support/trace-collector.ts";

const ERRORS = new URL("../support/unexpected-errors.mjs", import.meta.url).href;

/** All secrets by their places. */
const places = new Map<string, string>();

/** A secret of its own for each place, in the form of a provider's key, so that a leak shows its origin. */
function secretOf(place: string): string {
  const known = places.get(place) ?? `k3y${places.size}${"qx7jw9zv".repeat(2)}${places.size}`;
  places.set(place, known);
  return known;
}

/** The secrets that an upstream's URL and headers have. */
const ofNode = (name: string): string[] =>
  ["user", "password", "path", "query", "header"].map((part) => secretOf(`${name} ${part}`));

/** How a node says its secrets: a body, a status, and headers. `said` is a secret in some spelling. */
type Form = (
  said: string,
  id: unknown,
) => {
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body: string;
};

const error = (id: unknown, members: object): string =>
  JSON.stringify({ jsonrpc: "2.0", id, error: members });

const FORMS: readonly Form[] = [
  (said, id) => ({ body: error(id, { code: -32000, message: `execution reverted: ${said}` }) }),
  (said, id) => ({ body: error(id, { code: 3, message: "no", data: [said, { [said]: said }] }) }),
  (said, id) => ({ body: error(id, { code: -32602, message: `${"x".repeat(3_000)}${said}` }) }),
  (said, id) => ({ body: error(id, { code: -32000, message: said, [said]: said }) }),
  (said, id) => ({ body: error(id, { code: -32010, message: JSON.stringify({ error: said }) }) }),
  (said, id) => ({ body: JSON.stringify({ jsonrpc: "2.0", id, result: `node at ${said}` }) }),
  (said, id) => ({ body: JSON.stringify({ jsonrpc: "2.0", id, result: { [said]: [said] } }) }),
  (said, id) => ({ body: error(id, { code: -32601, message: `the method at ${said} is gone` }) }),
  (said) => ({ body: JSON.stringify({ jsonrpc: "2.0", id: said, result: "0x1" }) }),
  (said, id) => ({ body: error(id, { code: said, message: said }) }),
  (said, id) => ({ body: JSON.stringify({ jsonrpc: "2.0", id, error: said }) }),
  (said) => ({ body: `<html>${said}</html>` }),
  (said) => ({ body: `{"jsonrpc":"2.0","id":1,"result":"${said}` }),
  (said) => ({ status: 502, body: said, headers: { "x-upstream": said } }),
  (said) => ({ status: 301, body: said, headers: { location: said } }),
  (said) => ({ status: 200, body: said, headers: { "content-encoding": said } }),
  (said, id) => ({
    status: 401,
    body: error(id, { code: -32000, message: `Unauthorized: ${said}` }),
  }),
  (said, id) => ({ status: 500, body: error(id, { code: -32603, message: said }) }),
];

/** The forms at the beginning after which the gateway asks a node again. */
const HARMLESS = 7;

const METHODS = [
  ...["web3_clientVersion", "eth_call", "eth_getBalance", "eth_getBlockByNumber", "eth_getLogs"],
  ...["eth_estimateGas", "eth_sendRawTransaction", "debug_traceCall", "eth_feeHistory"],
  ...["eth_getTransactionByHash", "net_version", "eth_syncing", "eth_subscribe", "any_method"],
] as const;

const PARAMS: Readonly<Record<string, readonly unknown[]>> = {
  eth_call: [{ to: `0x${"11".repeat(20)}` }, "latest"],
  eth_getBalance: [`0x${"11".repeat(20)}`, "latest"],
  eth_getBlockByNumber: ["0x5", true],
  eth_getLogs: [{ fromBlock: "0x1", toBlock: "0x2" }],
  eth_estimateGas: [{ to: `0x${"11".repeat(20)}` }],
  eth_sendRawTransaction: ["0x02c0"],
  debug_traceCall: [{}, "latest"],
  eth_feeHistory: ["0x1", "latest", []],
  eth_getTransactionByHash: [`0x${"22".repeat(32)}`],
  eth_subscribe: ["newPendingTransactions"],
};

/** The present answer of all nodes; undefined: they answer as nodes that are well. */
let telling: { readonly form: Form; readonly spelling: (secret: string) => string } | undefined;
const closers: (() => unknown)[] = [];

const HASH = `0x${"ab".repeat(32)}`;

/** Blocks and logs that cannot be true: the secrets are in the evidence against the node. */
function falseChain(method: string, all: string): string {
  const block = { number: "0x10", hash: HASH, parentHash: HASH, timestamp: "0x10", stateRoot: all };
  const whole = { ...block, transactions: [], uncles: [], logsBloom: all, extraData: all };
  if (method === "eth_getBlockByNumber") return JSON.stringify(whole);
  if (method === "eth_getLogs") return JSON.stringify([{ address: all, data: all, topics: [all] }]);
  return JSON.stringify(all);
}

const SOUND = new Set(["eth_blockNumber", "eth_chainId"]);

/** Starts a node that tells its secrets. @param kind A `false` one gives results that cannot be true, always. */
async function startTeller(name: string, kind: "telling" | "false" = "telling"): Promise<Server> {
  const answer = ({ id, method }: { id: unknown; method: string }) => {
    const json = SOUND.has(method) ? '"0x10"' : falseChain(method, ofNode(name).join("/"));
    const sound = `{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":${method === "eth_chainId" ? '"0x1"' : json}}`;
    if (SOUND.has(method) || kind === "false") return { body: sound };
    const { form, spelling } = telling ?? { form: FORMS[0] as Form, spelling: SPELLINGS[0] };
    return form(ofNode(name).map(spelling).join(" "), id);
  };
  const serve = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const { status = 200, headers = {}, body } = answer(JSON.parse(await textOf(request)));
    response.writeHead(status, { "content-type": "application/json", ...headers }).end(body);
  };
  const server = createServer((request, response) => {
    serve(request, response).catch(() => response.destroy());
  });
  const sockets = new WebSocketServer({ server });
  sockets.on("connection", (socket) =>
    socket.on("message", (data) => socket.send(answer(JSON.parse(String(data))).body)),
  );
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  closers.push(() => {
    for (const socket of sockets.clients) socket.terminate();
    server.closeAllConnections();
    server.close();
  });
  return server;
}

function upstreamOf(name: string, server: Server | undefined, scheme = "http"): object {
  const [user, password, path, query, header] = ofNode(name);
  const host = server
    ? `127.0.0.1:${(server.address() as AddressInfo).port}`
    : `${secretOf(`${name} host`)}.eth.invalid`;
  return {
    ...(server ? { name } : {}),
    url: `${scheme}://${user}:${password}@${host}/v2/${path}?key=${query}`,
    headers: { "x-api-key": header, authorization: `Bearer ${header}` },
    vendor: name,
    timeout: "500ms", // an answer over a socket to another call is none
  };
}

let gateway: RunningGateway;
let collector: TraceCollector;
let settings: GatewaySettings;
const heard: string[] = [];
const ADMIN_TOKEN = secretOf("admin token");
const KEY = secretOf("key");

beforeAll(async () => {
  collector = await startTraceCollector();
  closers.push(() => collector.close());
  const [one, two, liar] = [
    await startTeller("one"),
    await startTeller("two"),
    await startTeller("liar", "false"),
  ];
  const evm = { family: "evm", chainId: 1, window: { blocks: 0 }, methods: { allow: ["*_*"] } };
  settings = {
    admin: { listen: { port: 0 }, tokens: [{ name: "ops", role: "all", token: ADMIN_TOKEN }] },
    keys: [{ name: "app", key: KEY, explain: true }],
    keySecret: secretOf("key secret"),
    log: { level: "trace" },
    tail: { calls: 1_000, slow: "1ms" },
    tracing: { endpoint: collector.url, sample: 1, headers: { "x-auth": secretOf("collector") } },
    networks: {
      main: {
        ...{
          ...evm,
          methods: { allow: ["eth_*", "net_*", "web3_*", "debug_traceCall", "any_method"] },
        },
        upstreams: [upstreamOf("one", one), upstreamOf("two", two), upstreamOf("gone", undefined)],
      },
      agreed: {
        ...{ family: "evm", chainId: 1, window: { blocks: 0 } },
        agreement: { "eth_*": { ask: 2, agree: 2 } },
        upstreams: [upstreamOf("one", one), upstreamOf("liar", liar)],
      },
      sockets: {
        ...{ family: "evm", chainId: 1, window: { blocks: 0 } },
        upstreams: [upstreamOf("one", one, "ws")],
      },
      followed: {
        ...{ family: "evm", chainId: 1, window: { blocks: 5 } },
        upstreams: [upstreamOf("liar", liar)],
      },
      lies: {
        ...{ family: "evm", chainId: 1, window: { blocks: 0 } },
        upstreams: [upstreamOf("liar", liar)],
      },
      unknown: { upstreams: [upstreamOf("gone", undefined)] },
    },
  };
  gateway = await startGatewayProcess(settings, { NODE_OPTIONS: `--import ${ERRORS}` });
  await until("the nodes can be asked", async () => {
    const usable = gateway.log.filter(({ msg }) => msg === "upstream is usable");
    return usable.length >= 7;
  });
});

afterAll(async () => {
  await gateway?.stop();
  await Promise.all(closers.map((close) => close()));
});

/** A result without an error is the chain's data, which must reach the caller as it is; the words of a node are not. */
const withoutChainData = (method: string, text: string): string =>
  /^(eth|debug)_/.test(method) && text.includes('"result":{') ? "the chain's data" : text;

const hear = async (response: Response, method = ""): Promise<string> => {
  const headers = [...response.headers].map((header) => header.join(": "));
  const text = await response.text();
  heard.push([response.status, ...headers, withoutChainData(method, text)].join("\n"));
  return text;
};

const call = (network: string, method: string, params = PARAMS[method] ?? []): Promise<string> =>
  post(gateway.endpoint(network, KEY), JSON.stringify({ jsonrpc: "2.0", id: 1, method, params }), {
    "x-headgate-explain": "1",
  }).then((response) => hear(response, method));

const operate = (path: string, init: RequestInit = {}): Promise<string> =>
  fetch(gateway.metricsUrl.replace(/\/metrics$/, path), {
    ...init,
    headers: { authorization: `Bearer ${ADMIN_TOKEN}`, "content-type": "application/json" },
  }).then((response) => hear(response));

const leaks = (outputs: readonly string[]) => toldSecrets(outputs, places);

describe("no output tells a secret", () => {
  it("when nodes tell theirs in errors, results, bodies and headers, in every spelling", async () => {
    const cases = fc.record({
      form: fc.constantFrom(...FORMS),
      spelling: fc.constantFrom(...SPELLINGS),
      method: fc.constantFrom(...METHODS),
      network: fc.constantFrom("main", "agreed", "sockets", "lies"),
    });
    // First those that leave the nodes usable: each must have been told to a caller.
    for (const form of FORMS.slice(0, HARMLESS))
      for (const spelling of SPELLINGS) {
        telling = { form, spelling };
        await call("main", "eth_call");
        await call("sockets", "web3_clientVersion");
      }
    for (const { form, spelling, method, network } of fc.sample(cases, atDepth(150, 3_000))) {
      telling = { form, spelling };
      await call(network, method);
    }
    for (const network of ["lies", "agreed"])
      for (const method of METHODS) await call(network, method);
    expect(leaks(heard)).toEqual([]);
    // Checks that the nodes' words came through: without them nothing would have been tried.
    expect(heard.filter((text) => text.includes("***")).length).toBeGreaterThan(20);
  });

  it("in the evidence that operators with the least role see", async () => {
    const events = await fetch(gateway.metricsUrl.replace(/\/metrics$/, "/events"), {
      headers: { authorization: `Bearer ${ADMIN_TOKEN}` },
    });
    const reader = events.body?.pipeThrough(new TextDecoderStream()).getReader();
    let text = "";
    const kinds = ["false answer", "failed proof", "disagreement"];
    // An event comes each second; the first ones may have other contents.
    while (!kinds.every((kind) => text.includes(kind)) || !text.endsWith("\n\n"))
      text += (await reader?.read())?.value ?? "";
    await reader?.cancel();
    expect(text).toContain('"evidence":[{');
    expect(leaks([text])).toEqual([]);
  });

  it("over WebSocket, to operators, in commands, traces, reloads and crashes", async () => {
    telling = undefined;
    const socket = await SocketCaller.open(gateway.endpoint("sockets", KEY));
    for (const method of METHODS)
      heard.push(
        withoutChainData(
          method,
          JSON.stringify(await socket.ask(method, ...(PARAMS[method] ?? []))),
        ),
      );
    socket.socket.close();
    for (const path of [
      "/metrics",
      "/status",
      "/calls",
      "/keys",
      "/audit",
      "/usage",
      "/configuration",
    ])
      await operate(path);
    await operate("/try", {
      method: "POST",
      body: JSON.stringify({
        key: "app",
        network: "main",
        method: "eth_call",
        params: PARAMS["eth_call"],
      }),
    });
    const misplaced = { networks: [`https://node.example.com/${secretOf("misplaced")}`] };
    await operate("/configuration/validate", {
      method: "POST",
      body: JSON.stringify({ text: JSON.stringify(misplaced) }),
    });
    const admin = gateway.metricsUrl.replace(/\/metrics$/, "");
    const top = ["top", "--once", "--url", admin];
    const ran = [["check"], ["keys", "list"], ["store", "show"], top].map(async (words) => {
      const line = [...words, "--config", gateway.configPath];
      const { stdout, stderr } = await runCommand(line, { HEADGATE_ADMIN__TOKEN: ADMIN_TOKEN });
      return `${words[0]}\n${stdout}\n${stderr}`;
    });
    heard.push(...(await Promise.all(ran)));
    await gateway.reload({
      ...settings,
      keys: [{ name: "app", key: `${secretOf("broken key")} x` }],
    });
    await gateway.reload(JSON.stringify({ ...settings, ...misplaced }));
    collector.answer = (response) => response.writeHead(500).end(secretOf("collector"));
    await call("main", "eth_call");
    gateway.process.kill("SIGUSR2");
    await until("the unexpected error is logged", async () =>
      gateway.log.some(({ msg }) => msg === "an unexpected error"),
    );
    heard.push(...gateway.log.map((line) => JSON.stringify(line)), JSON.stringify(collector.spans));
    expect(leaks(heard)).toEqual([]);
    const all = heard.join("\n");
    for (const word of ["headgate_upstream_lies_total", "failed its proof", "***", "traceId"])
      expect(all).toContain(word);
  });
});
