// Two gateways over one state: one has delivered a filter's items of one branch, and a client polls the other gateway,
// whose chain is another branch.

import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { FakeClock } from "../../test/support/fake-clock.ts";
import type { ChainView } from "../chain/chain-view.ts";
import type { Position } from "../chain/stored-block.ts";
import { LmdbState } from "../state/lmdb-state.ts";
import { FilterBook } from "./filter-book.ts";
import { blockFormatters } from "./formatters.ts";
import { MempoolJournal } from "./mempool-journal.ts";

const FORK = 5;
const positionOn = (branch: string, number: number): Position => ({
  number,
  hash: `0x${number}${number < FORK ? "" : branch}`,
});
/** The items of a poll, of the blocks of a branch. */
const told = (branch: string, from: number, to: number): string[] =>
  Array.from({ length: to - from + 1 }, (_, index) => `"${positionOn(branch, from + index).hash}"`);

/** A clock whose sleeps advance its time at once. */
class HastyClock extends FakeClock {
  override async sleep(ms: number): Promise<void> {
    await this.advance(ms);
  }
}

/** A gateway's chain, whose store has each branch that the chain was on. */
class Branches {
  headOfNodes: Position | undefined;
  looks = 0;
  /** Called with each `reach`. */
  onLook: () => void = () => undefined;
  #head: Position;
  readonly #known = new Map<string, Position & { outline: { parentHash: string } }>();

  constructor(branch: string, height: number) {
    this.#head = this.headOfNodes = this.moveTo(branch, height);
  }

  moveTo(branch: string, height: number): Position {
    for (let number = 0; number <= height; number += 1) {
      const parentHash = positionOn(branch, number - 1).hash;
      const block = { ...positionOn(branch, number), outline: { parentHash } };
      this.#known.set(block.hash, block);
    }
    this.#head = positionOn(branch, height);
    return this.#head;
  }

  readonly view = (): ChainView => {
    const head = this.#head;
    const [branch = ""] = /[a-z]$/.exec(head.hash) ?? [];
    const hashAt = (number: number): string | undefined =>
      number > head.number ? undefined : positionOn(branch, number).hash;
    const view = {
      ...{ head, tail: 0, holds: true, hashAt },
      blockAt: (number: number) => this.#known.get(hashAt(number) ?? ""),
      droppedBlock: (hash: string) => this.#known.get(hash),
      reach: async () => {
        this.looks += 1;
        this.onLook();
        return this.view();
      },
    };
    return view as unknown as ChainView;
  };
}

let path: string;
let state: LmdbState;
const books: FilterBook[] = [];

beforeEach(async () => {
  path = await mkdtemp(join(tmpdir(), "headgate-reach-"));
  state = new LmdbState({ path });
});
afterEach(async () => {
  await Promise.all(books.splice(0).map((book) => book.close()));
  await state.close();
  await rm(path, { recursive: true });
});

const bookOf = (branches: Branches): FilterBook => {
  const clock = new HastyClock();
  const pool = { usable: () => [], isSettled: () => true, onChange: () => () => true };
  const chain = {
    view: branches.view,
    liveView: async () => branches.view(),
    headOfNodes: async () => branches.headOfNodes,
    reach: async () => undefined,
  };
  const book = new FilterBook(
    { network: "main", perKey: { polled: 3, pushed: 3 }, most: 100, isShared: true, sweeps: false },
    {
      ...{ state, chain, clock, formatters: blockFormatters },
      journal: new MempoolJournal({ network: "main", prefix: "eth" }, { pool, state, clock }),
      metrics: {
        filtersCounted: () => undefined,
        filterWalkedNodes: () => undefined,
        filterUnserved: () => undefined,
      },
    },
  );
  books.push(book);
  return book;
};

/** The other gateway delivers branch b up to its head at block 8. @returns A poll of the filter at this gateway. */
async function polledHere(here: Branches): Promise<() => Promise<string[]>> {
  const caller = { holder: "test", signal: new AbortController().signal };
  const delivery = { onSent: (task: (wasSent: boolean) => void) => task(true) };
  const elsewhere = new Branches("b", 4);
  const other = bookOf(elsewhere);
  const { id } = await other.begin({ kind: "blocks" }, caller);
  elsewhere.headOfNodes = elsewhere.moveTo("b", 8);
  expect((await other.changes(id, { ...caller, delivery }, () => undefined)).items).toEqual(
    told("b", 5, 8),
  );
  const book = bookOf(here);
  return async () =>
    (await book.changes(id, { ...caller, delivery }, () => undefined)).items.map(String);
}

it("tells no branch again that the nodes have left, when a look at them leads nowhere at first", async () => {
  const here = new Branches("a", 8);
  here.headOfNodes = positionOn("", 4); // the node's head during its reorg
  here.onLook = () => {
    if (here.looks === 2) here.headOfNodes = positionOn("b", 8);
    if (here.looks === 4) here.headOfNodes = here.moveTo("b", 9);
  };
  const poll = await polledHere(here);
  expect(await poll()).toEqual(told("b", 9, 9));
});

it("goes over to another branch when the nodes are on it", async () => {
  const here = new Branches("a", 8);
  const poll = await polledHere(here);
  expect(await poll()).toEqual(told("a", 5, 8));
  const { looks } = here; // the poll may look twice: the other gateway may write meanwhile that its answer arrived
  expect(looks).toBeGreaterThan(0);
  expect(await poll()).toEqual([]);
  expect(here.looks).toBe(looks);
});

it("goes over to it where the node that is asked only lags", async () => {
  const here = new Branches("a", 8);
  here.headOfNodes = positionOn("a", 7);
  const poll = await polledHere(here);
  expect(await poll()).toEqual(told("a", 5, 8));
});

it.each([
  ["are on another branch", positionOn("b", 8)],
  ["do not answer", undefined],
])("stays where it is while the nodes %s: the chain cannot be read", async (_, headOfNodes) => {
  const here = new Branches("a", 8);
  here.headOfNodes = headOfNodes;
  const poll = await polledHere(here);
  await expect(poll()).rejects.toMatchObject({ code: -32603, status: 503 });
  here.headOfNodes = here.moveTo("b", 9);
  expect(await poll()).toEqual(told("b", 9, 9));
});
