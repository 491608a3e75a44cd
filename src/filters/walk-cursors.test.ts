import { describe, expect, it } from "vitest";
import { FakeClock } from "../../test/support/fake-clock.ts";
import type { ChainView } from "../chain/chain-view.ts";
import type { CursorPosition } from "./filter-record.ts";
import type { Formatter } from "./formatters.ts";
import { CursorLost, walk, withPath } from "./walk.ts";

/** A formatter with the item `+hash` for an added block, and `-hash` for a removed block. */
const formatter: Formatter = {
  dropped: ({ hash }) => [`-${hash}`],
  added: ({ hash }) => [`+${hash}`],
  addedWithin: async ({ from, to }, _most, view) => ({
    items: Array.from({ length: to - from + 1 }, (_, index) => `+${view.hashAt(from + index)}`),
    to,
  }),
};

/** The view of a gateway that, like its nodes, has one branch alone: blocks `0`, `1`, … and `5a`, `6a`, … */
function gatewayOn(branch: string, { fork = 5, head = 8 } = {}): ChainView {
  const hashAt = (number: number): string | undefined =>
    number < 0 || number > head ? undefined : `${number}${number < fork ? "" : branch}`;
  const blockAt = (number: number) => {
    const hash = hashAt(number);
    return hash && { number, hash, outline: { parentHash: hashAt(number - 1) ?? "" } };
  };
  return {
    head: blockAt(head),
    tail: 0,
    holds: true,
    hashAt,
    blockAt,
    droppedBlock: (hash: string) =>
      [...Array(head + 1).keys()].map(blockAt).find((each) => each && each.hash === hash),
    fetch: async () => "missing",
    hurry: () => undefined,
  } as unknown as ChainView;
}

/** A clock whose sleeps end at once. */
class HastyClock extends FakeClock {
  override async sleep(): Promise<void> {}
}

const walkOn = (view: ChainView, ...cursors: readonly CursorPosition[]) =>
  walk(
    cursors,
    { formatter, most: 100, isShared: true },
    { view: () => view, clock: new HastyClock(), within: (promise) => promise },
  );

const toldBy = (view: ChainView): CursorPosition => withPath(view.head, formatter, view);
/** The cursor after a round trip through the state. */
const kept = (at: CursorPosition): CursorPosition => JSON.parse(JSON.stringify(at));

describe("what another gateway told", () => {
  it("is taken back by one that never had it, newest first", async () => {
    const walked = await walkOn(gatewayOn("b", { head: 9 }), kept(toldBy(gatewayOn("a"))));
    const dropped = ["-8a", "-7a", "-6a", "-5a"];
    expect(walked?.items).toEqual([...dropped, "+5b", "+6b", "+7b", "+8b", "+9b"]);
  });

  it("is taken back once, where the client may be in one place or the other", async () => {
    const [one, other] = [gatewayOn("a", { head: 6 }), gatewayOn("a")].map(toldBy).map(kept);
    const walked = await walkOn(gatewayOn("b"), one as CursorPosition, other as CursorPosition);
    expect(walked?.items.filter((item) => String(item).startsWith("-"))).toEqual([
      ...["-8a", "-7a", "-6a", "-5a"],
    ]);
  });

  it("goes on with a third gateway", async () => {
    const second = await walkOn(gatewayOn("b"), kept(toldBy(gatewayOn("a"))));
    const third = await walkOn(gatewayOn("c", { fork: 7 }), kept(second?.at as CursorPosition));
    expect(third?.items).toEqual(["-8b", "-7b", "-6b", "-5b", "+5", "+6", "+7c", "+8c"]);
  });

  it("is lost when it is further from the chain than its path is long", async () => {
    const far = { fork: 1, head: 40 };
    const told = kept(toldBy(gatewayOn("a", far)));
    expect(told.path).toHaveLength(16);
    await expect(walkOn(gatewayOn("b", far), told)).rejects.toBeInstanceOf(CursorLost);
  });
});

describe("a path", () => {
  it("ends at the first block, and before it would be too long", () => {
    const view = gatewayOn("a", { head: 2 });
    expect(toldBy(view).path?.map(({ hash }) => hash)).toEqual(["2", "1", "0"]);
    const chatty: Formatter = { ...formatter, dropped: () => ["x".repeat(30_000)] };
    expect(withPath(view.head, chatty, view).path).toHaveLength(2);
  });

  it("is not of blocks that are not linked", () => {
    const view = gatewayOn("a");
    const moved = { ...view, blockAt: (number: number) => gatewayOn("b").blockAt(number) };
    expect(withPath(view.head, formatter, moved as ChainView).path).toEqual([]);
  });
});
