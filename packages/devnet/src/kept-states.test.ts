// Tests that anvil's files shrink while anvil may be writing, reading or removing them.
import { mkdir, mkdtemp, readdir, readFile, rm, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { systemClock } from "../../../src/lib/clock.ts";
import { atOnce, Turns } from "../../../src/lib/turns.ts";
import { KeptStates, withoutUnreachedHashes } from "./kept-states.ts";

const ACCOUNTS = '{"accounts":{"0xa":{"nonce":18446744073709551615}},"storage":{}';
const hashOf = (number: number): string => `0x${number.toString(16).padStart(64, "e")}`;

/** A state file as anvil writes it after so many blocks: its hashes have no order. */
function stateAfter(blocks: number): string {
  const entries = Array.from({ length: blocks }, (_, index) => (index * 7_919) % blocks).map(
    (number) => `"0x${number.toString(16)}":"${hashOf(number)}"`,
  );
  return `${ACCOUNTS},"block_hashes":{${entries.join(",")}}}`;
}

describe("a state", () => {
  it("keeps the hashes that BLOCKHASH reaches, and all else byte for byte", () => {
    const short = atOnce(withoutUnreachedHashes(stateAfter(5_000)));
    expect(short.startsWith(ACCOUNTS)).toBe(true);
    const hashes = JSON.parse(short).block_hashes as Record<string, string>;
    expect(Object.keys(hashes)).toHaveLength(257);
    for (let number = 4_743; number < 5_000; number += 1) {
      expect(hashes[`0x${number.toString(16)}`]).toBe(hashOf(number));
    }
  });

  it.each([
    { what: "of a young chain", state: stateAfter(257) },
    { what: "without hashes", state: `${ACCOUNTS}}` },
  ])("$what stays as it is", ({ state }) => {
    expect(atOnce(withoutUnreachedHashes(state))).toBe(state);
  });
});

describe("the folder of states", () => {
  let folder: string;
  let own: string;
  const stopping = new AbortController();
  const parts = { turns: new Turns({ clock: systemClock }) };

  const bookOf = (budget: number): KeptStates =>
    new KeptStates({ folder, budget, signal: stopping.signal });
  const textOf = (name: string): Promise<string> => readFile(join(own, name), "utf8");
  const written = async (name: string, text: string, atSecond = 1): Promise<void> => {
    await writeFile(join(own, name), text);
    await utimes(join(own, name), atSecond, atSecond);
  };

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), "headgate-states-"));
    own = join(folder, "anvil-state-22-11-2026-14-17agT7Ei");
    await mkdir(own);
  });

  afterEach(() => rm(folder, { recursive: true, force: true }));

  it("has each state shortened, and nothing else changed", async () => {
    await written("0xa.json", stateAfter(2_000));
    await mkdir(join(folder, "conflux"));
    await writeFile(join(folder, "conflux", "0xa.json"), stateAfter(2_000));
    await bookOf(1e9).pass(parts);
    expect(await textOf("0xa.json")).toBe(atOnce(withoutUnreachedHashes(stateAfter(2_000))));
    expect(await readdir(own)).toEqual(["0xa.json"]);
    expect(await readFile(join(folder, "conflux", "0xa.json"), "utf8")).toBe(stateAfter(2_000));
  });

  it("shortens a state that was half written when all of it is there", async () => {
    const states = bookOf(1e9);
    const half = stateAfter(2_000).slice(0, 9_000);
    await written("0xa.json", half);
    await states.pass(parts);
    expect(await textOf("0xa.json")).toBe(half);
    await written("0xa.json", stateAfter(2_000));
    await states.pass(parts);
    expect(JSON.parse(await textOf("0xa.json")).block_hashes).toHaveProperty("0x7cf");
    expect((await textOf("0xa.json")).length).toBeLessThan(30_000);
  });

  it("drops the oldest when they take more than the budget", async () => {
    const states = bookOf(50_000); // room for two states
    await written("0xc.json", stateAfter(2_000), 3);
    await written("0xb.json", stateAfter(2_000), 2);
    await written("0xa.json", stateAfter(2_000), 4);
    await states.pass(parts);
    expect((await readdir(own)).sort()).toEqual(["0xa.json", "0xc.json"]);
    await written("0x0.json", stateAfter(2_000), 5);
    await states.pass(parts);
    expect((await readdir(own)).sort()).toEqual(["0x0.json", "0xa.json"]);
  });

  it("does not count what anvil has removed", async () => {
    const states = bookOf(50_000);
    await written("0xa.json", stateAfter(2_000));
    await written("0xb.json", stateAfter(2_000), 2);
    await states.pass(parts);
    await rm(join(own, "0xb.json"));
    await written("0xc.json", stateAfter(2_000), 3);
    await states.pass(parts);
    expect((await readdir(own)).sort()).toEqual(["0xa.json", "0xc.json"]);
  });

  it("may be gone", async () => {
    await rm(folder, { recursive: true });
    await bookOf(1e9).pass(parts);
  });
});
