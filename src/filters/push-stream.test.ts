import { describe, expect, it } from "vitest";
import { FakeClock } from "../../test/support/fake-clock.ts";
import type { Position } from "../chain/stored-block.ts";
import type { Cursor } from "./filter-record.ts";
import { ChangesCache, PushStream, StreamPosition } from "./push-stream.ts";

const block = (number: number): Position => ({ number, hash: `0x${number}` });

/** A chain whose head the test moves, and a stream whose items are the numbers of the blocks from `from` on. */
function streamOver(options: { bytes?: number; from?: number; path?: [] } = {}) {
  const { bytes = 10_000, from = 0, path } = options;
  const chain = { head: block(10), heard: block(10) };
  const searches: number[] = [];
  const unsettled: PushStream[] = [];
  const stream = new PushStream(
    { kind: "heads" },
    {
      finder: {
        find: async (at: Cursor) => {
          const { number } = at as Position;
          searches.push(number);
          const items = Array.from({ length: chain.head.number - number }, (_, index) =>
            String(number + 1 + index),
          ).filter((item) => Number(item) >= from);
          return { items, at: { ...chain.head, ...(path && { path }) } };
        },
      },
      cache: new ChangesCache({ bytes }),
      clock: new FakeClock(),
      signal: new AbortController().signal,
      head: () => chain.heard,
      onUnsettled: (each) => unsettled.push(each),
    },
  );
  /** Adds blocks to the chain, and touches the stream if the blocks concern it. */
  const grow = (blocks: number, isConcerned = true): void => {
    const before = chain.heard;
    chain.head = block(chain.head.number + blocks);
    chain.heard = chain.head;
    if (isConcerned) stream.touch(before);
  };
  return { stream, chain, searches, unsettled, grow };
}

describe("a stream", () => {
  it("finds changes once for all that stand together, and tells those that come later the same", async () => {
    const { stream, searches, grow } = streamOver();
    const position = new StreamPosition(block(10));
    await Promise.all([stream.findChanges(position), stream.findChanges(position)]);
    expect(stream.isAtRest(position)).toBe(true);
    grow(1);
    expect(stream.isAtRest(position)).toBe(false);
    await Promise.all([stream.findChanges(position), stream.findChanges(position)]);
    const first = position.next;
    expect(first).toMatchObject({ items: ["11"], count: 1 });
    expect(searches).toEqual([10, 10]);
    grow(1);
    if (first) await stream.findChanges(first.to);
    expect(position.next).toBe(first);
    expect(first?.to.next).toMatchObject({ items: ["12"] });
  });

  it("brings those together that come to stand at one block", async () => {
    const { stream, grow } = streamOver();
    const [one, other] = [new StreamPosition(block(10)), new StreamPosition(block(9))];
    await stream.findChanges(one);
    await stream.findChanges(other);
    expect(other.next).toMatchObject({ items: ["10"], to: one });
    grow(2);
    await stream.findChanges(one);
    const late = new StreamPosition(block(11));
    await stream.findChanges(late);
    expect(late.next?.to).toBe(one.next?.to);
  });

  it("does not search again over blocks that did not concern it", async () => {
    const { stream, searches, grow } = streamOver({ from: 100 });
    const position = new StreamPosition(block(10));
    await stream.findChanges(position);
    grow(5, false);
    expect(stream.isAtRest(position)).toBe(true);
    expect(stream.cursorOf(position)).toEqual(block(15));
    grow(1, false);
    grow(1);
    await stream.findChanges(position);
    expect(searches).toEqual([10, 16]);
  });

  it("stays where the path is known until changes are sought", async () => {
    const { stream, grow } = streamOver({ from: 100, path: [] });
    const position = new StreamPosition(block(10));
    await stream.findChanges(position);
    grow(5, false);
    expect(stream.cursorOf(position)).toEqual({ ...block(10), path: [] });
    stream.touch(undefined);
    await stream.findChanges(position);
    expect(stream.cursorOf(position)).toEqual({ ...block(15), path: [] });
  });

  it("searches from where it was when the chain did more than grow", async () => {
    const { stream, searches, chain } = streamOver({ from: 100 });
    const position = new StreamPosition(block(10));
    await stream.findChanges(position);
    chain.head = block(12);
    chain.heard = chain.head;
    stream.touch(undefined);
    await stream.findChanges(position);
    expect(searches).toEqual([10, 10]);
  });

  it("is searched again when changes went beyond what was heard of", async () => {
    const { stream, chain, unsettled, searches, grow } = streamOver({ from: 100 });
    const position = new StreamPosition(block(10));
    chain.head = block(12); // the stream hears of this update later
    await stream.findChanges(position);
    expect(unsettled).toEqual([stream]);
    chain.heard = block(12);
    stream.touch(block(10));
    await stream.findChanges(position);
    expect(searches).toEqual([10, 12]);
    grow(1);
    await stream.findChanges(position);
    expect(searches).toEqual([10, 12, 12]);
  });

  it("is due when it was touched while it searched", async () => {
    const { stream, grow } = streamOver();
    const position = new StreamPosition(block(9));
    const finding = stream.findChanges(position);
    grow(1);
    await finding;
    const to = position.next?.to;
    expect(to && stream.isAtRest(to)).toBe(false);
  });

  it("forgets the oldest changes when there is no room: the slow find their own", async () => {
    const { stream, grow } = streamOver({ bytes: 700 });
    const slow = new StreamPosition(block(9));
    await stream.findChanges(slow);
    let fast = slow.next?.to as StreamPosition;
    for (let number = 0; number < 3; number += 1) {
      grow(1);
      await stream.findChanges(fast);
      fast = fast.next?.to as StreamPosition;
    }
    expect(slow.next).toBeUndefined();
    expect(stream.isAtRest(slow)).toBe(false);
    await stream.findChanges(slow);
    expect(slow.next).toMatchObject({ items: ["10", "11", "12", "13"], to: fast });
  });
});
