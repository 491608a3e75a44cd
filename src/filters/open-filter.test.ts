import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { until } from "../../test/support/processes.ts";
import { errors } from "../jsonrpc/rpc-error.ts";
import { systemClock } from "../lib/clock.ts";
import { LmdbState } from "../state/lmdb-state.ts";
import { encodeFilter } from "./filter-record.ts";
import { type Changes, type Delivery, type FindChanges, OpenFilter } from "./open-filter.ts";

const KEY = "filter main 0x1";
const at = (number: number) => ({ number, hash: `0x${number}` });
const nothing: FindChanges = async ([cursor = at(0)]) => ({ items: [], at: cursor });
/** Finds changes whose items are the numbers after the client's cursor, up to `last`. */
const upTo =
  (last: number): FindChanges =>
  async ([cursor]) => {
    const { number } = cursor as { number: number };
    const items = Array.from({ length: last - number }, (_, index) => String(number + 1 + index));
    return { items, at: at(last) };
  };

/** An answer that is sent when the test says so. */
class Answer implements Delivery {
  #tasks: ((wasSent: boolean) => void)[] = [];
  readonly controller = new AbortController();

  onSent(task: (wasSent: boolean) => void): void {
    this.#tasks.push(task);
  }

  end(wasSent: boolean): void {
    for (const task of this.#tasks.splice(0)) task(wasSent);
  }

  get caller() {
    return { delivery: this, signal: this.controller.signal };
  }
}

let path: string;
let state: LmdbState;
let filter: OpenFilter;
const clock = systemClock;

beforeEach(async () => {
  path = await mkdtemp(join(tmpdir(), "headgate-open-filter-"));
  state = new LmdbState({ path });
  const text = encodeFilter({
    kind: "blocks",
    holder: "a",
    usedAtMs: 0,
    acknowledged: at(0),
    unacknowledged: [],
  });
  await state.update([KEY], () => [text]);
  filter = new OpenFilter({ key: KEY, text, usedAtMs: 0, isShared: false }, { state, clock });
});
afterEach(async () => {
  await filter.close();
  await state.close();
  await rm(path, { recursive: true });
});

const itemsOf = async (polled: Promise<Changes | undefined>) => (await polled)?.items;
/** The items of a poll whose answer arrives. */
const heard = async (findChanges: FindChanges) => {
  const answer = new Answer();
  const items = await itemsOf(filter.poll(findChanges, answer.caller, 0));
  answer.end(true);
  return items;
};

describe("a poll", () => {
  it("tells again what was not sent, and goes on behind what was", async () => {
    const lost = new Answer();
    expect(await itemsOf(filter.poll(upTo(2), lost.caller, 0))).toEqual(["1", "2"]);
    lost.end(false);
    expect(await heard(upTo(3))).toEqual(["1", "2", "3"]);
    expect(await heard(upTo(4))).toEqual(["4"]);
  });

  it("goes on within one answer, and is lost with it as a whole", async () => {
    const batch = new Answer();
    expect(await itemsOf(filter.poll(upTo(1), batch.caller, 0))).toEqual(["1"]);
    expect(await itemsOf(filter.poll(upTo(3), batch.caller, 0))).toEqual(["2", "3"]);
    batch.end(false);
    expect(await heard(upTo(3))).toEqual(["1", "2", "3"]);
  });

  it("waits for the answer of the one before, as long as its caller does", async () => {
    const first = new Answer();
    await filter.poll(upTo(1), first.caller, 0);
    const second = new Answer();
    const waiting = expect(filter.poll(upTo(2), second.caller, 0)).rejects.toMatchObject({
      status: 504,
    });
    second.controller.abort();
    await waiting;
    first.end(true);
    expect(await heard(upTo(2))).toEqual(["2"]);
  });

  it("whose caller gave up in line tells nobody: that caller hears of an error", async () => {
    let release: () => void = () => undefined;
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    const slow: FindChanges = (cursors) => held.then(() => nothing(cursors));
    const first = filter.poll(slow, new Answer().caller, 0);
    const second = new Answer();
    const inLine = expect(filter.poll(upTo(2), second.caller, 0)).rejects.toMatchObject({
      status: 504,
    });
    second.controller.abort();
    await inLine;
    release();
    expect(await itemsOf(first)).toEqual([]);
    await filter.close();
    second.end(true); // the error was sent
    expect(await heard(upTo(2))).toEqual(["1", "2"]);
  });

  it("starts from all cursors at which a client may be after a crash, and settles when nothing is new", async () => {
    await filter.poll(upTo(2), new Answer().caller, 0);
    const text = (await state.get(KEY)) ?? "";
    filter = new OpenFilter({ key: KEY, text, usedAtMs: 0, isShared: false }, { state, clock });
    const seen: unknown[] = [];
    const findChanges: FindChanges = async (cursors) => {
      seen.push(cursors);
      return { items: [], at: at(2) };
    };
    await filter.poll(findChanges, new Answer().caller, 0);
    await filter.poll(findChanges, new Answer().caller, 0);
    expect(seen).toEqual([[at(0), at(2)], [at(2)]]);
  });

  it("is told of a filter that is gone", async () => {
    await state.update([KEY], () => [undefined]);
    expect(await filter.poll(upTo(1), new Answer().caller, 0)).toBeUndefined();
  });
});

describe("while the state is away", () => {
  /** The fates of the next updates, whose answers are lost; after these updates the state is back. */
  let fates: ("applied" | "never")[];

  beforeEach(async () => {
    fates = [];
    const text = (await state.get(KEY)) ?? "";
    const failing: Pick<LmdbState, "get" | "update"> = {
      get: (key) => state.get(key),
      update: async (...update) => {
        const fate = fates.shift();
        if (fate !== "never") {
          const updated = await state.update(...update);
          if (fate === undefined) return updated;
        }
        throw errors.stateUnavailable();
      },
    };
    filter = new OpenFilter(
      { key: KEY, text, usedAtMs: 0, isShared: false },
      { state: failing, clock },
    );
  });
  /** The cursors at which the client may be, as `FindChanges` gets them. */
  const cursorsOfClient = async (): Promise<readonly unknown[]> => {
    let seen: readonly unknown[] = [];
    await heard(async (all) => {
      seen = all;
      return nothing(all);
    });
    return seen;
  };

  it.each(["applied", "never"] as const)(
    "an answer that was sent is not told again (%s)",
    async (fate) => {
      const answer = new Answer();
      expect(await itemsOf(filter.poll(upTo(2), answer.caller, 0))).toEqual(["1", "2"]);
      fates = [fate];
      answer.end(true);
      await filter.close();
      expect(await cursorsOfClient()).toEqual([at(2)]);
      expect(await heard(upTo(3))).toEqual(["3"]);
    },
  );

  it.each(["applied", "never"] as const)(
    "what was not told since its writing failed is told later (%s)",
    async (fate) => {
      fates = [fate];
      const answer = new Answer();
      await expect(filter.poll(upTo(2), answer.caller, 0)).rejects.toMatchObject({ code: -32603 });
      answer.end(true);
      expect(await cursorsOfClient()).toEqual([at(0)]);
      expect(await heard(upTo(3))).toEqual(["1", "2", "3"]);
    },
  );

  it("settles by itself when the state is back: another process may be polled next", async () => {
    const answer = new Answer();
    await filter.poll(upTo(2), answer.caller, 0);
    fates = ["never", "never"];
    answer.end(true);
    const stored = async () => JSON.parse((await state.get(KEY)) ?? "");
    await until("nothing is unacknowledged", async () => (await stored()).unsure.length === 0);
    expect(await stored()).toMatchObject({ told: at(2), unsure: [] });
  });
});
