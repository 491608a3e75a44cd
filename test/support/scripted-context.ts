// The context of a call for tests: upstreams with scripted answers, and a head that does not change.

import type { ChainView } from "../../src/chain/chain-view.ts";
import { errors } from "../../src/jsonrpc/rpc-error.ts";
import { atOnce } from "../../src/lib/turns.ts";
import { declaredMethods } from "../../src/methods/catalogue.ts";
import {
  type CallContext,
  type ChainWait,
  checkParams,
  type NetworkFacts,
} from "../../src/methods/method.ts";
import { LearnedRange } from "../../src/upstream/learned-range.ts";

/** The upstreams' answers by method. A function gets the parameters, and may throw. */
export type Script = Readonly<Record<string, unknown>>;

export type Surroundings = {
  readonly head?: number;
  /** An upstream's answer to a look for a newer head. */
  readonly newerHead?: number;
  readonly isBatch?: boolean;
  /** The chains that a waiting call sees, one after the other; undefined: no chain is followed then. */
  readonly chains?: readonly (Partial<ChainView> | undefined)[];
  readonly network?: Omit<Partial<NetworkFacts>, "limits"> & {
    readonly limits?: Partial<NetworkFacts["limits"]>;
  };
};

/** The result of a call, and the calls to upstreams for it. */
export type CallReply = { readonly result: unknown; readonly asked: readonly unknown[][] };

export async function call(
  name: string,
  params: readonly unknown[],
  script: Script = {},
  surroundings: Surroundings = {},
): Promise<CallReply> {
  const method = declaredMethods.find((declared) => declared.name === name);
  if (!method) throw errors.methodNotFound(name);
  const asked: unknown[][] = [];
  const context = contextOf(params, script, surroundings, asked);
  const answer = await method.answer(checkParams(method, params), context);
  return { result: JSON.parse(String(answer)), asked };
}

export function contextOf(
  params: readonly unknown[],
  script: Script,
  { head = 100, newerHead = head, isBatch = false, chains = [undefined], network }: Surroundings,
  asked: unknown[][],
): CallContext {
  return {
    network: {
      name: "eth-test",
      family: "evm",
      chainId: 1,
      ...network,
      limits: {
        upstreamCalls: 200,
        logs: { blocks: 50, results: 3 },
        receipts: { waitMs: 2_000, mostMs: 10_000 },
        traces: { steps: 1000, bytes: 1_000_000, blocks: 10, refunds: true },
        ...network?.limits,
      },
    },
    subscriptions: undefined,
    relayed: { begin: () => Promise.reject(errors.noPushSource()), end: () => false },
    channel: undefined,
    headView: () => ({
      latest: async () => head,
      atLeast: async (number) => (number > head ? newerHead : head),
      pin: (reference) =>
        isBatch && reference === "latest" ? Promise.resolve(`0x${head.toString(16)}`) : reference,
    }),
    chain: undefined,
    waitForChain: (ms) => waitThrough(chains, ms),
    filters: undefined,
    holder: "test",
    authorize: () => undefined,
    account: {
      meter: { snapshot: () => ({}) },
      usage: {
        range: () => ({ kind: "days", from: "2026-11-01", to: "2026-11-21" }),
        rows: async function* () {},
      },
    },
    hold: () => undefined,
    delivery: { onSent: (task) => task(true) },
    signal: new AbortController().signal,
    setProvenance: () => undefined,
    provenance: undefined,
    ranges: new LearnedRange(1000),
    payFor: async (method) => void asked.push([method]),
    payForWork: async () => undefined,
    isMissing: (method) => !(method in script),
    isAgreedUpon: () => false,
    get upstreamCallsLeft(): number {
      return Math.max(0, (network?.limits?.upstreamCalls ?? 200) - asked.length);
    },
    paramsJson: JSON.stringify(params),
    describe: () => "{}",
    ask: async (method, paramsJson, { isFalse } = {}) => {
      const given: unknown = JSON.parse(paramsJson);
      asked.push([method, given]);
      if (!(method in script)) throw errors.methodNotFound(method);
      const said = script[method];
      const json = Buffer.from(JSON.stringify(typeof said === "function" ? said(given) : said));
      const found = isFalse?.(json, "node");
      if (typeof found === "object" ? atOnce(found) : found) throw errors.upstreamsFailed();
      return json;
    },
  };
}

/** The wait sees each chain once, and is over after the last one. */
function waitThrough(chains: NonNullable<Surroundings["chains"]>, ms: number): ChainWait {
  let at = 0;
  const next = async (): Promise<boolean> => {
    at += 1;
    return at < chains.length;
  };
  return { ms, view: () => chains[at] as ChainView | undefined, next };
}

/** A node that refuses with this error object. */
export const refusing = (error: { code: number; message: string; data?: unknown }) => () => {
  throw errors.refusedByNode(error.code, error.message, JSON.stringify(error));
};
