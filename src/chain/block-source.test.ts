import { pino } from "pino";
import { describe, expect, it } from "vitest";
import { FakeClock } from "../../test/support/fake-clock.ts";
import type { Signal } from "../lib/cancellation.ts";
import { Turns } from "../lib/turns.ts";
import { BlockSource, hedgedAnswers } from "./block-source.ts";
import type { AskedUpstream, Fetched } from "./dialect.ts";
import { Prover } from "./prover.ts";
import { type IngestBlock, ingestHere } from "./writing.ts";

const EMPTY_ROOT = "0x56e81f171bcc55a6ff8345e692c0f86e5b48e01b996cadc001622fb5e363b421";

/** A block whose hash follows no known encoding. */
function foreignBlock(hash: string): Fetched {
  const block = {
    ...{ number: "0x7", hash, parentHash: `0x${"11".repeat(32)}`, transactions: [] },
    ...{ transactionsRoot: EMPTY_ROOT, receiptsRoot: EMPTY_ROOT },
  };
  const json = { block: Buffer.from(JSON.stringify(block)), receipts: Buffer.from("[]") };
  return { kind: "fetched", fetched: { json, block, receipts: [], uncles: undefined } };
}

const GIVEN = foreignBlock(`0x${"77".repeat(32)}`);
const OTHER = foreignBlock(`0x${"78".repeat(32)}`);
const FAILED: Fetched = { kind: "failed", reason: "ECONNRESET" };
const UNKNOWN: Fetched = { kind: "unknown" };

/** A source over nodes a, b …, which give these answers for block 7 of an unknown chain. */
function sourceOver(answers: readonly Fetched[], { isSettled = true } = {}) {
  const clock = new FakeClock();
  const log = pino({ level: "silent" });
  const nodes = answers.map((_, index) => ({ name: "abc"[index] }) as AskedUpstream);
  const prover = new Prover(
    { network: "n", mode: "available", chainId: 424_242 },
    {
      store: { tables: { note: () => undefined }, setNote: async () => undefined },
      log,
      metrics: { blockProven: () => undefined },
    },
  );
  const source = new BlockSource(
    { network: "n", limits: { bytes: 1e9, transactions: 1e9, logs: 1e9 } },
    {
      ingest: ingestHere({
        dialect: { fetchBlock: async (_, node) => answers[nodes.indexOf(node)] as Fetched },
        turns: new Turns({ clock }),
      }),
      ...{
        prover,
        clock,
        log,
        metrics: {
          proofFailed: () => undefined,
          blockTooLarge: () => undefined,
          blockPartOdd: () => undefined,
        },
      },
      allNodes: () => (isSettled ? nodes : undefined),
    },
  );
  /** The outcome of a fetch now, and after each further second. */
  const foundIn = async (seconds: number): Promise<string[]> => {
    const seen: string[] = [];
    for (let second = 0; second <= seconds; second += 1) {
      const { signal } = new AbortController();
      seen.push((await source.fetch({ number: 7 }, nodes, signal)).kind);
      await clock.advance(1_000);
    }
    return seen;
  };
  return { foundIn };
}

describe("a block whose header follows no known encoding", () => {
  it.each([
    { of: "one node", answers: [GIVEN] },
    { of: "two nodes", answers: [GIVEN, GIVEN] },
  ])("is taken at once when all give it: $of", async ({ answers }) => {
    expect(await sourceOver(answers).foundIn(0)).toEqual(["found"]);
  });

  it.each([
    { other: "fails", answers: [GIVEN, FAILED] },
    { other: "does not know it", answers: [UNKNOWN, GIVEN] },
  ])("is taken after five seconds when one gives it and the other $other", async ({ answers }) => {
    const [last, ...before] = (await sourceOver(answers).foundIn(5)).reverse();
    expect(last).toBe("found");
    expect(new Set(before)).toEqual(new Set(["unproven"]));
  });

  it.each([
    { when: "nodes disagree", answers: [GIVEN, OTHER], isSettled: true },
    { when: "others are still being looked for", answers: [GIVEN], isSettled: false },
  ])("is never taken while $when", async ({ answers, isSettled }) => {
    const seen = await sourceOver(answers, { isSettled }).foundIn(12);
    expect(new Set(seen)).toEqual(new Set(["unproven"]));
  });
});

/** Asks nodes a, b, c, which answer after these milliseconds; `log` has each question, answer and abort, with times. */
function asked(
  answersAfter: Record<string, number>,
  wanted: (answer: string) => boolean,
  isWorthAsking: (answer: string) => boolean = () => false,
) {
  const clock = new FakeClock();
  const log: string[] = [];
  const caller = new AbortController();
  const ask = async (node: string, signal: Signal): Promise<string> => {
    log.push(`${clock.now()} ask ${node}`);
    signal.addEventListener("abort", () => log.push(`${clock.now()} end ${node}`));
    await clock.sleep(answersAfter[node] ?? 0);
    return node;
  };
  const done = (async () => {
    const nodes = Object.keys(answersAfter);
    const parts = { ask, isWorthAsking, clock };
    for await (const { answer } of hedgedAnswers(nodes, caller.signal, parts)) {
      log.push(`${clock.now()} got ${answer}`);
      if (wanted(answer)) break;
    }
    log.push("done");
  })();
  const pass = async (ms: number): Promise<void> => {
    for (let passed = 0; passed < ms; passed += 100) await clock.advance(100);
  };
  return { log, done, pass, caller };
}

describe("the same, asked of several nodes", () => {
  it("is asked of the first alone when that is quick and right", async () => {
    const { log, done, pass } = asked({ a: 100, b: 100 }, () => true);
    await pass(200);
    await done;
    expect(log).toEqual(["0 ask a", "100 got a", "100 end a", "done"]);
  });

  it("is asked of the next when an answer is not wanted", async () => {
    const { log, done, pass } = asked({ a: 100, b: 100 }, (answer) => answer === "b");
    await pass(300);
    await done;
    expect(log.filter((line) => !line.includes("end"))).toEqual([
      "0 ask a",
      "100 got a",
      "100 ask b",
      "200 got b",
      "done",
    ]);
  });

  it("is asked of a second and a third beside those who take long, and the quickest is taken", async () => {
    const { log, done, pass } = asked({ a: 9_000, b: 9_000, c: 100 }, () => true);
    await pass(1_200);
    await done;
    expect(log).toEqual([
      "0 ask a",
      "500 ask b",
      "1000 ask c",
      "1100 got c",
      "1100 end a",
      "1100 end b",
      "1100 end c",
      "done",
    ]);
  });

  it("waits for the last one as long as it takes", async () => {
    const { log, done, pass } = asked({ a: 5_000 }, () => true);
    await pass(5_100);
    await done;
    expect(log.filter((line) => line.includes("got"))).toEqual(["5000 got a"]);
  });

  it("is asked again of who had nothing to give, while another says nothing", async () => {
    let isThere = false;
    const { log, done, pass } = asked(
      { a: 100, b: 9_000 },
      (answer) => answer === "a" && isThere,
      (answer) => answer === "a",
    );
    await pass(400);
    isThere = true;
    await pass(400);
    await done;
    expect(log.filter((line) => !line.includes("end"))).toEqual([
      ...["0 ask a", "100 got a", "100 ask b", "600 ask a", "700 got a", "done"],
    ]);
  });

  it("gives all answers when none is wanted, and ends", async () => {
    const { log, done, pass } = asked({ a: 600, b: 300, c: 100 }, () => false);
    await pass(2_200);
    await done;
    expect(log.filter((line) => line.includes("got"))).toEqual([
      "600 got a",
      "800 got b",
      "900 got c",
    ]);
  });
});

type Answer = "proven" | "odd" | "garbage" | "lie" | "away";

/** A source over nodes a, b …, which give block 7 like this; `names` has the name of each node that was asked. */
function oddSource(
  answers: readonly Answer[],
  { mode = "available", settlesAt = 0 }: { mode?: "available" | "strict"; settlesAt?: number } = {},
) {
  const clock = new FakeClock();
  const log = pino({ level: "silent" });
  const nodes = answers.map((_, index) => ({ name: "abc"[index] }) as AskedUpstream);
  const names: string[] = [];
  const lies: string[] = [];
  const prover = new Prover(
    { network: "n", mode, chainId: 1 },
    {
      store: { tables: { note: () => undefined }, setNote: async () => undefined },
      ...{ log, metrics: { blockProven: () => undefined } },
    },
  );
  const ingest: IngestBlock = async (_, { name }) => {
    names.push(name);
    const answer = answers[nodes.findIndex((node) => node.name === name)];
    if (answer === "away") return { kind: "failed", reason: "ECONNRESET" };
    if (answer === "garbage") return { kind: "garbage", reason: "this is not a block" };
    const hash = `0x${"77".repeat(32)}`;
    if (answer === "lie")
      return { kind: "refuted", part: "receipts root", reason: "another", number: "0x7", hash };
    const odd = answer === "odd" ? [{ part: "places", reason: "log 0" } as const] : [];
    const outline = { number: 7, givenBy: name } as never;
    return {
      kind: "ingested",
      block: { hash, outline },
      proof: { kind: "proven", unproven: [], odd },
    };
  };
  const metrics = {
    proofFailed: () => undefined,
    blockTooLarge: () => undefined,
    blockPartOdd: () => undefined,
  };
  const source = new BlockSource(
    { network: "n", limits: { bytes: 1e9, transactions: 1e9, logs: 1e9 } },
    {
      ...{ ingest, prover, clock, log, metrics },
      allNodes: () => (clock.now() < settlesAt ? undefined : nodes),
      onLie: (name) => lies.push(name),
    },
  );
  const fetch = async () => {
    const { signal } = new AbortController();
    const known = clock.now() < settlesAt ? nodes.slice(0, 1) : nodes;
    const found = await source.fetch({ number: 7 }, known, signal);
    return found.kind === "found"
      ? (found.record.outline as unknown as { givenBy: string }).givenBy
      : found;
  };
  return { source, fetch, names, lies, clock };
}

describe("a block with an odd part", () => {
  it.each<{ answers: readonly Answer[]; want: string }>([
    { answers: ["odd"], want: "a" },
    { answers: ["odd", "proven"], want: "b" },
    { answers: ["proven", "odd"], want: "a" },
    { answers: ["odd", "odd", "proven"], want: "c" },
    { answers: ["odd", "lie"], want: "a" },
    { answers: ["lie", "odd"], want: "b" },
    { answers: ["odd", "away", "garbage"], want: "a" },
  ])("of nodes that give $answers is taken from $want", async ({ answers, want }) => {
    const { fetch, lies } = oddSource(answers);
    expect(await fetch()).toBe(want);
    const liar = answers.indexOf("lie");
    expect(lies).toEqual(liar < 0 ? [] : ["abc"[liar]]);
  });

  it.each([
    { settlesAt: 300, want: "b" },
    { settlesAt: 60_000, want: "a" },
  ])("waits a second for nodes that are still unknown: until $settlesAt", async (each) => {
    const { fetch, clock } = oddSource(["odd", "proven"], each);
    const fetching = fetch();
    for (let passed = 0; passed < 1_500; passed += 50) await clock.advance(50);
    expect(await fetching).toBe(each.want);
  });

  it("costs no second call once the other node gave it no better", async () => {
    const { fetch, names, source } = oddSource(["odd", "odd"]);
    await fetch();
    await fetch();
    expect(names).toEqual(["a", "b", "a"]);
    expect(source.odd).toEqual([
      { part: "places", reason: "log 0", block: "7", upstream: "a", count: 2 },
    ]);
  });

  it("is refused in the mode strict", async () => {
    expect(await oddSource(["odd"], { mode: "strict" }).fetch()).toMatchObject({
      ...{ kind: "unproven", isRefused: true },
    });
  });
});

it.each<{ answers: readonly Answer[]; isRefused: boolean }>([
  { answers: ["lie"], isRefused: true },
  { answers: ["lie", "away"], isRefused: true },
  { answers: ["garbage"], isRefused: false },
  { answers: ["garbage", "lie"], isRefused: false },
  { answers: ["lie", "garbage"], isRefused: false },
])("a block that nodes give as $answers is refused for a lie: $isRefused", async (each) => {
  const { fetch } = oddSource(each.answers);
  expect(await fetch()).toMatchObject({ kind: "unproven", isRefused: each.isRefused });
});
