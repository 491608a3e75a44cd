import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { FakeClock } from "../../test/support/fake-clock.ts";
import type { BlockRecord } from "./block-record.ts";
import { BlockStore } from "./block-store.ts";
import { type ChainNews, ChainReader } from "./chain-reader.ts";
import type { ChainWriter } from "./chain-view.ts";
import type { Staleness } from "./freshness.ts";

const hashOf = (number: number): string => `0x${number.toString(16).padStart(64, "0")}`;
const record = (number: number): BlockRecord => ({
  hash: hashOf(number),
  outline: {
    ...{ number, parentHash: hashOf(number - 1), timestamp: number, proof: "none" },
    ...{ transactions: 0, transactionBytes: 0, receiptBytes: 0, uncles: 0, hasUncles: false },
    ...{ hasReceipts: true, blockProof: "none" },
    ...{ transactionPieces: new Uint32Array(0), receiptPieces: new Uint32Array(0) },
  },
  block: Buffer.from("{}"),
  ...{
    transactionPieces: [],
    receiptPieces: [],
    transactionHashes: Buffer.alloc(0),
    logs: Buffer.alloc(0),
  },
  uncles: undefined,
});
const live: ChainNews = { isLive: true, leader: "a", nodeHeads: [] };
const signal = new AbortController().signal;

const away = async (): Promise<never> => {
  throw new Error("away");
};
const AWAY: ChainWriter = {
  ...{ look: away, fetch: away, tagged: away, keepTrace: away, keepSegment: away },
  distrust: () => undefined,
  hurry: () => undefined,
};

let path: string;
let kept: BlockStore;
let reader: ChainReader;
let clock: FakeClock;
/** The positions that the reader set on nodes. */
let stood: unknown[];
/** The news of the head that the freshness got. */
let heard: unknown[];

const read = (writer: Partial<ChainWriter> = {}): void => {
  const node = {
    name: "a",
    noteHead: (head: unknown, isOnOtherBranch: boolean) => void stood.push([head, isOnOtherBranch]),
  };
  const pool = { usable: () => [node], bestForBlocks: () => [], nodes: [node] };
  const dialect = { readPosition: async () => ({ number: 3, hash: hashOf(3) }) };
  reader = new ChainReader({ path, chainId: 1 }, {
    ...{ pool, dialect, clock },
    freshness: { hear: (news: unknown) => void heard.push(news), staleness: undefined },
    writer: { ...AWAY, ...writer },
  } as never);
};

beforeEach(async () => {
  path = await mkdtemp(join(tmpdir(), "headgate-reader-"));
  clock = new FakeClock();
  stood = [];
  heard = [];
  kept = new BlockStore({ path, windowBlocks: 100, bytes: 2 ** 30 });
  await kept.startAt(record(5));
});
afterEach(async () => {
  await reader.close();
  await kept.close();
  await rm(path, { recursive: true });
});

describe("a chain that another process keeps", () => {
  it("is shown once the writer is live, and from then on whatever the writer does", () => {
    read();
    expect(reader.views.view()).toBeUndefined();
    reader.hear({ ...live, isLive: false });
    expect(reader.views.view()).toBeUndefined();
    reader.hear(live);
    expect(reader.views.view()?.head.number).toBe(5);
    reader.hear({ ...live, isLive: false, leader: undefined }); // another writer begins
    expect(reader.views.view()?.head.number).toBe(5);
  });

  it("has the head of the store, also when nobody told of it", async () => {
    read();
    reader.hear(live);
    expect(reader.views.view()?.head.number).toBe(5);
    await kept.apply({ removed: 0, added: [record(6)] });
    expect(reader.views.view()?.head).toEqual({ number: 6, hash: hashOf(6) });
  });

  it("waits for the writer to look for a newer block", async () => {
    const look = async (): Promise<void> => {
      await kept.apply({ removed: 0, added: [record(6)] });
    };
    read({ look });
    reader.hear(live);
    expect((await reader.views.view()?.reach(6, signal))?.head.number).toBe(6);
    expect(clock.waiting).toBe(0);
  });

  it("does not wait for a writer that is away", async () => {
    read();
    reader.hear(live);
    expect((await reader.views.view()?.reach(6, signal))?.head.number).toBe(5);
    expect(await reader.views.view()?.fetch({ number: 1 })).toBe("unanswered");
    expect(clock.waiting).toBe(0);
  });

  it("has the writer fetch what is not in the store, and reads it there", async () => {
    const fetch = async () => {
      await kept.keep(record(2), true);
      return { hash: hashOf(2) };
    };
    read({ fetch });
    reader.hear(live);
    expect(await reader.views.view()?.fetch({ number: 2 })).toMatchObject({ hash: hashOf(2) });
  });

  it("asks the writer what is final once a head, and a node when the writer is away", async () => {
    let times = 0;
    read({
      tagged: async () => {
        times += 1;
        return { number: 4, hash: hashOf(4) };
      },
    });
    reader.hear(live);
    await reader.views.view()?.tagged("finalized");
    expect(await reader.views.view()?.tagged("finalized")).toMatchObject({ number: 4 });
    expect(times).toBe(1);
    await reader.close();
    read();
    reader.hear(live);
    expect(await reader.views.view()?.tagged("finalized")).toMatchObject({ number: 3 });
  });

  it("passes on how fresh the head is", () => {
    read();
    reader.hear(live);
    reader.hear({ ...live, head: { number: 5 } as never });
    expect(heard).toEqual([{ number: 5 }]);
  });

  it("passes on where nodes stand", () => {
    read();
    const head = { number: 7, hash: undefined };
    reader.hear({ ...live, nodeHeads: [{ node: "a", head, isOnOtherBranch: true }] });
    expect(stood).toEqual([[head, true]]);
  });
});

describe("a start without nodes", () => {
  const DAY = 86_400;
  let nodeHead: { number: number } | undefined;
  let isSettled: boolean;
  let staleness: Staleness | undefined;
  const chainId = 1;

  const started = (options: { chainId?: number; finalAfter?: number } = {}): void => {
    const node = { name: "a", head: undefined as unknown };
    const pool = {
      usable: () => (nodeHead ? [{ ...node, head: nodeHead }] : []),
      ...{ bestForBlocks: () => [], nodes: [], isSettled: () => isSettled },
    };
    reader = new ChainReader({ path, chainId, ...options }, {
      ...{ pool, clock, dialect: {}, writer: AWAY },
      freshness: {
        hear: () => undefined,
        get staleness() {
          return staleness;
        },
      },
    } as never);
  };
  const late = (number: number): BlockRecord => {
    const { outline, ...rest } = record(number);
    return { ...rest, outline: { ...outline, timestamp: 8 * DAY + number } };
  };

  beforeEach(async () => {
    nodeHead = undefined;
    isSettled = true;
    staleness = undefined;
    await kept.prepareFor(chainId);
    await kept.startAt(record(5));
    await kept.apply({ removed: 0, added: [record(6), late(7), late(8), late(9)] });
  });

  it("shows the stored chain as stale, until a node tells a head", () => {
    started();
    expect(reader.views.view()).toBeUndefined();
    expect(reader.views.outageView()).toMatchObject({ head: { number: 9 }, isBehind: true });
    nodeHead = { number: 9 };
    expect(reader.views.outageView()).toBeUndefined();
    expect(reader.views.silence).toBeUndefined();
  });

  it("waits a second for nodes that may still answer", async () => {
    isSettled = false;
    started();
    expect(reader.views.outageView()).toBeUndefined();
    await clock.advance(1_000);
    expect(reader.views.outageView()?.head.number).toBe(9);
    expect(reader.views.silence).toEqual({ ms: 1_000, head: { number: 9, hash: hashOf(9) } });
  });

  it("shows no store of another chain", () => {
    started({ chainId: 2 });
    expect(reader.views.outageView()).toBeUndefined();
  });

  it.each([
    { what: "the chain's entry says after how many", finalAfter: 2, note: undefined, highest: 7 },
    { what: "the nodes have said it", note: `8 ${hashOf(8)}`, highest: 8 },
    { what: "a week has passed by the time of blocks", note: undefined, highest: 6 },
    { what: "nodes named a block that is of another branch", note: `8 ${hashOf(7)}`, highest: 6 },
  ])("tells numbers of blocks that are final: $what", async ({ finalAfter, note, highest }) => {
    if (note !== undefined) await kept.setNote("finalized", note);
    started(finalAfter === undefined ? {} : { finalAfter });
    const view = reader.views.outageView();
    const told = [5, 6, 7, 8, 9].filter((number) => view?.tells(number));
    expect(told.at(-1)).toBe(highest);
  });

  it("once the head was confirmed, the numbers of all stored blocks are told", () => {
    started();
    reader.hear(live);
    expect(reader.views.view()?.tells(9)).toBe(true);
  });

  it("nodes that went silent later are told of as well, and those that confirm the head are not", () => {
    started();
    reader.hear(live);
    expect(reader.views.silence).toBeUndefined();
    staleness = { kind: "unconfirmed", ms: 7_000 };
    expect(reader.views.silence).toEqual({ ms: 7_000, head: { number: 9, hash: hashOf(9) } });
    staleness = { kind: "old", ms: 7_000 };
    expect(reader.views.silence).toBeUndefined();
  });
});
