// The thread that takes blocks and writes the store fails in whatever way: callers are answered from the store
// meanwhile, another thread takes its place, and the chain goes on.
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

let path: string;
let model: GeneratedChain;
let thread: WriterThread;
let followed: FollowedChain;
const ended: string[] = [];
const faults = new BroadcastChannel("faults of the thread that writes");
faults.unref();

beforeEach(async () => {
  path = await mkdtemp(join(tmpdir(), "headgate-thread-"));
  model = new GeneratedChain({ seed: 5, transactions: [20, 40], logs: [40, 80] });
  model.extend(40);
  ended.splice(0);
  thread = new WriterThread(
    { program: join(import.meta.dirname, "../support/failing-thread.ts"), heapMib: 64 },
    {
      onEnd: (why) => void ended.push(why),
      silenceMs: () => HANGS_AFTER_MS,
      clock: systemClock,
      log: pino({ level: "silent" }),
    },
  );
  thread.start();
  followed = await followChain(model, { path, windowBlocks: WINDOW, thread });
});
afterEach(async () => {
  await followed.chain.close();
  await thread.close();
  await rm(path, { recursive: true, force: true });
});

/** What callers are shown, whoever writes. */
const shown = () => {
  const view = followed.chain.views.view();
  return view && { head: view.head.hash, block: view.blockAt(view.head.number)?.hash };
};

describe("a thread that writes", () => {
  it.each([
    { fault: "end", why: "ended" },
    { fault: "throw", why: "ended" },
    { fault: "fill", why: "ended or hung" }, // a full heap is slow
    { fault: "hang", why: "hung" },
  ])(
    "is replaced when it fails ($fault), and callers are answered meanwhile",
    async ({ fault, why }) => {
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

  it("may end at any moment of a write: the store is at a head that it had", async () => {
    await followed.settled();
    const random = new Random(9);
    const times = atDepth(6, 12); // the pauses between them become longer
    for (let time = 1; time <= times; time += 1) {
      if (time % 3 === 0) model.reorganise(2, 3);
      else model.extend(1 + random.below(4));
      followed.chain.hurry();
      await pause(random.below(25));
      const before = ended.length;
      await until("it is replaced", async () => {
        faults.postMessage("end"); // again: a thread that has just begun does not listen yet
        return ended.length > before;
      });
      const { head } = await followed.settled();
      expect(head.hash).toBe(model.head.hash);
    }
  }, 120_000);
});

it("shows what follows a reorganisation, deep ones too", async () => {
  await followed.settled();
  for (const depth of [1, 5, 20]) {
    model.reorganise(depth, depth + 1);
    const view = await followed.settled();
    for (let number = view.tail; number <= view.head.number; number += 1)
      expect(view.blockAt(number)?.hash).toBe(model.block(number)?.hash);
  }
});
