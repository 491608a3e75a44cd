import { expect, it } from "vitest";
import { FakeClock } from "../../test/support/fake-clock.ts";
import { WaitForChain } from "./chain-wait.ts";

const soon = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

function waiting(options: { ms: number; remainingMs?: number; isBehind?: boolean }) {
  const clock = new FakeClock();
  const leaving = new AbortController();
  const listeners = new Set<() => void>();
  const network = {
    chain: { view: () => ({ isBehind: options.isBehind ?? false }) as never },
    onUpdate: (listener: () => void) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
  const scope = { signal: () => leaving.signal, remainingMs: options.remainingMs ?? 30_000 };
  const wait = new WaitForChain({ ms: options.ms }, { network, scope, clock } as never);
  return { clock, leaving, listeners, wait };
}

it("wakes with the next update of the chain, and leaves nothing behind", async () => {
  const { clock, listeners, wait } = waiting({ ms: 2_000 });
  const next = wait.next(1_000);
  for (const listener of listeners) listener();
  expect(await next).toBe(true);
  expect([listeners.size, clock.waiting]).toEqual([0, 0]);
});

it("wakes after the given time without an update, and is over in the end", async () => {
  const { clock, wait } = waiting({ ms: 1_500 });
  const first = wait.next(1_000);
  await clock.advance(1_000);
  expect(await first).toBe(true);
  const second = wait.next(1_000);
  await clock.advance(500);
  expect(await second).toBe(true); // the last look
  expect(await wait.next(1_000)).toBe(false);
});

it("is over when the caller goes away", async () => {
  const { listeners, clock, leaving, wait } = waiting({ ms: 2_000 });
  const next = wait.next(1_000);
  leaving.abort();
  expect(await next).toBe(false);
  await soon();
  expect([listeners.size, clock.waiting]).toEqual([0, 0]);
});

it("ends before the call's deadline", () => {
  expect(waiting({ ms: 60_000, remainingMs: 10_000 }).wait.ms).toBe(9_750);
  expect(waiting({ ms: 60_000, remainingMs: 100 }).wait.ms).toBe(0);
});

it("sees no chain that may be behind the nodes", () => {
  expect(waiting({ ms: 1, isBehind: true }).wait.view()).toBeUndefined();
  expect(waiting({ ms: 1 }).wait.view()).toBeDefined();
});
