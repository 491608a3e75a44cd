// The writer thread fails in several ways: meanwhile the store answers callers, another thread takes its place, and the
// chain goes on.
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { BroadcastChannel } from "node:worker_threads";
import { pino } from "pino";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { WriterThread } from "../../src/chain/thread/writer-thread.ts";
import { systemClock } from "../../src/lib/clock.ts";
import { atDepth } from "../support/depth.ts";
import { type FollowedChain, followChain } from "../support/followed-chain.ts";
import { Random } from "../support/generated-chain/random.ts";
import { GeneratedChain } from "../support/generated-chain.ts";
import { until } from "../support/processes.ts";

const WINDOW = 24;
const HANGS_AFTER_MS = 1_000;
/** A thread that takes blocks ends after so long without work; in production after ten seconds. */
const IDLE_MS = 200;
/** `busyShare` 0: the writer thread always counts as busy, so that two threads take blocks; 1: never. */
const [TWO_TAKE, ONE_TAKES] = [0, 1];

let path: string;
let model: GeneratedChain;
let thread: WriterThread;
let followed: FollowedChain;
const ended: string[] = [];
const faults = new BroadcastChannel("faults of the thread that writes");
faults.unref();

const told: { msg: string; blocks: number | undefined }[] = [];
const log = pino({ level: "info" }, { write: (line) => void told.push(JSON.parse(line)) });

/** Begins to follow; a second thread takes blocks once the writer thread is busy for more than this share of the time. */
async function begin(busyShare: number, windowBlocks = WINDOW): Promise<void> {
  thread = new WriterThread(
    {
      program: join(import.meta.dirname, "../support/failing-thread.ts"),
      heapMib: 64,
      busyShare,
      spareCores: 0,
    },
    {
      onEnd: (why) => void ended.push(why),
      silenceMs: () => HANGS_AFTER_MS,
      clock: {
        now: systemClock.now,
        after: (ms, task) => systemClock.after(ms === 10_000 ? IDLE_MS : ms, task),
      },
      log,
    },
  );
  thread.start();
  followed = await followChain(model, { path, windowBlocks, thread });
}

beforeEach(async () => {
  path = await mkdtemp(join(tmpdir(), "headgate-thread-"));
  model = new GeneratedChain({ seed: 5, transactions: [20, 40], logs: [40, 80] });
  model.extend(40);
  ended.splice(0);
  told.splice(0);
});
const close = async (): Promise<void> => {
  await followed.chain.close();
  await thread.close();
};

afterEach(async () => {
  await close();
  await rm(path, { recursive: true, force: true });
});

/** The head and its block as callers see them. */
const shown = () => {
  const view = followed.chain.views.view();
  return view && { head: view.head.hash, block: view.blockAt(view.head.number)?.hash };
};

describe("a thread that writes", () => {
  it.each([
    { fault: "end", why: "ended", busyShare: TWO_TAKE },
    { fault: "throw", why: "ended", busyShare: ONE_TAKES },
    { fault: "fill", why: "ended or hung", busyShare: ONE_TAKES }, // a full heap slows the thread down
    { fault: "hang", why: "hung", busyShare: TWO_TAKE },
  ])(
    "is replaced when it fails ($fault), and callers are answered meanwhile",
    async ({ fault, why, busyShare }) => {
      await begin(busyShare);
      const before = (await followed.settled()).head.hash;
      faults.postMessage(fault);
      let answers = 0;
      await until("it is no more", async () => {
        expect(shown()).toEqual({ head: before, block: before });
        answers += 1;
        return ended.length > 0;
      });
      expect(answers).toBeGreaterThan(0);
      expect(ended).toHaveLength(1);
      expect(why).toContain(ended[0]);
      model.extend(3);
      const view = await followed.settled();
      expect(view.blockAt(view.tail)?.hash).toBe(model.block(view.tail)?.hash);
    },
  );

  it.each([
    { takers: "one", busyShare: ONE_TAKES },
    { takers: "two", busyShare: TWO_TAKE },
  ])(
    "may end at any moment of a write ($takers): the store is at a head that it had",
    async ({ busyShare }) => {
      await begin(busyShare);
      await followed.settled();
      const random = new Random(9);
      const times = atDepth(6, 12); // the pauses before each new thread grow
      for (let time = 1; time <= times; time += 1) {
        if (time % 3 === 0) model.reorganise(2, 3);
        else model.extend(1 + random.below(4));
        followed.chain.hurry();
        await pause(random.below(25));
        const before = ended.length;
        await until("it is replaced", async () => {
          faults.postMessage("end"); // repeated: a thread that has just begun does not listen yet
          return ended.length > before;
        });
        const { head } = await followed.settled();
        expect(head.hash).toBe(model.head.hash);
      }
    },
    120_000,
  );
});

it.each([ONE_TAKES, TWO_TAKE])(
  "shows what follows a reorganisation, deep ones too",
  async (busyShare) => {
    await begin(busyShare);
    await followed.settled();
    for (const depth of [1, 5, 20]) {
      model.reorganise(depth, depth + 1);
      const view = await followed.settled();
      for (let number = view.tail; number <= view.head.number; number += 1)
        expect(view.blockAt(number)?.hash).toBe(model.block(number)?.hash);
    }
  },
);

it("has a window filled by two threads, block by block as the node gave it, and by one when it is full", async () => {
  const blocks = 2_000;
  model.extend(blocks);
  await begin(TWO_TAKE, blocks);
  const again = "the writer thread prepares all blocks again";
  const isFull = (): boolean =>
    followed.chain.views.view()?.tail === model.head.number - blocks + 1;
  await until("the window is full", async () => isFull());
  const view = await followed.settled();
  for (let number = view.tail; number <= view.head.number; number += 1) {
    const { blockJson, receiptsJson } = model.block(number) ?? {};
    expect(String(view.blockAt(number)?.withTransactions())).toBe(blockJson);
    expect(String(view.blockAt(number)?.receipts())).toBe(receiptsJson);
  }
  await until("the other thread has ended", async () => told.some(({ msg }) => msg === again));
  const taken = told.filter(({ msg }) => msg === again).map(({ blocks: count }) => count ?? 0);
  expect(Math.max(...taken)).toBeGreaterThan(0);
  expect(ended).toEqual([]);
});

it("ends in order while the other thread begins", async () => {
  model.extend(400);
  const two = "a second thread prepares blocks, since the writer thread is busy";
  for (let time = 0; time < atDepth(4, 16); time += 1) {
    if (time > 0) await close();
    told.splice(0);
    await rm(path, { recursive: true, force: true });
    await begin(TWO_TAKE, 400);
    await until("the other thread begins", async () => told.some(({ msg }) => msg === two));
    await pause(time * 25);
    expect(told.filter(({ msg }) => / failed$| hung/.test(msg))).toEqual([]);
  }
});
