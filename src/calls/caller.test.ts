import { beforeEach, describe, expect, it } from "vitest";
import { FakeClock } from "../../test/support/fake-clock.ts";
import type { ChainView } from "../chain/chain-view.ts";
import { MemoryBudget } from "../lib/memory-budget.ts";
import { type Caller, factsFor, headOf, namesStoredBlock, RequestScope, viewOf } from "./caller.ts";

const callerWith = (
  own: { logBlocks?: number; upstreamCalls?: number },
  networkBlocks: number | undefined,
) => {
  const limits = { upstreamCalls: 200, logs: { blocks: networkBlocks, results: 9 } };
  const facts = { name: "main", limits };
  return { facts, caller: { grant: { scope: own }, network: { facts } } as unknown as Caller };
};

describe("the facts of a network for a key", () => {
  it.each([
    { what: "has no limits of its own", own: {}, networkBlocks: 100 },
    {
      what: "may ask for more blocks than the network lets",
      own: { logBlocks: 500 },
      networkBlocks: 100,
    },
    {
      what: "has the network's own limits",
      own: { logBlocks: 100, upstreamCalls: 200 },
      networkBlocks: 100,
    },
  ])("that $what are the network's, and no copy", ({ own, networkBlocks }) => {
    const { facts, caller } = callerWith(own, networkBlocks);
    expect(factsFor(caller)).toBe(facts);
  });

  it.each([
    { networkBlocks: 100, what: "fewer blocks" },
    { networkBlocks: undefined, what: "blocks where the network has no limit" },
  ])("that is let ask for $what say that the key's rule is it", ({ networkBlocks }) => {
    const { limits } = factsFor(callerWith({ logBlocks: 50 }, networkBlocks).caller);
    expect(limits.logs).toMatchObject({ blocks: 50, results: 9, rule: "logs" });
    expect(limits.upstreamCalls).toBe(200);
  });

  it("that may ask nodes less, or more, often", () => {
    for (const upstreamCalls of [3, 900]) {
      const { limits } = factsFor(callerWith({ upstreamCalls }, 100).caller);
      expect(limits).toMatchObject({ upstreamCalls, logs: { blocks: 100 } });
      expect(limits.logs).not.toHaveProperty("rule");
    }
  });
});

const nodesHead = { latest: async () => 9 };

function callerOver(view: { isBehind: boolean; staleness?: { ms: number } } | undefined) {
  const asked: string[] = [];
  const chain = view && { ...view, latest: () => 7, pin: (tag: unknown) => `pinned ${tag}` };
  const network = {
    chain: chain && { view: () => chain },
    head: {
      loneView: () => asked.push("lone") && nodesHead,
      batchView: () => asked.push("batch") && nodesHead,
    },
  };
  const scope = { signal: () => new AbortController().signal };
  return { asked, chain, caller: { network, scope } as unknown as Caller };
}

describe("what a call sees", () => {
  it("is the followed chain, whose head it is: no node is asked", () => {
    const { caller, chain, asked } = callerOver({ isBehind: false });
    const seen = viewOf(caller);
    expect(seen.chain).toBe(chain);
    const head = headOf(seen.chain as ChainView, caller.scope);
    expect([head.latest(), head.pin("latest" as never)]).toEqual([7, "pinned latest"]);
    expect([seen.session, "past" in seen, asked]).toEqual([undefined, false, []]);
  });

  it("is what nodes tell where nothing is followed", () => {
    const { caller, asked } = callerOver(undefined);
    expect(viewOf(caller)).toMatchObject({ head: nodesHead, chain: undefined });
    expect(asked).toEqual(["lone"]);
  });

  it("is what nodes tell where they may be further; what is stored is the past", () => {
    const { caller, chain, asked } = callerOver({ isBehind: true, staleness: { ms: 5_000 } });
    const seen = viewOf(caller);
    expect(seen).toMatchObject({ head: nodesHead, chain: undefined, staleness: { ms: 5_000 } });
    const past = "past" in seen && seen.past;
    expect(past).toBe(chain);
    expect(headOf(past as ChainView, caller.scope).latest()).toBe(7);
    expect(asked).toEqual(["lone"]);
  });

  it("is for all members of a batch what one node says", () => {
    const { caller, asked } = callerOver(undefined);
    expect(viewOf(caller, true).session).toEqual({ node: undefined });
    expect(asked).toEqual(["batch"]);
  });
});

const stored = `0x${"a".repeat(64)}`;
const mined = `0x${"b".repeat(64)}`;
const unknown = `0x${"c".repeat(64)}`;
/** A store with the blocks 3 to 7, among them the one with the hash `stored`. */
const past = {
  blockAt: (number: number) => (number >= 3 && number <= 7 ? ({} as never) : undefined),
  blockOf: (hash: string) => (hash === stored ? ({ number: 6 } as never) : undefined),
  transaction: (hash: string) => (hash === mined ? ({} as never) : undefined),
  tells: () => true,
};

it.each([
  { params: ["0x5", true] },
  { params: [stored, false] },
  { params: [mined] },
  { params: [{ blockNumber: "0x5" }] },
  { params: [{ blockHash: stored }] },
  { params: [{ fromBlock: "0x3", toBlock: "0x7", topics: [] }] },
  { params: [{ fromEpoch: "0x3", toEpoch: "0x7" }] },
])("$params is of the past", ({ params }) => {
  expect(namesStoredBlock(JSON.stringify(params), past)).toBe(true);
});

it.each([
  { params: [] },
  { params: ["latest", true] },
  { params: ["0x8", true] },
  { params: ["0x2", true] },
  { params: [unknown] },
  { params: [{ blockHash: unknown }] },
  { params: [{ fromBlock: "0x3" }] },
  { params: [{ fromBlock: "0x3", toBlock: "latest" }] },
  { params: [{ fromBlock: "0x3", toBlock: "0x8" }] },
  { params: [null] },
  { params: [{}] },
  { params: [["0x5"]] },
])("$params may have to do with what is newest", ({ params }) => {
  expect(namesStoredBlock(JSON.stringify(params), past)).toBe(false);
});

describe("where no node answers, and blocks up to 5 are final,", () => {
  const outage = { ...past, tells: (number: number) => number <= 5 };
  it.each([
    { params: ["0x5", true], isServed: true },
    { params: ["0x6", true], isServed: false },
    { params: [stored, false], isServed: true },
    { params: [mined], isServed: true },
    { params: [{ blockHash: stored }], isServed: true },
    { params: [{ blockHash: stored, requireCanonical: true }], isServed: false },
    { params: [{ fromBlock: "0x3", toBlock: "0x5" }], isServed: true },
    { params: [{ fromBlock: "0x3", toBlock: "0x6" }], isServed: false },
  ])("a call with $params is served: $isServed", ({ params, isServed }) => {
    expect(namesStoredBlock(JSON.stringify(params), outage)).toBe(isServed);
  });
});

it("parameters that cannot be read are not", () => {
  expect(namesStoredBlock("[", past)).toBe(false);
  expect(namesStoredBlock('{"a":1}', past)).toBe(false);
});

function scopes(count: number, turn: "on" | "over" = "on") {
  const clock = new FakeClock();
  const waiting: (() => void)[] = [];
  const next = () => new Promise<void>((resolve) => waiting.push(resolve));
  const turns = { join: () => turn, next };
  const memory = new MemoryBudget({ bytes: 1_000 }, { onRefused: () => undefined });
  const all = Array.from(
    { length: count },
    () => new RequestScope({ deadlineMs: 1_000 }, { clock, memory, turns }),
  );
  const signals = all.map((each) => each.signal());
  const given = () => signals.filter(({ aborted }) => aborted).length;
  const nextTurn = async (): Promise<void> => {
    waiting.shift()?.();
    await new Promise(setImmediate);
  };
  return { all, given, memory, clock, nextTurn };
}

describe("what works for a caller who leaves", () => {
  it("is given up at once where nothing else is done", () => {
    const { all, given, clock } = scopes(3);
    for (const scope of all) scope.end(false);
    expect([given(), clock.waiting]).toEqual([3, 0]);
  });

  it("is given up in turns where many leave, and nothing is held for them any more", async () => {
    const { all, given, memory, nextTurn } = scopes(3, "over");
    for (const scope of all) scope.hold("unsent", 100);
    for (const scope of all) scope.end(false);
    expect([given(), memory.waiting, all[0]?.hasEnded]).toEqual([0, 0, true]);
    for (const count of [1, 2, 3]) {
      await nextTurn();
      expect(given()).toBe(count);
    }
  });

  it("is over at once for who was sent the answer", () => {
    const { all, given } = scopes(1, "over");
    all[0]?.end(true);
    expect(given()).toBe(1);
  });
});

const DEADLINE_MS = 1_000;

let clock: FakeClock;
let held: Record<string, number>;
let scope: RequestScope;

beforeEach(() => {
  clock = new FakeClock();
  held = { bodies: 0, building: 0, unsent: 0 };
  const count = (sign: number) => (kind: string, bytes: number) => {
    held[kind] = (held[kind] ?? 0) + sign * bytes;
  };
  const turns = { join: () => "on" as const, next: () => Promise.resolve() };
  const memory = { hold: count(1), release: count(-1) };
  scope = new RequestScope({ deadlineMs: DEADLINE_MS }, { clock, memory, turns });
});

describe("the time of a request", () => {
  it("begins when somebody waits, and no timer is set before", async () => {
    await clock.advance(5_000);
    expect(clock.waiting).toBe(0);
    expect(scope.remainingMs).toBe(DEADLINE_MS);
    const signal = scope.signal();
    await clock.advance(999);
    expect([signal.aborted, scope.remainingMs]).toEqual([false, 1]);
    await clock.advance(1);
    expect(signal.reason).toMatchObject({ message: "the deadline of the request has passed" });
  });

  it("is one signal for all who wait", () => {
    expect(scope.signal()).toBe(scope.signal());
  });

  it("begins anew with each part of the answer that is taken", async () => {
    const signal = scope.signal();
    await clock.advance(900);
    scope.restartDeadline();
    await clock.advance(900);
    expect(signal.aborted).toBe(false);
    await clock.advance(100);
    expect(signal.aborted).toBe(true);
  });

  it("ends with the request: whatever works for it stops, and no timer is left", () => {
    const signal = scope.signal();
    scope.end(true);
    scope.restartDeadline();
    expect(signal.reason).toMatchObject({ message: "the request has ended" });
    expect(clock.waiting).toBe(0);
    expect(scope.hasEnded).toBe(true);
  });
});

describe("who wants to know whether the answer left", () => {
  it.each([true, false])("is told %s once", (wasSent) => {
    const told: boolean[] = [];
    scope.onSent((sent) => told.push(sent));
    scope.end(wasSent);
    scope.end(!wasSent);
    expect(told).toEqual([wasSent]);
  });

  it("and asks too late, is told that it did not", () => {
    const told: boolean[] = [];
    scope.end(true);
    scope.onSent((sent) => told.push(sent));
    expect(told).toEqual([false]);
  });
});

describe("the memory of a request", () => {
  it("is let go at its end, each kind for itself", () => {
    scope.hold("bodies", 100);
    scope.hold("building", 70);
    scope.hold("building", -20);
    scope.hold("unsent", 30);
    expect(held).toEqual({ bodies: 100, building: 50, unsent: 30 });
    scope.end(true);
    expect(held).toEqual({ bodies: 0, building: 0, unsent: 0 });
  });

  it("is not taken any more after it", () => {
    scope.end(false);
    scope.hold("unsent", 30);
    expect(held["unsent"]).toBe(0);
  });
});
