// Replays a `vmTrace` on a stack and a memory of its own, beside the steps of ethereumjs.
import { expect } from "vitest";
import { expectedCost, isUnbegun, isWrittenAsDone, pushCount } from "./expected-operations.ts";
import type { Frame, Step } from "./frames.ts";

export type VmTrace = { readonly code: string; readonly ops: readonly Operation[] };

type Operation = {
  readonly pc: number;
  readonly cost: number;
  readonly ex: Executed | null;
  readonly sub: VmTrace | null;
};

type Executed = {
  readonly used: number;
  readonly push: readonly string[];
  readonly mem: { readonly off: number; readonly data: string } | null;
  readonly store: { readonly key: string; readonly val: string } | null;
};

/** Fails at the first difference between the trace and the execution. */
export function expectReplay({ code, ops }: VmTrace, frame: Frame, path = "top"): void {
  const steps = frame.steps.filter((step, at) => !isUnbegun(step, at, frame));
  const told = { code, pcs: ops.map(({ pc }) => pc) };
  expect(told, path).toEqual({ code: frame.code, pcs: steps.map(({ pc }) => pc) });
  const machine: Machine = { stack: [], memory: new Uint8Array() };
  for (const [at, step] of steps.entries()) {
    const operation = ops[at] as Operation;
    const where = `${path}, operation ${at}: ${step.name}`;
    const next = frame.steps[at + 1];
    expectOperation(operation, { step, next, frame, where });
    expectSub(operation, { at, frame, where });
    if (operation.ex) run(machine, { ex: operation.ex, step, next, where });
  }
}

type Machine = { stack: readonly bigint[]; memory: Uint8Array };
type Place = { step: Step; next: Step | undefined; where: string };

/** Checks an operation by itself. */
function expectOperation({ cost, ex }: Operation, place: Place & { frame: Frame }): void {
  const { step, next, frame, where } = place;
  const isDone = next !== undefined || isWrittenAsDone(frame);
  expect(ex !== null, `${where}: is executed`).toBe(isDone);
  if (!ex) return;
  expect(cost, `${where}: cost`).toBe(Number(expectedCost(step)));
  const left = next?.gas ?? step.gas - step.cost;
  // Code that ends without a STOP after a call has no later step that tells the gas that the call returned.
  if (next || frame.children.at(-1)?.after !== frame.steps.length)
    expect(ex.used, `${where}: used`).toBe(Number(left));
  const [key, val] = step.stack.slice(-2).toReversed().map(hex);
  const store = step.name === "SSTORE" ? { key, val } : null;
  expect(ex.store, `${where}: store`).toEqual(store);
}

function expectSub(
  { sub }: Operation,
  { at, frame, where }: { at: number; frame: Frame; where: string },
): void {
  const [entered] = frame.children.filter(({ after }) => after === at + 1);
  expect(sub !== null, `${where}: enters`).toBe(entered !== undefined);
  if (sub && entered) expectReplay(sub, entered.frame, `${where}, inside`);
}

function run(machine: Machine, { ex, step, next, where }: Place & { ex: Executed }): void {
  const { push, mem } = ex;
  expect(push.length, `${where}: push`).toBe(pushCount(step.name));
  if (mem) machine.memory = written(machine.memory, mem);
  if (!next) return;
  const kept = machine.stack.slice(0, next.stack.length - push.length);
  machine.stack = [...kept, ...push.map(BigInt)];
  expect(machine.stack.map(hex), `${where}: stack`).toEqual(next.stack.map(hex));
  const whole = new Uint8Array(Math.max(next.memory.length, machine.memory.length));
  whole.set(machine.memory);
  expect(text(whole), `${where}: memory`).toBe(text(next.memory));
}

function written(memory: Uint8Array, { off, data }: { off: number; data: string }): Uint8Array {
  const bytes = Buffer.from(data.slice(2), "hex");
  const whole = new Uint8Array(Math.max(memory.length, off + bytes.length));
  whole.set(memory);
  whole.set(bytes, off);
  return whole;
}

const text = (bytes: Uint8Array): string => Buffer.from(bytes).toString("hex");
const hex = (value: bigint): string => `0x${value.toString(16)}`;
