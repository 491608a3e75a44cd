import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { FakeClock } from "../../test/support/fake-clock.ts";
import { LmdbState } from "../state/lmdb-state.ts";
import { MempoolJournal } from "./mempool-journal.ts";

const ALL = Number.POSITIVE_INFINITY;

const hash = (number: number): string => `0x${number.toString(16).padStart(64, "0")}`;
const asJson = (...numbers: number[]): string[] => numbers.map((number) => `"${hash(number)}"`);
const turn = (): Promise<void> => new Promise(setImmediate);
const never = { signal: new AbortController().signal };

type Reply = { kind: string; json?: Buffer; message?: string };
const result = (value: unknown): Reply => ({
  kind: "result",
  json: Buffer.from(JSON.stringify(value)),
});

/** A node that pushes the hashes of the test. */
class PushingNode {
  readonly name: string;
  listener: { onHash(hash: string): void; onEnd(): void } | undefined;
  constructor(name: string) {
    this.name = name;
  }
  readonly ask = async (): Promise<Reply> => ({ kind: "missing" });
  readonly announcements = {
    watchPending: async (listener: PushingNode["listener"]): Promise<boolean> => {
      this.listener = listener;
      return true;
    },
  };
}

/** A node that has a filter, and may forget the filter. */
class PolledNode {
  readonly name = "polled";
  waiting: string[] = [];
  filters = 0;
  isKnown = false;
  readonly announcements = { watchPending: async (): Promise<boolean> => false };
  readonly ask = async (method: string): Promise<Reply> => {
    if (method === "eth_newPendingTransactionFilter") {
      this.filters += 1;
      this.isKnown = true;
      return result(`0x${this.filters}`);
    }
    return this.isKnown
      ? result(this.waiting.splice(0))
      : { kind: "refused", message: "filter not found" };
  };
}

const mute = {
  name: "mute",
  ask: async (): Promise<Reply> => ({ kind: "missing" }),
  announcements: { watchPending: async (): Promise<boolean> => false },
};

let path: string;
let state: LmdbState;
let clock: FakeClock;
const journals: MempoolJournal[] = [];

const journalOver = async (
  nodes: readonly object[],
  sequences: readonly number[] = [],
): Promise<MempoolJournal> => {
  const pool = { usable: () => nodes as never, isSettled: () => true, onChange: () => () => true };
  const journal = new MempoolJournal({ network: "main", prefix: "eth" }, { pool, state, clock });
  journals.push(journal);
  await journal.start(sequences);
  return journal;
};

beforeEach(async () => {
  path = await mkdtemp(join(tmpdir(), "headgate-pending-"));
  state = new LmdbState({ path });
  clock = new FakeClock();
});
afterEach(async () => {
  await Promise.all(journals.splice(0).map((journal) => journal.close()));
  await state.close();
  await rm(path, { recursive: true });
});

describe("the journal of pending transactions", () => {
  it("merges what nodes announce: each hash once, in the order first seen", async () => {
    const [a, b] = [new PushingNode("a"), new PushingNode("b")];
    const journal = await journalOver([a, b]);
    const since = await journal.begin(never);
    for (const number of [1, 2, 3]) a.listener?.onHash(hash(number));
    for (const number of [2, 4, 1]) b.listener?.onHash(hash(number));
    const changes = await journal.since(since, ALL);
    expect(changes?.items).toEqual(asJson(1, 2, 3, 4));
    expect((await journal.since(changes?.at.sequence ?? 0, ALL))?.items).toEqual([]);
    const part = await journal.since(since, 3);
    expect(part?.items).toEqual(asJson(1, 2, 3));
    expect((await journal.since(part?.at.sequence ?? 0, 3))?.items).toEqual(asJson(4));
  });

  it("listens again when a socket was lost", async () => {
    const node = new PushingNode("a");
    const journal = await journalOver([node]);
    const since = await journal.begin(never);
    const first = node.listener;
    first?.onEnd();
    await turn();
    await clock.advance(1_000);
    expect(node.listener).not.toBe(first);
    node.listener?.onHash(hash(1));
    expect((await journal.since(since, ALL))?.items).toEqual(asJson(1));
  });

  it("polls a filter of a node that announces nothing, and makes it again when it was forgotten", async () => {
    const node = new PolledNode();
    const journal = await journalOver([node]);
    const since = await journal.begin(never);
    node.waiting.push(hash(1));
    await clock.advance(500);
    expect((await journal.since(since, ALL))?.items).toEqual(asJson(1));
    node.isKnown = false;
    await clock.advance(500);
    expect(node.filters).toBe(2);
    node.waiting.push(hash(2));
    await clock.advance(500);
    expect((await journal.since(since, ALL))?.items).toEqual(asJson(1, 2));
  });

  it("does not tell a new filter what a polled node knew before", async () => {
    const node = new PolledNode();
    const journal = await journalOver([node]);
    const first = await journal.begin(never);
    node.waiting.push(hash(1));
    const second = await journal.begin(never);
    expect((await journal.since(first, ALL))?.items).toEqual(asJson(1));
    expect((await journal.since(second, ALL))?.items).toEqual([]);
  });

  it("says so when no node tells of any", async () => {
    const journal = await journalOver([mute]);
    await expect(journal.begin(never)).rejects.toMatchObject({ code: -32601 });
  });

  it("is unavailable while there is no node", async () => {
    const journal = await journalOver([]);
    const begun = expect(journal.begin(never)).rejects.toMatchObject({ status: 503 });
    await turn();
    await clock.advance(3_000);
    await begun;
  });

  it("is there again after a restart, with its numbers, and listens if somebody has a filter", async () => {
    const node = new PushingNode("a");
    const journal = await journalOver([node]);
    const since = await journal.begin(never);
    for (const number of [1, 2]) node.listener?.onHash(hash(number));
    await journal.close();
    const other = new PushingNode("a");
    const again = await journalOver([other], [since + 1]);
    for (const number of [2, 3]) other.listener?.onHash(hash(number));
    expect((await again.since(since + 1, ALL))?.items).toEqual(asJson(2, 3));
  });

  it("does not give numbers again that were told and not written any more", async () => {
    const journal = await journalOver([new PushingNode("a")], [10]);
    expect(await journal.begin(never)).toBe(10);
    expect(await journal.since(9, ALL)).toBeUndefined();
  });

  it("is bounded, on disk too: who fell behind has lost it", async () => {
    const node = new PushingNode("a");
    const journal = await journalOver([node]);
    const since = await journal.begin(never);
    for (let number = 0; number < 40_000; number += 1) node.listener?.onHash(hash(number));
    expect(await journal.since(since, ALL)).toBeUndefined();
    const changes = await journal.since(since + 20_000, ALL);
    expect(changes?.items).toHaveLength(20_000);
    expect(changes?.at.sequence).toBe(since + 40_000);
    await journal.close();
    expect((await state.list("pending main ")).length).toBeLessThan(37_000);
    const again = await journalOver([new PushingNode("a")], [since + 39_999]);
    expect((await again.since(since + 39_999, ALL))?.items).toEqual(asJson(39_999));
  });

  it("stops listening when nobody has asked for long", async () => {
    const node = new PushingNode("a");
    const journal = await journalOver([node]);
    await journal.begin(never);
    await clock.advance(360_000);
    expect(clock.waiting).toBe(0);
    const first = node.listener;
    await journal.begin(never);
    expect(node.listener).not.toBe(first);
  });
});
