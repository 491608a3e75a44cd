import { expect, it } from "vitest";
import { FakeClock } from "../../test/support/fake-clock.ts";
import type { Position } from "../chain/stored-block.ts";
import type { RawJson } from "../jsonrpc/raw-json.ts";
import { type Cursor, decodeFilter } from "./filter-record.ts";
import { ChangesCache, PushStream } from "./push-stream.ts";
import type { WriteOutcome } from "./pushed-record.ts";
import { type PushChannel, Subscription } from "./subscription.ts";

const turn = (): Promise<void> => new Promise(setImmediate);

/** A subscription to block numbers, with a channel and a record that the test controls. */
function pushing() {
  let head = 10;
  let found = 0;
  let taking: Promise<void> | undefined;
  const held = { now: 0, most: 0 };
  const clock = new FakeClock();
  const ending = new AbortController();
  const pushed: string[] = [];
  const written: { readonly counts: readonly number[]; settle(noted: WriteOutcome): void }[] = [];
  const closed: string[] = [];
  let more: (() => void)[] = [];
  const channel = {
    ...{ holder: "web", signal: ending.signal, subscriptions: 0, arrived: 0 },
    get pushed() {
      return pushed.length;
    },
    push: async (make: () => readonly RawJson[]) => {
      const [, item = ""] = make();
      pushed.push(String(item));
      return true;
    },
    ready: async () => {
      await taking;
      return true;
    },
    hold: (bytes: number) => {
      held.now += bytes;
      held.most = Math.max(held.most, held.now);
    },
    confirm: () => undefined,
    moreArrived: () => new Promise<void>((resolve) => more.push(resolve)),
    allows: () => true,
    close: (why: string) => closed.push(why),
  };
  const at = (number: number): Position => ({ number, hash: `0x${number}` });
  const finder = {
    find: async (cursor: Cursor) => {
      found += 1;
      const items = Array.from({ length: head - (cursor as Position).number }, (_, index) =>
        String((cursor as Position).number + 1 + index),
      );
      return { items, at: at(head) };
    },
    retrace: () => Promise.reject(new Error("nothing was told in part")),
  };
  const network = new AbortController();
  const stream = new PushStream(
    { kind: "heads" },
    {
      ...{ finder, clock, signal: network.signal, cache: new ChangesCache({ bytes: 1e6 }) },
      head: () => at(head),
      onUnsettled: () => undefined,
    },
  );
  const records = {
    write: ({ text }: { readonly text: string }) =>
      new Promise<WriteOutcome>((resolve) => {
        written.push({ counts: decodeFilter(text).counts ?? [], settle: resolve });
      }),
  };
  const options = { id: "0x1", prefix: "eth", key: "filter main 0x1", text: "", by: "me" } as const;
  const resumePosition = { steps: [{ count: 0, at: at(10) }], missing: 0 };
  const noNews = (): void => undefined;
  const subscription = new Subscription(
    { ...options, resumePosition },
    {
      ...{ channel: channel as unknown as PushChannel, stream, finder, records, clock },
      ...{ onEnd: noNews, onLost: noNews },
    },
  );
  const grow = async (): Promise<void> => {
    head += 1;
    stream.touch(at(head - 1));
    await turn();
  };
  const arrive = async (): Promise<void> => {
    channel.arrived = pushed.length;
    for (const resolve of more.splice(0)) resolve();
    more = [];
    await turn();
  };
  /** Settles the writes under way with this outcome. */
  const settle = async (noted: WriteOutcome = "written"): Promise<void> => {
    for (const each of written.splice(0)) each.settle(noted);
    await turn();
  };
  /** Makes the caller take nothing. @returns A function that makes it take all. */
  const stop = (): (() => Promise<void>) => {
    const { promise, resolve } = Promise.withResolvers<void>();
    taking = promise;
    return async () => {
      resolve();
      await turn();
    };
  };
  const looks = (): number => found;
  return { subscription, pushed, written, closed, grow, settle, arrive, stop, looks, held };
}

it("notes changes before it tells them", async () => {
  const { pushed, written, grow, settle } = pushing();
  await turn();
  await grow();
  expect(written.map(({ counts }) => counts)).toEqual([[0, 1]]);
  expect(pushed).toEqual([]);
  await settle();
  expect(pushed).toEqual(["11"]);
});

it("takes back nothing that it noted when it notes something else meanwhile", async () => {
  const { subscription, pushed, written, grow, settle } = pushing();
  await turn();
  await grow();
  void subscription.note();
  expect(written.map(({ counts }) => counts)).toEqual([
    [0, 1],
    [0, 1],
  ]);
  await settle();
  expect(pushed).toEqual(["11"]);
});

it.each([
  ["taken over", ["taken"]],
  ["gone", ["behind"]],
] as const)("tells nothing more when its record is %s", async (noted, want) => {
  const { pushed, closed, grow, settle } = pushing();
  await turn();
  await grow();
  await settle(noted);
  await grow();
  await settle();
  expect(pushed).toEqual([]);
  expect(closed).toEqual(want);
});

it("waits while much is on the way, and remembers what did not arrive and a little more", async () => {
  const { pushed, written, grow, settle, arrive } = pushing();
  await turn();
  for (let block = 0; block < 70; block += 1) {
    await grow();
    await settle();
  }
  expect(pushed).toHaveLength(64);
  await arrive();
  expect(written[0]?.counts.slice(0, 2)).toEqual([57, 58]);
  await settle();
  await settle();
  expect(pushed.map(Number)).toEqual(Array.from({ length: 70 }, (_, index) => 11 + index));
});

it("waits at its cursor while the caller takes nothing, and holds nothing meanwhile", async () => {
  const { pushed, written, looks, held, grow, settle, stop } = pushing();
  await turn();
  const before = looks();
  const takeAll = stop();
  for (let block = 0; block < 3; block += 1) await grow();
  expect([looks(), written.length, held.most]).toEqual([before, 0, 0]);
  await takeAll();
  await settle();
  expect(pushed).toEqual(["11", "12", "13"]);
  expect(held).toEqual({ now: 0, most: 6 });
});
