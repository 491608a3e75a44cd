import { expect, it } from "vitest";
import { FakeClock } from "../../test/support/fake-clock.ts";
import { Outbox } from "./outbox.ts";

const HOUR_MS = 3_600_000;

/** An outbox that notes each attempt as `operation.number`; its attempts fail while `other.isAway`. */
function outboxOf(clock: FakeClock) {
  const attempts: string[] = [];
  const slots = new Set<string>();
  const done: string[] = [];
  const other = { isAway: false };
  const outbox = new Outbox<string, number>(
    { keptMs: 2 * HOUR_MS },
    {
      clock,
      send: async (operation, { slot, number }) => {
        attempts.push(`${operation}.${number}`);
        slots.add(slot);
        if (other.isAway) throw new Error("away");
        return number;
      },
      onDone: (operation) => done.push(operation),
    },
  );
  return { outbox, other, attempts, slots, done };
}

it("repeats what nobody answered under its id, and only then makes the next", async () => {
  const { outbox, other, attempts, slots, done } = outboxOf(new FakeClock());
  await outbox.send(() => "a");
  other.isAway = true;
  await expect(outbox.send(() => "b")).rejects.toThrow("away");
  await expect(outbox.send(() => "c")).rejects.toThrow("away");
  expect(outbox.unanswered).toBe("b");
  other.isAway = false;
  await outbox.send(() => "d");
  await outbox.send(() => undefined);
  expect(attempts).toEqual(["a.1", "b.2", "b.2", "b.2", "d.3"]);
  expect(done).toEqual(["a", "b", "d"]);
  expect(slots.size).toBe(1);
});

it("gives up what the other side may have forgotten", async () => {
  const clock = new FakeClock();
  const { outbox, other, attempts, done } = outboxOf(clock);
  other.isAway = true;
  await expect(outbox.send(() => "a")).rejects.toThrow("away");
  await clock.advance(HOUR_MS - 1);
  await expect(outbox.send(() => undefined)).rejects.toThrow("away");
  await clock.advance(1);
  other.isAway = false;
  await outbox.send(() => undefined);
  expect([outbox.unanswered, done]).toEqual([undefined, []]);
  await outbox.send(() => "b");
  expect(attempts).toEqual(["a.1", "a.1", "b.2"]);
});
