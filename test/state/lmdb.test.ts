// One LMDB that several real processes have open: no change is lost or made twice, even when a process dies.
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { LmdbState } from "../../src/state/lmdb-state.ts";
import { atDepth } from "../support/depth.ts";
import { until } from "../support/processes.ts";

let path: string;
const children: ChildProcess[] = [];

beforeEach(async () => {
  path = await mkdtemp(join(tmpdir(), "headgate-state-"));
});
afterEach(async () => {
  for (const child of children.splice(0)) child.kill("SIGKILL");
  await rm(path, { recursive: true });
});

/** Starts a process that increments the count; collects the acknowledged counts. */
function increments(name: string, times: number) {
  const child = spawn(process.execPath, ["test/state/increment.ts", path, name, String(times)], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  children.push(child);
  const acknowledged: number[] = [];
  createInterface({ input: child.stdout }).on("line", (line) => acknowledged.push(Number(line)));
  return { child, acknowledged, ended: once(child, "close") };
}

describe("one LMDB and several processes", () => {
  it("counts each change once, and shows it to the others", async () => {
    const both = [increments("one", 300), increments("two", 300)];
    await Promise.all(both.map(({ ended }) => ended));
    const all = both.flatMap(({ acknowledged }) => acknowledged).sort((a, b) => a - b);
    expect(all).toEqual(Array.from({ length: 600 }, (_, n) => n + 1));
    const state = new LmdbState({ path });
    expect(await state.get("count all")).toBe("600");
    expect(await state.list("count one ")).toHaveLength(6);
    expect(await state.get("limits all")).toMatch(/^600 /);
    const counted = JSON.parse((await state.get("usage all")) ?? "");
    expect(counted).toEqual({ all: { one: [300], two: [300] } });
    expect(new Set((await state.readFrom("pending all", 0)).items).size).toBe(600);
    expect((await state.readFrom("pending all", 0)).end).toBe(600);
    await state.close();
  });

  it("loses nothing while other processes open and close it", async () => {
    const state = new LmdbState({ path });
    const times = String(atDepth(400, 1_500));
    const others = spawn(process.execPath, ["test/state/reopen.ts", path, times], {
      stdio: ["ignore", "ignore", "inherit"],
    });
    children.push(others);
    const ended = once(others, "close");
    let isOver = false;
    void ended.then(() => {
      isOver = true;
    });
    const lost: string[] = [];
    for (let count = 1; !isOver; count += 1) {
      try {
        await state.update(["count all"], () => [String(count)]);
      } catch {
        // LMDB may refuse a transaction beside an opening: then the caller knows, and the state is tried again.
        await until("the state is writable", async () => state.whyNotWritable() === undefined);
        continue;
      }
      const read = await state.get("count all");
      if (read !== String(count)) lost.push(`wrote ${count}, read ${read}`);
    }
    expect(lost).toEqual([]);
    expect((await ended)[0]).toBe(0);
    await state.close();
  });

  it("keeps all that was acknowledged, and goes on, when one is killed in the middle", async () => {
    const killed = increments("one", 1_000_000);
    const other = increments("two", 400);
    await until("both are at it", async () =>
      Boolean(killed.acknowledged.length > 100 && other.acknowledged.length > 20),
    );
    killed.child.kill("SIGKILL");
    await Promise.all([killed.ended, other.ended]);
    expect(other.acknowledged).toHaveLength(400);
    const state = new LmdbState({ path });
    const [all, one] = await Promise.all([state.get("count all"), state.get("count one")]);
    // The last increment may have happened without its acknowledgement.
    const untold = Number(one) - killed.acknowledged.length;
    expect([0, 1]).toContain(untold);
    expect(Number(all)).toBe(400 + Number(one));
    const taken = Number.parseFloat((await state.get("limits all")) ?? "") - 400;
    expect([0, 1]).toContain(Number(one) - taken);
    await state.close();
  });
});
