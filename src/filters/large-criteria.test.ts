// Filters with long criteria: the state gets the criteria once, and a poll writes a small record.
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { FakeClock } from "../../test/support/fake-clock.ts";
import { MemoryState } from "../../test/support/memory-state.ts";
import type { State } from "../state/state.ts";
import { criteriaKeyOf, encodeFilter, type FilterQuestion } from "./filter-record.ts";
import { endUnserved, KeptFilters } from "./kept-filters.ts";
import type { FindChanges } from "./open-filter.ts";
import { encodePushed, resumePositionOf } from "./pushed-record.ts";

const word = (number: number): string => `0x${number.toString(16).padStart(64, "0")}`;
const topics = Array.from({ length: 4 }, () =>
  Array.from({ length: 1_000 }, (_, number) => word(number)),
);
const LARGE: FilterQuestion = { kind: "logs", criteria: { topics } };
const LARGE_BYTES = 270_000;
const SMALL: FilterQuestion = { kind: "logs", criteria: { topics: [word(1)] } };
const HOLDER = "web";
const COUNT = `filter _count ${HOLDER}`;
const MINUTE_MS = 60_000;

let clock: FakeClock;
let state: MemoryState;
/** The bytes of all changed texts. */
let written: number;
let opened: KeptFilters[];

/** The state of the test, with the bytes of each change counted at its interface. */
const counted = (): State => ({
  get: (key) => state.get(key),
  list: (prefix) => state.list(prefix),
  take: (...asked) => state.take(...asked),
  add: (...asked) => state.add(...asked),
  append: (...asked) => state.append(...asked),
  readFrom: (...asked) => state.readFrom(...asked),
  close: () => state.close(),
  update: async (keys, next, options) => {
    let before: readonly (string | undefined)[] = [];
    const updated = await state.update(
      keys,
      (texts) => {
        before = texts;
        return next(texts);
      },
      options,
    );
    for (const [at, text] of updated.texts.entries())
      if (updated.isChanged && at < keys.length && text !== before[at])
        written += text?.length ?? 0;
    return updated;
  },
});

/** Another gateway over the same state. */
function gateway(perKey = 100): KeptFilters {
  const options = {
    ...{ network: "main", perKey: { polled: perKey, pushed: perKey } },
    ...{ isShared: true, sweeps: false },
  };
  const metrics = { filtersCounted: () => undefined };
  const kept = new KeptFilters(options, { state: counted(), clock, metrics });
  opened.push(kept);
  return kept;
}

const at = (number: number) => ({ number, hash: word(number) });
const begin = async () => at(0);
const caller = {
  signal: new AbortController().signal,
  delivery: { onSent: (task: (wasSent: boolean) => void) => task(true) },
};

/** Polls the filter at a gateway, up to a block with one item. @returns The criteria that the gateway knows. */
async function poll(kept: KeptFilters, id: string, number: number): Promise<unknown> {
  const filter = await kept.find(id, HOLDER);
  const findChanges: FindChanges = async () => ({ items: [`${number}`], at: at(number) });
  const changes = await filter?.poll(findChanges, caller, clock.wallTime());
  await new Promise(setImmediate);
  expect(changes?.items).toEqual([`${number}`]);
  return filter?.record.kind === "logs" ? filter.record.criteria : undefined;
}

const entries = async (): Promise<string[]> => (await state.list("filter ")).map(({ key }) => key);

beforeEach(() => {
  clock = new FakeClock();
  state = new MemoryState({ clock });
  written = 0;
  opened = [];
});
afterEach(() => Promise.all(opened.map((kept) => kept.close())));

describe("a filter with long criteria", () => {
  it("writes them once, and little at each poll, at whichever gateway", async () => {
    const [a, b] = [gateway(), gateway()];
    const { id } = await a.add(LARGE, { holder: HOLDER }, begin);
    expect(written).toBeGreaterThan(LARGE_BYTES);
    written = 0;
    for (let number = 1; number <= 10; number += 1)
      expect(await poll(number % 2 === 0 ? a : b, id, number)).toEqual({ topics });
    expect(written / 10).toBeLessThan(1_000);
  });

  it("counts as many, and leaves nothing when it ends", async () => {
    const [a, b] = [gateway(), gateway()];
    const { id } = await a.add(LARGE, { holder: HOLDER }, begin);
    expect(await state.get(COUNT)).toBe("41");
    await poll(a, id, 1);
    expect(await b.end(id)).toBe(true);
    expect(await entries()).toEqual([]);
  });

  it("is told how many it counts as when it is refused", async () => {
    await expect(gateway(20).add(LARGE, { holder: HOLDER }, begin)).rejects.toMatchObject({
      code: -32005,
      message: expect.stringMatching(
        /^no more than 20 filters for one key, and this one counts as 41, one for each 100 addresses and topics: /,
      ),
    });
  });

  it("writes little at each push, and is resumed with its criteria", async () => {
    const [a, b] = [gateway(), gateway()];
    const { id, key, record } = await a.add(LARGE, { holder: HOLDER, by: "me" }, begin);
    const steps = [1, 2, 3].map((count) => ({ count, at: at(count) }));
    const { weight } = record;
    const pushed = {
      by: "me",
      asked: LARGE,
      weight,
      holder: HOLDER,
      usedAtMs: clock.wallTime(),
      arrived: 1,
    };
    const text = encodePushed({ ...pushed, steps });
    expect(text.length).toBeLessThan(1_000);
    await state.update([key], () => [text]);
    const kept = await b.pushed(id, HOLDER);
    expect(kept?.record).toMatchObject({ by: "me", criteria: { topics } });
    expect(kept && resumePositionOf(kept.record, 2)).toMatchObject({ missing: 0 });
  });

  it("whose criteria are gone ends, and counts no more", async () => {
    const { id, key } = await gateway().add(LARGE, { holder: HOLDER }, begin);
    await state.update([criteriaKeyOf(key)], () => [undefined]);
    expect(await gateway().find(id, HOLDER)).toBeUndefined();
    expect(await entries()).toEqual([]);
  });

  it("of an earlier version is polled as it is", async () => {
    const [a, b] = [gateway(), gateway()];
    const key = "filter main 0x10000000000000000000000000000000";
    const cursors = { acknowledged: at(0), unacknowledged: [] };
    const used = { holder: HOLDER, usedAtMs: clock.wallTime() };
    const old = encodeFilter({ ...LARGE, ...used, ...cursors } as never);
    await state.update([key, COUNT], () => [old, "41"]);
    const id = key.split(" ")[2] ?? "";
    for (let number = 1; number <= 2; number += 1)
      expect(await poll(number === 1 ? a : b, id, number)).toEqual({ topics });
    expect(await entries()).toEqual([COUNT, key]);
    expect(await b.end(id)).toBe(true);
    expect(await entries()).toEqual([]);
  });
});

it("a filter with short criteria has one entry", async () => {
  const { id } = await gateway().add(SMALL, { holder: HOLDER }, begin);
  expect(await entries()).toEqual([COUNT, `filter main ${id}`]);
});

it("criteria without a record are removed, and those with one stay", async () => {
  const { key } = await gateway().add(LARGE, { holder: HOLDER }, begin);
  const lone = criteriaKeyOf("filter main 0x11111111111111111111111111111111");
  await state.update([lone], () => ["{}"]);
  const closing = new AbortController();
  const { signal } = closing;
  const ending = endUnserved(() => true, { state, clock, signal });
  await clock.advance(5 * MINUTE_MS);
  for (let turn = 0; turn < 50; turn += 1) await new Promise(setImmediate);
  closing.abort();
  await ending;
  expect(await entries()).toEqual([COUNT, criteriaKeyOf(key), key]);
});
