// `headgate store`: its output for existing stores, the segments that it forgets, and its refusals.
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { commandHere } from "../../test/support/command-here.ts";
import { BlockStore } from "../chain/block-store.ts";
import { describeStore, store, storeText } from "./store.ts";

let folder: string;
let config: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "headgate-store-cli-"));
  config = join(folder, "headgate.yaml");
  const network = { family: "evm", chainId: 1, upstreams: [{ url: "http://127.0.0.1:1" }] };
  const networks = { main: network, other: network };
  await writeFile(config, JSON.stringify({ data: join(folder, "data"), networks }));
});
afterEach(() => rm(folder, { recursive: true }));

const run = (...words: readonly string[]) =>
  commandHere((print) => store([...words, "--config", config], {}, print));

/** Stores three segments of logs, of blocks 0 to 999, 1000 to 1999 and 2000 to 2999, from one or two upstreams. */
async function keepLogs(network: string): Promise<void> {
  const path = join(folder, "data", network);
  const opened = new BlockStore({ path, windowBlocks: 10, bytes: 1e7 });
  const keptFrom = [["a"], ["a", "b"], ["c"]];
  for (const [index, upstreams] of keptFrom.entries()) {
    const place = { criteria: Buffer.alloc(32, 7), from: index * 1_000, to: index * 1_000 + 999 };
    await opened.keepSegment(place, { json: Buffer.from("[]"), upstreams });
  }
  await opened.close();
}

const keptIn = async (network: string): Promise<object> => {
  const [view] = JSON.parse((await run("show", "--network", network, "--json")).stdout);
  return Object.fromEntries(
    view.segments.map(({ upstreams, segments }: Record<string, unknown>) => [upstreams, segments]),
  );
};

describe("headgate store show", () => {
  it("says so where nothing is stored", async () => {
    expect(await run("show")).toEqual({ code: 0, stdout: "Nothing is stored.\n", stderr: "" });
    expect((await run("show", "--json")).stdout).toBe("[]\n");
  });

  it("tells of each network that has a store, or of one", async () => {
    await keepLogs("main");
    const { stdout } = await run("show");
    expect(stdout).toMatch(/^main: no blocks, 0\.\d MB\n/);
    expect(stdout).toContain("  logs of older blocks from a, b: 1 segments");
    expect(stdout).not.toContain("other");
    expect((await run("show", "--network", "other")).stdout).toBe("Nothing is stored.\n");
  });

  it.each([
    {
      what: "no store",
      bytes: Buffer.alloc(65_536, 7),
      why: "its beginning is not that of an LMDB file",
    },
    { what: "empty", bytes: Buffer.alloc(0), why: "its first pages are missing" },
  ])("refuses a file that is $what", async ({ bytes, why }) => {
    const path = join(folder, "data", "main");
    await mkdir(path, { recursive: true });
    await writeFile(join(path, "data.mdb"), bytes);
    const stderr = `${path}: the store cannot be opened (it is damaged: ${why})\n`;
    expect(await run("show")).toMatchObject({ code: 1, stderr });
    expect(await run("forget", "--network", "main", "--all")).toMatchObject({ code: 1, stderr });
  });

  it("tells machines the same", async () => {
    await keepLogs("main");
    expect(JSON.parse((await run("show", "--json")).stdout)).toMatchObject([
      { network: "main", blocks: 0, proofs: { full: 0, partial: 0, none: 0 } },
    ]);
    expect(await keptIn("main")).toEqual({ a: 1, "a, b": 1, c: 1 });
  });
});

describe("headgate store forget", () => {
  it.each([
    {
      words: ["--upstream", "a"],
      says: "2 segments are forgotten.",
      left: { c: 1 },
    },
    {
      words: ["--blocks", "999-1500"],
      says: "2 segments are forgotten.",
      left: { c: 1 },
    },
    {
      words: ["--blocks", "2000-2000"],
      says: "1 segment is forgotten.",
      left: { a: 1, "a, b": 1 },
    },
    { words: ["--all"], says: "3 segments are forgotten.", left: {} },
    {
      words: ["--upstream", "nobody"],
      says: "0 segments are forgotten.",
      left: { a: 1, "a, b": 1, c: 1 },
    },
  ])("$words: $says", async ({ words, says, left }) => {
    await keepLogs("main");
    await keepLogs("other");
    expect(await run("forget", "--network", "main", ...words)).toEqual({
      ...{ code: 0, stdout: `${says}\n`, stderr: "" },
    });
    expect(await keptIn("main")).toEqual(left);
    expect(await keptIn("other")).toEqual({ a: 1, "a, b": 1, c: 1 });
  });

  it("says so where nothing is stored", async () => {
    const { stdout } = await run("forget", "--network", "main", "--all");
    expect(stdout).toBe("Nothing is stored.\n");
  });
});

describe("headgate store, wrongly asked,", () => {
  it.each([
    [["dance"], "unknown command store dance"],
    [["show", "--dance"], "'--dance'"],
    [["show", "--network", "third"], "there is no network third in"],
    [["forget", "--all"], "store forget: --network is missing"],
    [["forget", "--network", "main"], "store forget: expected one of"],
    [["forget", "--network", "main", "--all", "--upstream", "a"], "store forget: expected one of"],
    [["forget", "--network", "main", "--blocks", "5-4"], "--blocks: expected two block numbers"],
    [["forget", "--network", "main", "--blocks", "all"], "--blocks: expected two block numbers"],
  ])("%j: exit code 2, %s", async (words, message) => {
    const { code, stdout, stderr } = await run(...words);
    expect([code, stdout]).toEqual([2, ""]);
    expect(stderr).toContain(message);
  });
});

type Store = Parameters<typeof describeStore>[0];

const emptyStore = {
  head: undefined,
  tail: undefined,
  bytes: 0,
  hashAt: () => undefined,
  outline: () => undefined,
} as unknown as Store;

const proofs = ["full", "full", "partial", "none"];
const filled = {
  head: { number: 14, hash: "0xe" },
  tail: 10,
  bytes: 2_340_000,
  hashAt: (number: number) => (number === 12 ? undefined : `0x${number.toString(16)}`), // a gap
  outline: (hash: string) => ({ proof: proofs[(Number(hash) - 10) % 4] }),
} as unknown as Store;

const told = [
  { upstreams: ["a", "b"], bytes: 1_000_000 },
  { upstreams: [], bytes: 100_000 },
  { upstreams: ["a", "b"], bytes: 500_000 },
].map((kept) => ({ from: 0, to: 1, ...kept }));

describe("a store", () => {
  it("of nothing has no blocks", () => {
    const view = describeStore(emptyStore, []);
    expect(view).toMatchObject({ head: undefined, blocks: 0, segments: [] });
    expect(storeText({ network: "main", ...view })).toBe(
      "main: no blocks, 0.0 MB\n  proof: full 0, partial 0, none 0",
    );
  });

  it("counts the blocks that are there by their proof, and segments by who told them", () => {
    const view = describeStore(filled, told);
    expect(view).toMatchObject({ head: 14, tail: 10, blocks: 4 });
    expect(view.proofs).toEqual({ full: 3, partial: 0, none: 1 });
    expect(storeText({ network: "main", ...view }).split("\n")).toEqual([
      "main: 4 blocks, 10 to 14, 2.3 MB",
      "  proof: full 3, partial 0, none 1",
      "  logs of older blocks from a, b: 2 segments, 1.5 MB",
      "  logs of older blocks from ?: 1 segments, 0.1 MB",
    ]);
  });
});
