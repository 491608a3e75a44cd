// Properties of each call under any behaviour of its upstreams: how it ends, and which attempts it may make.
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  ACTING,
  anyWorld,
  decided,
  honestWorld,
  REPEATABLE,
  type Step,
  stateIn,
  TRUTH,
  unknown,
  upstreamIn,
  viewOf,
  type World,
  worldOf,
} from "../../../test/support/call-worlds.ts";
import { FakeClock } from "../../../test/support/fake-clock.ts";
import { networkOf } from "../../../test/support/scripted-call.ts";
import type { Reply } from "../reply.ts";
import { CallDriver } from "./call-driver.ts";
import type { FinalReply } from "./call-options.ts";
import type { Settlement } from "./decision.ts";

const RUNS = { numRuns: 1_000 };

const always = (check: (world: World, trace: ReturnType<typeof decided>) => void): void =>
  fc.assert(
    fc.property(anyWorld, (world) => check(world, decided(world))),
    RUNS,
  );

const textOf = (outcome: Settlement["outcome"] | undefined): string =>
  outcome === undefined || outcome instanceof Error
    ? `error ${outcome?.message}`
    : `${outcome.kind} ${outcome.kind === "result" ? outcome.json : outcome.message}`;

/** In these worlds, `null`, unknown words and what says that a node lacks something are checked with other upstreams. */
const isUncertain = (reply: Reply): boolean =>
  (reply.kind === "refused" && (reply.lacks !== undefined || reply.doubt !== undefined)) ||
  (reply.kind === "result" && String(reply.json) === "null");

/** Refusals with the same code are the same vote: nodes word them differently. */
const votedFor = (reply: FinalReply): string =>
  reply.kind === "refused" ? `refused ${reply.code}` : textOf(reply);

const isVote = ({ kind }: { kind: string }): boolean => kind === "result" || kind === "refused";

describe("every call", () => {
  it("is settled once, by its deadline, and stays settled whatever comes", () =>
    always((world, { steps, end, settlement, endedAtMs }) => {
      expect(end).toBeGreaterThanOrEqual(0);
      expect(endedAtMs).toBeLessThanOrEqual(world.deadlineMs);
      for (const { decision } of steps.slice(end)) {
        expect(decision.kind).toBe("settle");
        expect((decision as Settlement).outcome).toBe(settlement?.outcome);
      }
    }));

  it("never waits with no attempt under way and no timer", () =>
    always((_, { steps }) => {
      let underWay = 0;
      for (const { event, decision } of steps) {
        if (event.kind === "begun") underWay += 1;
        if (event.kind === "reply") underWay -= 1;
        if (decision.kind !== "wait") continue;
        expect(underWay > 0 || decision.untilMs < Number.POSITIVE_INFINITY).toBe(true);
      }
    }));

  it("never waits for what is past", () =>
    always((_, { steps }) => {
      for (const { decision, atMs } of steps)
        if (decision.kind === "wait") expect(decision.untilMs).toBeGreaterThanOrEqual(atMs);
    }));

  it("asks an upstream again only when that was busy, or did not have the block yet", () =>
    always((world, { asked }) => {
      const lastByName = new Map<string, (typeof asked)[number]>();
      for (const one of asked) {
        const { name } = one.attempt.upstream;
        const before = lastByName.get(name)?.reply;
        const isBehind = before?.kind === "refused" && before.lacks === "block" && world.rule;
        if (lastByName.has(name)) expect(before?.kind === "busy" || isBehind).toBeTruthy();
        lastByName.set(name, one);
      }
    }));

  it("that does something is not asked of another upstream once it may be done", () =>
    fc.assert(
      fc.property(anyWorld, (given) => {
        const { asked } = decided({ ...given, method: ACTING, rule: undefined, copies: 1 });
        for (const [index, { reply, repliedAtMs }] of asked.slice(0, -1).entries()) {
          expect(repliedAtMs).toBeLessThanOrEqual(asked[index + 1]?.atMs ?? 0); // no hedge
          const wasSent = reply?.kind === "failed" && reply.reason === "ECONNRESET";
          expect(wasSent || reply?.kind === "timeout").toBe(false);
        }
      }),
      RUNS,
    ));

  it("spends no more hedges than there are, nor asks without end, and presses only whose limit is a guess", () =>
    always((world, { asked }) => {
      expect(asked.filter(({ attempt }) => attempt.isHedge).length).toBeLessThanOrEqual(
        world.hedges,
      );
      const bound = world.upstreams.length * (world.rule ? 4 : 24);
      expect(asked.length).toBeLessThanOrEqual(bound);
      for (const { attempt, spec } of asked)
        if (attempt.exceedsLearnedLimit) expect(spec.mayExceedLearnedLimit).toBe(true);
    }));

  it("that asks for the newest state is not ended by an upstream that lags while a better one works", () =>
    always((world, { asked, steps, end }) => {
      const { event, decision, atMs } = steps[end] as Step;
      if (world.rule || world.copies > 1 || world.block !== undefined) return;
      if (event.kind !== "reply" || decision.kind !== "settle") return;
      const { order, upstream } = event.attempt;
      const spec = asked.find(({ attempt }) => attempt.upstream === upstream)?.spec;
      const isBetterAtWork = asked.some(
        ({ attempt, repliedAtMs }) => attempt.order < order && repliedAtMs > atMs,
      );
      if (spec?.isBehind && isBetterAtWork) expect(decision.outcome).not.toBe(event.reply);
    }));

  it("does not end in an answer that one node is not believed in once a believed one came", () =>
    fc.assert(
      fc.property(anyWorld, (given) => {
        const plan = { method: REPEATABLE, block: undefined, rule: undefined, copies: 1 };
        const {
          asked,
          settlement,
          endedAtMs = 0,
        } = decided({
          ...{ ...given, ...plan },
          ...{ hedges: 3, knowsAnswer: false },
        });
        const outcome = settlement?.outcome;
        if (!outcome || outcome instanceof Error || !isUncertain(outcome)) return;
        const isBelieved = ({ reply, repliedAtMs }: (typeof asked)[number]): boolean =>
          reply !== undefined && isVote(reply) && !isUncertain(reply) && repliedAtMs <= endedAtMs;
        expect(asked.filter(isBelieved)).toEqual([]);
      }),
      { numRuns: 3_000 },
    ));

  it("ends in a result where all upstreams are honest", () =>
    fc.assert(
      fc.property(honestWorld, (world) => {
        expect(textOf(decided(world).settlement?.outcome)).toBe(`result ${TRUTH}`);
      }),
      RUNS,
    ));

  it("ends in the truth where all have it that answer at all, if one does and may be asked", () =>
    fc.assert(
      fc.property(anyWorld, (given) => {
        const mute = [
          "silent",
          "failing",
          "unreached",
          "missing",
          "occupied",
          "lacking",
          "unknowing",
        ];
        const [first] = given.upstreams;
        const isMute = ({ temper }: { temper: string }): boolean => mute.includes(temper);
        if (!first) return;
        const honest = { ...first, temper: "honest", waitMs: 0, fromMs: 0, isOpen: false } as const;
        const upstreams = [
          ...given.upstreams.filter(isMute),
          { ...honest, isBehind: false, answerMs: 5 },
        ];
        const plan = { method: REPEATABLE, rule: undefined, copies: 1, usualMs: 25 };
        const world = { ...given, ...plan, upstreams, hedges: 9, deadlineMs: 30_000 };
        expect(textOf(decided(world).settlement?.outcome)).toBe(`result ${TRUTH}`);
      }),
      RUNS,
    ));
});

describe("a refusal in unknown words", () => {
  const answering = ["muttering", "babbling", "refusing", "honest", "lying", "lacking"] as const;
  const mute = ["silent", "failing", "unreached", "limited", "occupied", "missing"] as const;
  const isUnknown = ({ reply }: { reply?: Reply }): boolean =>
    reply?.kind === "refused" && reply.doubt === "unknown";

  it("makes the call ask one more upstream at most", () =>
    fc.assert(
      fc.property(worldOf(...answering, ...mute), (world) => {
        const { asked } = decided({ ...world, knowsAnswer: false });
        const first = asked.filter(isUnknown).map(({ repliedAtMs }) => repliedAtMs);
        const after = asked.filter(({ atMs }) => atMs >= Math.min(...first));
        expect(after.length).toBeLessThanOrEqual(1);
      }),
      { numRuns: 3_000 },
    ));

  it("is asked of nobody where the call may make no further calls to nodes", () =>
    fc.assert(
      fc.property(worldOf(...answering, ...mute), (world) => {
        const { asked } = decided({ ...world, knowsAnswer: false, left: 0 });
        const first = asked.filter(isUnknown).map(({ repliedAtMs }) => repliedAtMs);
        expect(asked.filter(({ atMs }) => atMs >= Math.min(...first))).toEqual([]);
      }),
      RUNS,
    ));

  it("stays what it is where no upstream says anything else", () =>
    fc.assert(
      fc.property(worldOf("muttering", ...mute), (world) => {
        const { settlement, asked } = decided({ ...world, deadlineMs: 30_000.5 });
        const outcome = settlement?.outcome;
        if (!asked.some(isUnknown) || textOf(outcome) === `result ${TRUTH}`) return;
        expect(textOf(outcome)).toBe(`refused ${unknown.message}`);
        const said = asked.filter(isUnknown).length;
        if (settlement?.lesson) expect(said).toBeGreaterThan(1);
      }),
      RUNS,
    ));

  it("never becomes another error than an upstream gave, and never takes the place of an agreed one", () =>
    fc.assert(
      fc.property(worldOf("muttering", "babbling", "refusing"), (given) => {
        const upstreams = given.upstreams.map((each) => ({ ...each, isBehind: false }));
        const { settlement, asked, endedAtMs = 0 } = decided({ ...given, upstreams });
        const replies = asked.filter(({ repliedAtMs }) => repliedAtMs <= endedAtMs);
        const [first] = replies;
        const outcome = settlement?.outcome;
        if (!first?.reply || outcome instanceof Error) return;
        expect(replies.map(({ reply }) => reply)).toContain(outcome);
        if (!isUnknown(first)) expect(outcome).toBe(first.reply);
      }),
      RUNS,
    ));

  it("teaches only what two upstreams showed", () =>
    fc.assert(
      fc.property(worldOf(...answering, ...mute), (world) => {
        const { settlement, asked } = decided(world);
        const lesson = settlement?.lesson;
        if (!lesson) return;
        const others = asked.filter(({ attempt }) => attempt.upstream !== lesson.upstream);
        const kinds = others.map(({ reply }) => (reply?.kind === "result" ? "unable" : "answer"));
        expect(kinds).toContain(lesson.kind);
      }),
      RUNS,
    ));
});

describe("a quorum", () => {
  const rule = { ask: 3, agree: 2 };

  it("settles only with what as many vendors said as must agree", () =>
    fc.assert(
      fc.property(anyWorld, (given) => {
        const { asked, settlement } = decided({ ...given, rule });
        const outcome = settlement?.outcome;
        if (outcome === undefined || outcome instanceof Error) return;
        const same = asked.filter(
          ({ reply }) =>
            reply && isVote(reply) && votedFor(reply as typeof outcome) === votedFor(outcome),
        );
        expect(new Set(same.map(({ spec }) => spec.vendor)).size).toBeGreaterThanOrEqual(
          rule.agree,
        );
      }),
      RUNS,
    ));

  it("ends in a result where enough vendors are there, and honest", () =>
    fc.assert(
      fc.property(honestWorld, (given) => {
        const vendors = new Set(given.upstreams.map(({ vendor }) => vendor)).size;
        const { settlement } = decided({ ...given, rule });
        if (vendors >= rule.agree) expect(textOf(settlement?.outcome)).toBe(`result ${TRUTH}`);
        else expect(textOf(settlement?.outcome)).toMatch("error 2 vendors must agree");
      }),
      RUNS,
    ));

  it("asks no vendor twice, but for a block that it does not have yet", () =>
    fc.assert(
      fc.property(anyWorld, (given) => {
        const { asked } = decided({ ...given, rule });
        const first = asked.filter(({ attempt }) => attempt.tries === 1);
        expect(new Set(first.map(({ spec }) => spec.vendor)).size).toBe(first.length);
      }),
      RUNS,
    ));
});

describe("the driver", () => {
  it("asks, waits and ends as is decided, and leaves no timer behind", () =>
    fc.assert(
      fc.asyncProperty(anyWorld, async (world) => {
        const { asked, settlement, endedAtMs } = decided(world);
        const seen = await driven(world);
        expect(seen.asked).toEqual(
          asked.map(
            ({ attempt, atMs }) =>
              `${atMs} ${attempt.upstream.name} ${attempt.exceedsLearnedLimit}`,
          ),
        );
        expect(seen.outcome).toBe(`${endedAtMs} ${textOf(settlement?.outcome)}`);
        expect(seen.settled).toBe(1);
        expect(seen.left).toBe(0);
      }),
      { numRuns: 300 },
    ));
});

/** Runs the call of `decided` in a `CallDriver`, with promises and a clock. */
async function driven(world: World) {
  const clock = new FakeClock();
  const asked: string[] = [];
  let hedges = world.hedges;
  let waiting = 0;
  const upstreams = world.upstreams.map((spec, index) => {
    const { upstream, replyTo, heard } = upstreamIn(spec, index, () => clock.now());
    return Object.assign(upstream, {
      ask: async (...[, , , options]: Parameters<typeof upstream.ask>) => {
        asked.push(`${clock.now()} ${upstream.name} ${options?.exceedsLearnedLimit}`);
        if (options?.attempt) options.attempt.call = { workKind: "execution", sentAt: clock.now() };
        const { reply, afterMs } = replyTo();
        await clock.sleep(afterMs);
        heard(reply);
        return reply;
      },
    });
  });
  const view = viewOf(world, upstreams, { now: () => clock.now(), left: () => hedges });
  const spend = (): boolean => {
    hedges -= 1;
    return true;
  };
  const network = {
    ...networkOf(upstreams),
    ...view,
    takeOrder: () => view.usableFor({ carriesSigned: false }),
    hedges: { earn: () => undefined, spend },
    enter: () => {
      waiting += 1;
    },
    leave: () => {
      waiting -= 1;
    },
  };
  const caller = new AbortController();
  let outcome = "";
  let settled = 0;
  const end = (text: string): void => {
    outcome = `${clock.now()} ${text}`;
    settled += 1;
  };
  new CallDriver(stateIn(world, network), { clock, network }).begin(caller.signal, {
    answered: (reply) => end(textOf(reply)),
    failed: (error) => end(textOf(error as Settlement["outcome"])),
  });
  clock.after(world.deadlineMs, () => caller.abort());
  await clock.advance(0);
  while (await clock.toNext());
  return { asked, outcome, settled, left: clock.waiting + waiting };
}
