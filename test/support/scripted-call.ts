// One call for tests, to nodes with scripted replies, or with replies that the test sends later.

import type { Signal } from "../../src/lib/cancellation.ts";
import type { Clock } from "../../src/lib/clock.ts";
import type { AgreementRule } from "../../src/upstream/asking/at-once.ts";
import { CallDriver, type CallDriverParts } from "../../src/upstream/asking/call-driver.ts";
import type { CallOptions, FinalReply } from "../../src/upstream/asking/call-options.ts";
import type { Reply } from "../../src/upstream/reply.ts";
import type { Upstream } from "../../src/upstream/upstream.ts";
import { countedSignal } from "./counted-signal.ts";
import { FakeClock } from "./fake-clock.ts";
import { fakeTraits } from "./fake-pool.ts";

/** The time after which the call is hedged. */
export const DELAY_MS = 50;
export const result = (text: string): Reply => ({ kind: "result", json: Buffer.from(text) });
export const refused: Extract<Reply, { kind: "refused" }> = {
  kind: "refused",
  code: 3,
  message: "execution reverted",
  json: "{}",
};
export const lacking: Reply = {
  ...refused,
  code: -32000,
  message: "missing trie node",
  lacks: "state",
};
export const failed: Reply = { kind: "failed", reason: "ECONNRESET" };
export const neverSent: Reply = { kind: "failed", reason: "ECONNREFUSED" };

type Node = {
  /** The immediate replies to its calls, in order; after these the node does not reply by itself. */
  readonly says?: readonly Reply[];
  /** The node has stopped: many calls to it are late. */
  readonly isStalled?: boolean;
  readonly isBehind?: boolean;
  /** The node replies to other calls meanwhile. */
  readonly hasReplied?: boolean;
  /** The time until the node's budget allows a call. */
  readonly waitMs?: number;
  /** The budget is only a learned one, from a while ago. */
  readonly mayExceedLearnedLimit?: boolean;
  readonly breaker?: "open";
  readonly lacks?: string;
  /** The time from which the node is usable. */
  readonly fromMs?: number;
  /** The node does not notice that its work is aborted. */
  readonly isDeaf?: boolean;
};

type Call = {
  method?: string;
  options?: CallOptions;
  mayHedge?: boolean;
  mayWait?: boolean;
  hedgeDelayMs?: number;
};

/** Makes a call to nodes a, b, c …; `log` gets each event with its time. */
export function scriptedCall(nodes: readonly Node[], call: Call = {}) {
  const { method = "eth_call", options = {}, hedgeDelayMs = DELAY_MS } = call;
  const scripted = new ScriptedNodes();
  const { clock, log, aborted, missing } = scripted;
  const asked = nodes.map((node, index) => scripted.add("abcdef"[index] ?? "z", node));
  const isThere = (index: number): boolean => (nodes[index]?.fromMs ?? 0) <= clock.now();
  const usable = (): Upstream[] => asked.filter((_, index) => isThere(index));
  const { signal, controller: caller, listeners } = countedSignal();
  let waiting = 0;
  const network: CallDriverParts["network"] = {
    ...networkOf(asked),
    takeOrder: usable,
    usableFor: usable,
    hasOthers: () => nodes.some(({ fromMs }) => fromMs),
    isBehind: (node) => nodes[asked.indexOf(node as Upstream)]?.isBehind ?? false,
    usualMs: () => hedgeDelayMs,
    mayHedge: () => call.mayHedge ?? true,
    mayWait: () => call.mayWait ?? true,
    times: { answered: (_, ms) => void log.push(`answered in ${ms}`) },
    askedAgain: (why) => void log.push(why),
    occupied: () => void log.push("occupied"),
    enter: () => {
      waiting += 1;
    },
    leave: () => {
      waiting -= 1;
    },
  };
  const outcome = driven({ method, options, signal }, { clock, network })
    .then(
      (said) => (said.kind === "result" ? String(said.json) : `refused: ${said.message}`),
      (error) => `${error.status} ${error.message}`,
    )
    .then((text) => void log.push(text));
  const answer = async (name: string, reply: Reply): Promise<void> => {
    scripted.answer(name, reply);
    await clock.advance(0);
  };
  const idle = { timers: 0, waiting: 0 };
  const left = (): typeof idle => ({ timers: clock.waiting, waiting });
  return { log, aborted, missing, caller, listeners, clock, outcome, answer, left, idle };
}

const nothing = (): void => undefined;

/** A network of only these nodes, which allows everything. */
export const networkOf = (upstreams: readonly Upstream[]): CallDriverParts["network"] => ({
  ...{ takeOrder: () => upstreams, usableFor: () => upstreams, hasOthers: () => false },
  isSettled: () => true,
  ...{
    outSinceMs: () => undefined,
    isBehind: () => false,
    usualMs: () => DELAY_MS,
    headNumber: () => undefined,
  },
  ...{ mayHedge: () => true, mayWait: () => true, enter: nothing, leave: nothing },
  hedges: { earn: nothing, spend: () => true },
  ...{ times: { answered: nothing }, askedAgain: nothing, dissented: nothing, occupied: nothing },
  redact: (text: string) => text,
  ...{ knowsAnswer: () => false, learn: nothing },
});

type Driven = {
  readonly method: string;
  readonly signal: Signal;
  readonly options?: CallOptions;
  readonly rule?: AgreementRule;
  readonly copies?: number;
};

/** The outcome of a call; by default one answer is enough. */
export function driven(
  { method, signal, options = {}, rule, copies = 1 }: Driven,
  parts: { clock: Clock; network: CallDriverParts["network"] },
): Promise<FinalReply> {
  const isUncertain = options.crossCheck?.isUncertain;
  const question = { method, paramsJson: "[]", traits: fakeTraits(method), options, isUncertain };
  const state = { question, view: parts.network, rule, copies, plan: undefined, hasWaited: false };
  return new Promise((answered, reject) =>
    new CallDriver(state, parts).begin(signal, { answered, failed: reject }),
  );
}

/** The outcome of a call to nodes that a test creates itself. */
export const outcomeOf = (nodes: readonly Upstream[], clock: Clock): Promise<FinalReply> =>
  driven(
    { method: "eth_call", signal: new AbortController().signal },
    { clock, network: networkOf(nodes) },
  );

class ScriptedNodes {
  readonly clock = new FakeClock();
  readonly log: string[] = [];
  readonly aborted: unknown[] = [];
  readonly missing: string[] = [];
  /** Functions that answer open calls, by node. */
  readonly #answers = new Map<string, (reply: Reply) => void>();

  add(name: string, node: Node): Upstream {
    const { hasReplied = false, isStalled = false, breaker = "closed", lacks, says = [] } = node;
    const told = { isStalled: () => isStalled, isSilent: () => !hasReplied, late: () => undefined };
    const health = { ...told, ofKind: () => ({ breaker }) };
    const rememberMissing = (what: string): void => void this.missing.push(`${name} ${what}`);
    const asked = { name, health, isMissing: (what: string) => what === lacks, rememberMissing };
    return { ...asked, ...this.#budgeted(name, node, [...says]) } as unknown as Upstream;
  }

  answer(name: string, reply: Reply): void {
    const resolve = this.#answers.get(name);
    this.#answers.delete(name);
    resolve?.(reply);
  }

  /** Like a real budget, this one keeps to the pause that a busy reply asks for. */
  #budgeted(
    name: string,
    { waitMs = 0, mayExceedLearnedLimit = false, isDeaf = false }: Node,
    says: Reply[],
  ) {
    const { clock, log } = this;
    let limitedUntilMs = waitMs;
    const leftMs = (): number => Math.max(0, limitedUntilMs - clock.now());
    const budget = {
      costOf: () => 1,
      waitMs: leftMs,
      mayExceedLearnedLimit: () => mayExceedLearnedLimit,
    };
    const ask: Upstream["ask"] = (
      _method,
      _params,
      signal,
      { exceedsLearnedLimit, attempt } = {},
    ) => {
      log.push(`${clock.now()} ${name}${exceedsLearnedLimit ? " beyond the learned limit" : ""}`);
      if (attempt) attempt.call = { workKind: "execution", sentAt: clock.now() };
      const reply = says.shift();
      if (reply?.kind === "busy") limitedUntilMs = clock.now() + (reply.retryAfterMs ?? 0);
      return reply ? Promise.resolve(reply) : this.#untilAnswered(name, signal, isDeaf);
    };
    return { ask, budget };
  }

  #untilAnswered(name: string, signal: Signal, isDeaf: boolean): Promise<Reply> {
    return new Promise((resolve) => {
      this.#answers.set(name, resolve);
      signal.addEventListener("abort", () => {
        if (isDeaf || !this.#answers.has(name)) return;
        this.aborted.push(signal.reason);
        resolve({ kind: "aborted" });
      });
    });
  }
}
