import { describe, expect, it } from "vitest";
import { MemoryBudget, memoryHolder } from "../../lib/memory-budget.ts";
import { WholeBody } from "./whole-body.ts";

const KB = 1024;
const budgetOf = (bytes: number) => new MemoryBudget({ bytes }, { onRefused: () => undefined });
const LIMIT = { responseBytes: 1_000 * KB };

describe("an answer of a node as it comes", () => {
  it.each([
    { what: "announced", announced: 200 * KB },
    { what: "announced as less than it is", announced: 100 * KB },
    { what: "announced as more than it is", announced: 300 * KB },
    { what: "not announced", announced: Number.NaN },
  ])("is one whole, $what", ({ announced }) => {
    const memory = budgetOf(1_000 * KB);
    const body = new WholeBody(LIMIT, memory);
    expect(body.announce(announced)).toBe(true);
    for (let part = 0; part < 20; part += 1) body.add(Buffer.alloc(10 * KB, String(part % 10)));
    expect(memory.waitingAs("arriving")).toBe(200 * KB);
    const whole = body.finish();
    expect([whole.length, whole[0], whole.at(-1)]).toEqual([200 * KB, 48, 57]);
    body.drop();
    expect(memory.waiting).toBe(0);
  });

  it("is not read on when it is large and too much waits, unless the chain is followed with it", () => {
    const memory = budgetOf(1_000 * KB);
    memory.hold("unsent", 500 * KB);
    const forCaller = new WholeBody({ ...LIMIT, isForCaller: true }, memory);
    expect([forCaller.add(Buffer.alloc(64 * KB)), forCaller.add(Buffer.alloc(1))]).toEqual([
      true,
      false,
    ]);
    expect(forCaller.whenStopped).toBe("crowded");
    const forChain = new WholeBody(LIMIT, memory);
    expect(forChain.add(Buffer.alloc(900 * KB))).toBe(true);
  });

  it("is counted for the key that it waits for, and given back when it ends or is given up", () => {
    const memory = budgetOf(10_000 * KB);
    const [storm, other] = [memoryHolder("storm"), memoryHolder("other")];
    memory.hold("unsent", 5_000 * KB, storm);
    const own = new WholeBody({ ...LIMIT, isForCaller: true, holder: storm }, memory);
    expect([own.add(Buffer.alloc(65 * KB)), storm.bytes]).toEqual([false, 5_065 * KB]);
    own.drop();
    const others = new WholeBody({ ...LIMIT, isForCaller: true, holder: other }, memory);
    expect([others.add(Buffer.alloc(65 * KB)), other.bytes]).toEqual([true, 65 * KB]);
    others.finish();
    expect([storm.bytes, other.bytes, memory.waiting]).toEqual([5_000 * KB, 0, 5_000 * KB]);
  });
});
