// Random worlds of upstreams for tests, and one call in each, without promises: the test makes every event itself.
import fc from "fast-check";
import { type AskingState, next } from "../../src/upstream/asking/call-driver.ts";
import {
  type AskingEvent,
  type Attempt,
  type Decision,
  NEVER,
  type NetworkView,
  type Settlement,
} from "../../src/upstream/asking/decision.ts";
import type { OpenCall } from "../../src/upstream/health/health.ts";
import type { Reply } from "../../src/upstream/reply.ts";
import type { Upstream } from "../../src/upstream/upstream.ts";
import { fakeTraits } from "./fake-pool.ts";
import { lacking, refused, result } from "./scripted-call.ts";

const TEMPERS = [
  ...["honest", "lying", "refusing", "unknowing", "lacking", "without block", "silent"],
  ...["failing", "unreached", "limited", "occupied", "missing"],
  ...["muttering", "babbling", "doubted"],
] as const;

export type UpstreamOfWorld = {
  readonly temper: (typeof TEMPERS)[number];
  readonly vendor: string;
  /** The latency of a reply, in whole milliseconds. */
  readonly answerMs: number;
  /** The time without budget at the start, and after each busy reply. */
  readonly waitMs: number;
  /** The number of replies that say busy, or lack the block, before the honest ones. */
  readonly times: number;
  readonly isBehind: boolean;
  readonly isStalled: boolean;
  /** The upstream replies to other calls all the time. */
  readonly hasReplied: boolean;
  readonly isOpen: boolean;
  readonly mayExceedLearnedLimit: boolean;
  /** The time from which the upstream can be asked. */
  readonly fromMs: number;
};

export type World = {
  readonly upstreams: readonly UpstreamOfWorld[];
  readonly method: string;
  readonly block: number | undefined;
  readonly usualMs: number;
  /** The number of hedges that the call may make. */
  readonly hedges: number;
  readonly mayWait: boolean;
  /** Whether unknown words were learned to be an answer. */
  readonly knowsAnswer: boolean;
  readonly rule: { readonly ask: number; readonly agree: number } | undefined;
  readonly copies: number;
  /** The number of further calls to nodes that the call may make; left out: it has no limit. */
  readonly left?: number;
  readonly deadlineMs: number;
};

export const TRUTH = '"truth"';
export const REPEATABLE = "eth_call";
export const ACTING = "anvil_mine";
/** The upstream's own timeout. */
const GIVES_UP_MS = 10_000;

const upstreamOf = (temper: fc.Arbitrary<UpstreamOfWorld["temper"]>) =>
  fc.record<UpstreamOfWorld>({
    temper,
    vendor: fc.constantFrom("v", "w", "x", "y"),
    answerMs: fc.oneof(fc.nat(60), fc.nat(3_000)),
    waitMs: fc.oneof(fc.constant(0), fc.nat(1_500)),
    times: fc.nat(30),
    isBehind: fc.boolean(),
    isStalled: fc.boolean(),
    hasReplied: fc.boolean(),
    isOpen: fc.boolean(),
    mayExceedLearnedLimit: fc.boolean(),
    fromMs: fc.oneof(fc.constant(0), fc.nat(2_000)),
  });

const worldsOf = (
  upstreams: fc.Arbitrary<UpstreamOfWorld[]>,
  given: Partial<{ [Key in keyof World]: fc.Arbitrary<World[Key]> }> = {},
): fc.Arbitrary<World> =>
  fc.record<World>({
    upstreams,
    method: fc.constantFrom(REPEATABLE, REPEATABLE, ACTING),
    block: fc.constantFrom(undefined, undefined, 5),
    usualMs: fc.constantFrom(25, 50, 500, 2_000),
    hedges: fc.nat(3),
    mayWait: fc.boolean(),
    knowsAnswer: fc.constantFrom(false, false, true),
    rule: fc.constantFrom(undefined, undefined, { ask: 3, agree: 2 }, { ask: 2, agree: 2 }),
    copies: fc.constantFrom(1, 1, 2),
    // No other event is due at such a moment: the order of two simultaneous events is not defined.
    deadlineMs: fc.constantFrom(500.5, 5_000.5, 30_000.5),
    ...given,
  });

export const anyWorld = worldsOf(
  fc.array(upstreamOf(fc.constantFrom(...TEMPERS)), { maxLength: 6 }),
);

/** Worlds of upstreams with these tempers alone, in which one answer is enough. */
export const worldOf = (...tempers: readonly UpstreamOfWorld["temper"][]): fc.Arbitrary<World> =>
  worldsOf(fc.array(upstreamOf(fc.constantFrom(...tempers)), { minLength: 1, maxLength: 6 }), {
    method: fc.constant(REPEATABLE),
    rule: fc.constant(undefined),
    copies: fc.constant(1),
  });

/** All upstreams tell the truth, have the call's block, and reply in time. */
export const honestWorld = worldsOf(
  fc.array(
    upstreamOf(fc.constant("honest")).map((upstream) => ({
      ...upstream,
      fromMs: 0,
      waitMs: Math.min(upstream.waitMs, 1_000),
    })),
    { minLength: 1, maxLength: 6 },
  ),
  {
    mayWait: fc.constant(true),
    rule: fc.constant(undefined),
    deadlineMs: fc.constant(30_000.5),
  },
);

type Asked = {
  readonly attempt: Attempt;
  readonly spec: UpstreamOfWorld;
  readonly atMs: number;
  reply?: Reply;
  /** Infinity until the upstream replies. */
  repliedAtMs: number;
};

export type Step = {
  readonly event: AskingEvent;
  readonly decision: Decision;
  readonly atMs: number;
};

/** An upstream of a world as the call's decisions see it; `replyTo` returns its reply, and the time until it comes. */
export function upstreamIn(spec: UpstreamOfWorld, index: number, now: () => number) {
  let limitedUntilMs = spec.waitMs;
  let heardAtMs = Number.NEGATIVE_INFINITY;
  let calls = 0;
  const upstream = {
    name: "abcdef"[index] ?? "z",
    options: { vendor: spec.vendor },
    isMissing: () => false,
    health: {
      ofKind: () => ({ breaker: spec.isOpen ? "open" : "closed" }),
      isStalled: () => spec.isStalled,
      isSilent: ({ sentAt }: OpenCall) => !spec.hasReplied && heardAtMs < sentAt,
      late: () => undefined,
    },
    budget: {
      costOf: () => 1,
      waitMs: () => Math.max(0, limitedUntilMs - now()),
      mayExceedLearnedLimit: () => spec.mayExceedLearnedLimit,
    },
  } as unknown as Upstream;
  const replyTo = (): { readonly reply: Reply; readonly afterMs: number } => {
    calls += 1;
    const reply = replyOf(spec, calls, upstream.name);
    // No two events happen at the same time: the clock would decide which is the first.
    const afterMs = reply.kind === "timeout" ? GIVES_UP_MS : spec.answerMs;
    return { reply, afterMs: afterMs + 0.0137 * (index + 1) + 0.00041 * calls };
  };
  const heard = (reply: Reply): void => {
    if (reply.kind !== "timeout") heardAtMs = now();
    if (reply.kind === "busy") limitedUntilMs = now() + (reply.retryAfterMs ?? 0);
  };
  return { upstream, replyTo, heard };
}

function replyOf({ temper, times, waitMs }: UpstreamOfWorld, calls: number, name: string): Reply {
  const isOnce = calls <= times;
  switch (temper) {
    case "honest":
      return result(TRUTH);
    case "lying":
      return result(`"${name}"`);
    case "refusing":
      return refused;
    case "unknowing":
      return result("null");
    case "lacking":
      return lacking;
    case "without block":
      return isOnce ? withoutBlock : result(TRUTH);
    case "silent":
      return { kind: "timeout" };
    case "failing":
      return { kind: "failed", reason: "ECONNRESET" };
    case "unreached":
      return { kind: "failed", reason: "ECONNREFUSED" };
    case "limited":
      return isOnce ? { kind: "busy", retryAfterMs: waitMs } : result(TRUTH);
    case "occupied":
      return { kind: "occupied", waitMs: 1_500 };
    case "missing":
      return { kind: "missing" };
    case "muttering":
      return unknown;
    case "babbling":
      return { ...unknown, code: -32_000 - name.charCodeAt(0), message: `${name} cannot do it` };
    case "doubted":
      return { ...unknown, doubt: "failed" };
  }
}

const withoutBlock: Reply = { ...refused, lacks: "block" };

/** A refusal in words that no table has. */
export const unknown: Extract<Reply, { kind: "refused" }> = {
  kind: "refused",
  code: -32000,
  message: "the flux is empty",
  json: "{}",
  doubt: "unknown",
};

const isNull = (reply: Reply): boolean => reply.kind === "result" && String(reply.json) === "null";

const UNCOUNTED = { attempted: () => undefined, merged: () => undefined };

/** The call of a world, before it begins. */
export const stateIn = (
  { method, block, rule, copies, left }: World,
  view: NetworkView,
): AskingState => ({
  question: {
    ...{ method, paramsJson: "[]", traits: fakeTraits(method), isUncertain: isNull },
    options: {
      block,
      crossCheck: { name: "null", isUncertain: isNull },
      arrivalOf: () => 0 as const,
      ledger: left === undefined ? undefined : { left, ...UNCOUNTED },
    },
  },
  ...{ view, rule, copies, plan: undefined, hasWaited: false },
});

/** A world's network as the call's decisions see it. @param left The number of hedges that are left. */
export function viewOf(
  world: World,
  upstreams: readonly Upstream[],
  { now, left }: { now: () => number; left: () => number },
): NetworkView {
  const specOf = (upstream: unknown) => world.upstreams[upstreams.indexOf(upstream as Upstream)];
  const isThere = (upstream: Upstream) => (specOf(upstream)?.fromMs ?? 0) <= now();
  const usableFor = () => upstreams.filter(isThere);
  return {
    usableFor,
    hasOthers: () => upstreams.length > 1,
    isSettled: () => upstreams.every(isThere),
    outSinceMs: () => (usableFor().length > 0 ? undefined : 0),
    isBehind: (upstream) => specOf(upstream)?.isBehind ?? false,
    usualMs: () => world.usualMs,
    mayHedge: () => left() > 0,
    mayWait: () => world.mayWait,
    knowsAnswer: () => world.knowsAnswer,
  };
}

/** Decides the call of a world to its end, and 12 seconds beyond. */
export function decided(world: World) {
  let now = 0;
  let hedges = world.hedges;
  const those = world.upstreams.map((spec, index) => upstreamIn(spec, index, () => now));
  const upstreams = those.map(({ upstream }) => upstream);
  const view = viewOf(world, upstreams, { now: () => now, left: () => hedges });
  const state = stateIn(world, view);
  const asked: Asked[] = [];
  const steps: Step[] = [];
  const due: { atMs: number; event: () => AskingEvent }[] = [];
  let timerAtMs = NEVER;
  const begin = (attempt: Attempt): void => {
    const index = upstreams.indexOf(attempt.upstream);
    const one: Asked = {
      attempt,
      spec: world.upstreams[index] as UpstreamOfWorld,
      atMs: now,
      repliedAtMs: NEVER,
    };
    asked.push(one);
    if (attempt.isHedge) hedges -= 1;
    attempt.call = { workKind: state.question.traits.workKind, sentAt: now };
    const told = those[index]?.replyTo() ?? { reply: lacking, afterMs: 0 };
    const event = (): AskingEvent => {
      one.reply = told.reply;
      one.repliedAtMs = now;
      those[index]?.heard(told.reply);
      return { kind: "reply", attempt, reply: told.reply };
    };
    due.push({ atMs: now + told.afterMs, event });
  };
  const step = (event: AskingEvent): void => {
    const decision = next(state, event, now);
    steps.push({ event, decision, atMs: now });
    if (decision.kind === "ask") {
      begin(decision);
      step({ kind: "begun" });
    } else timerAtMs = decision.kind === "wait" ? decision.untilMs : NEVER;
  };
  const isSettled = (): boolean => steps.at(-1)?.decision.kind === "settle";
  step({ kind: "started", upstreams: view.usableFor(state.question.traits) });
  due.push({ atMs: world.deadlineMs, event: () => ({ kind: "aborted" }) });
  while (due.length > 0) {
    due.sort((a, b) => a.atMs - b.atMs);
    const first = due[0]?.atMs ?? 0;
    now = Math.max(now, Math.min(first, timerAtMs));
    const event = timerAtMs <= first ? undefined : due.shift()?.event();
    if (event?.kind === "aborted" && isSettled()) continue;
    step(event ?? { kind: "timer" });
  }
  const end = steps.findIndex(({ decision }) => decision.kind === "settle");
  const settlement = steps[end]?.decision as Settlement | undefined;
  return { asked, steps, end, settlement, endedAtMs: steps[end]?.atMs };
}
