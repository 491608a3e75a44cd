// A pool for tests, over nodes with scripted answers.

import pino from "pino";
import type { Signal } from "../../src/lib/cancellation.ts";
import { Turns } from "../../src/lib/turns.ts";
import type { MethodTraits } from "../../src/namespaces/known-method.ts";
import { unknownMethod } from "../../src/namespaces/known-methods.ts";
import type { CallOptions } from "../../src/upstream/asking/call-options.ts";
import type { Connection, Exchange } from "../../src/upstream/connection/connection.ts";
import { Pool, type PoolOptions } from "../../src/upstream/pool.ts";
import { FakeClock } from "./fake-clock.ts";

const never = new AbortController().signal;
export const DOWN: Exchange = { kind: "unreachable", reason: "ECONNREFUSED" };

export type Answer = string | Exchange | Promise<Exchange>;
/** A node's answer to a method; a text is the rest of the envelope. `paramsJson`: as the node gets them. */
type Script = (method: string, signal: Signal, paramsJson: string) => Answer;

export const CHAIN_1 = '"result":"0x1"';
/** A node of chain 1 that gives `answer` to all calls but eth_chainId. */
export const saying =
  (answer: Answer): Script =>
  (method) =>
    method === "eth_chainId" ? CHAIN_1 : answer;

const DECLARED: Readonly<Record<string, Partial<MethodTraits>>> = {
  eth_blockNumber: { workKind: "chain", tellsHead: () => true },
  debug_traceCall: { quotesCaller: true },
  eth_estimateGas: { workKind: "execution", quotesCaller: true },
  eth_getFilterChanges: { isStateful: true, isRepeatable: false, isHedgeable: false },
};

/** The traits of the few methods in the tests with scripted nodes. */
export const fakeTraits = (method: string): MethodTraits => ({
  ...unknownMethod(method, "evm"),
  quotesCaller: false,
  ...DECLARED[method],
});

const POLICY = {
  hedging: { share: 0.1, leastMs: 25, mostMs: 2_000 },
  toleratedLag: 1,
  agreement: {},
  broadcast: undefined,
};

/**
 * A pool over scripted nodes; `scripts` may grow. `optionsOf` makes the pool's options for other nodes; `asked` lists
 * "node method", `counted` "node kind purpose", `logged` the log's messages.
 */
export function poolOf(scripts: Record<string, Script>) {
  /** Says, by the name of a node, that its socket is open again after a loss. */
  const reopen: Record<string, () => void> = {};
  const logged: string[] = [];
  const log = pino({}, { write: (line) => void logged.push(JSON.parse(line).msg) });
  const clock = new FakeClock();
  const asked: string[] = [];
  const askedAgain: string[] = [];
  const closedNodes: string[] = [];
  const counted: string[] = [];
  const connectionTo = (name: string): Connection => {
    const closed = new AbortController();
    return {
      send: async ({ id, json }, signal) => {
        const { method, params } = JSON.parse(json) as { method: string; params: unknown };
        asked.push(`${name} ${method}`);
        if (closed.signal.aborted) return { kind: "unreachable", reason: "closed" };
        const answer = await (scripts[name] as Script)(method, signal, JSON.stringify(params));
        if (typeof answer !== "string") return answer;
        return { kind: "answered", status: 200, body: Buffer.from(`{"id":${id},${answer}}`) };
      },
      close: async () => {
        closedNodes.push(name);
        closed.abort();
      },
    };
  };
  const upstreamOf = (name: string) => ({
    name,
    url: `https://${name}.example.com/s3cr3t`,
    headers: {},
    connections: 1,
    timeoutMs: 1_000,
    vendor: name,
    weight: 1,
    price: 0,
    rate: {},
    isPrivate: false,
    probe: false,
  });
  const optionsOf = (...names: string[]): PoolOptions => ({
    ...{ network: "n", family: "evm", chainId: 1, responseBytes: 1_000, ...POLICY },
    upstreams: names.map(upstreamOf),
  });
  const pool = new Pool(optionsOf(...Object.keys(scripts)), {
    clock,
    turns: new Turns({ clock }),
    log,
    traitsOf: fakeTraits,
    metrics: {
      upstreamAnswered: ({ upstream, kind, purpose }) =>
        void counted.push(`${upstream} ${kind} ${purpose}`),
      upstreamUsable: () => undefined,
      upstreamLied: (_, upstream) => void counted.push(`${upstream} lied`),
      upstreamDissented: () => undefined,
      callBounded: () => undefined,
      upstreamGone: (_, upstream) => void counted.push(`${upstream} gone`),
      watchUpstreams: () => undefined,
      upstreamAskedAgain: (_, why) => void askedAgain.push(why),
    },
    state: { get: async () => undefined, update: async () => ({ isChanged: true, texts: [] }) },
    connect: ({ url }, { onReopened }) => {
      const name = new URL(url).hostname.split(".")[0] ?? "";
      reopen[name] = onReopened;
      return connectionTo(name);
    },
  });
  return { pool, optionsOf, clock, asked, askedAgain, closedNodes, counted, logged, reopen };
}

/** The pool after its first check of the nodes; `outcome` is the result or the error of a call, as text. */
export async function startedPoolOf(scripts: Record<string, Script>) {
  const parts = poolOf(scripts);
  await parts.pool.start();
  await parts.clock.advance(0);
  parts.asked.length = 0;
  const outcome = (method = "m", signal = never, options?: CallOptions): Promise<string> =>
    parts.pool
      .call(method, "[]", signal, options)
      .then(String, (error) => `${error.status} ${error.code} ${error.message}`);
  return { ...parts, scripts, outcome };
}
