import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { afterEach, beforeEach, expect, it } from "vitest";
import { FakeClock } from "../../test/support/fake-clock.ts";
import { until } from "../../test/support/processes.ts";
import { errors } from "../jsonrpc/rpc-error.ts";
import { LmdbState } from "../state/lmdb-state.ts";
import { addCounted, encodeFilter, hasRoom } from "./filter-record.ts";
import { endUnserved, newId } from "./kept-filters.ts";

const MINUTE_MS = 60_000;
const acknowledged = { number: 1, hash: `0x${"a".repeat(64)}` };

let path: string;
let state: LmdbState;
let clock: FakeClock;
let closing: AbortController;
let unserved: Promise<void>;
let isAway: boolean;

beforeEach(async () => {
  path = await mkdtemp(join(tmpdir(), "headgate-unserved-"));
  state = new LmdbState({ path });
  clock = new FakeClock();
  isAway = false;
  const list: LmdbState["list"] = async (prefix) => {
    if (isAway) throw errors.stateUnavailable();
    return state.list(prefix);
  };
  const update: LmdbState["update"] = (...change) => state.update(...change);
  const isServed = (network: string): boolean => network === "main";
  closing = new AbortController();
  const { signal } = closing;
  unserved = endUnserved(isServed, { state: { list, update }, clock, signal });
});
afterEach(async () => {
  closing.abort();
  await unserved;
  await state.close();
  await rm(path, { recursive: true });
});

const add = (network: string, id: string, usedAtMs = clock.wallTime()): Promise<boolean> => {
  const record = {
    kind: "blocks",
    holder: "web",
    usedAtMs,
    acknowledged,
    unacknowledged: [],
  } as const;
  const filter = { key: `filter ${network} ${id}`, text: encodeFilter(record) };
  return addCounted({ ...filter, holder: "web", weight: 1, manner: "polled" }, 10, state);
};
const pass = async (minutes: number): Promise<void> => {
  await clock.advance(minutes * MINUTE_MS);
  for (let turn = 0; turn < 50; turn += 1) await new Promise(setImmediate);
};
const kept = async (): Promise<string[]> =>
  (await state.list("filter ")).map(({ key }) => key.slice("filter ".length));

/** Waits until only these keys are left: a removal takes a while on disk. */
const leaves = (...keys: string[]): Promise<unknown> =>
  until(`only ${keys} are kept`, async () => isDeepStrictEqual(await kept(), keys));

it("ends the filters of networks that are gone, once nobody polled them, and they count no more", async () => {
  await add("main", "0x1");
  await add("gone", "0x2");
  await pass(5);
  expect(await kept()).toEqual(["_count web", "gone 0x2", "main 0x1"]);
  await add("gone", "0x3");
  await pass(5);
  await leaves("_count web", "gone 0x3", "main 0x1");
  expect(await state.get("filter _count web")).toBe("2");
  await pass(10);
  await leaves("_count web", "main 0x1");
  const web = { holder: "web", manner: "polled" } as const;
  expect(await hasRoom({ ...web, weight: 9 }, 10, state)).toBe(true);
  expect(await hasRoom({ ...web, weight: 10 }, 10, state)).toBe(false);
});

it("leaves them for a while after the state was away: another gateway may serve them", async () => {
  await add("gone", "0x2");
  isAway = true;
  await pass(20);
  isAway = false;
  await pass(5);
  expect(await kept()).toEqual(["_count web", "gone 0x2"]);
  await pass(5);
  await leaves();
});

it("gives ids of 32 digits, of which none begins with a zero", () => {
  const ids = Array.from({ length: 2_000 }, newId);
  for (const id of ids) expect(id).toMatch(/^0x[1-9a-f][0-9a-f]{31}$/);
  expect(new Set(ids).size).toBe(ids.length);
});
