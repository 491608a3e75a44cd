// Random sequences of failures between the gateway and its state: no call is lost, and no call is counted twice.
import fc from "fast-check";
import { pino } from "pino";
import { expect, it } from "vitest";
import { okCall } from "../../../test/support/counted-calls.ts";
import { FakeClock } from "../../../test/support/fake-clock.ts";
import { MemoryState } from "../../../test/support/memory-state.ts";
import { UsageBook } from "./usage-book.ts";
import { readUsage } from "./usage-report.ts";

const log = pino({ level: "silent" });

type Step =
  | { readonly kind: "call"; readonly key: string; readonly method: string }
  | { readonly kind: "write" }
  | { readonly kind: "lose"; readonly fate: "applied" | "never" | "late" }
  | { readonly kind: "arrive" }
  | { readonly kind: "away" }
  | { readonly kind: "back" }
  | { readonly kind: "midnight" }
  | { readonly kind: "restart" }
  | { readonly kind: "kill" };

const stepsWith = (end: "restart" | "kill"): fc.Arbitrary<readonly Step[]> =>
  fc.array(
    fc.oneof(
      {
        weight: 8,
        arbitrary: fc.record({
          kind: fc.constant("call" as const),
          key: fc.constantFrom("a", "a-b", "c"),
          method: fc.constantFrom("eth_call", "eth_getLogs"),
        }),
      },
      { weight: 6, arbitrary: fc.constant({ kind: "write" as const }) },
      {
        weight: 4,
        arbitrary: fc.record({
          kind: fc.constant("lose" as const),
          fate: fc.constantFrom("applied" as const, "never" as const, "late" as const),
        }),
      },
      ...(["arrive", "away", "back", "midnight", end] as const).map((kind) => ({
        weight: 1,
        arbitrary: fc.constant({ kind }),
      })),
    ),
    { maxLength: 60 },
  );

it("is exact over lost acknowledgements, late changes, outages, midnights and restarts", async () => {
  await fc.assert(
    fc.asyncProperty(stepsWith("restart"), async (todo) => {
      const world = new World();
      for (const step of todo) await world.take(step);
      await world.restart();
      expect(await world.counted()).toEqual(world.made);
    }),
    { numRuns: 300 },
  );
});

it("loses at most what was counted since the last write when it is killed, and adds nothing", async () => {
  await fc.assert(
    fc.asyncProperty(stepsWith("kill"), async (todo) => {
      const world = new World();
      for (const step of todo) await world.take(step);
      await world.restart();
      const counted = await world.counted();
      for (const [name, calls] of Object.entries(world.made)) {
        expect(counted[name] ?? 0).toBeLessThanOrEqual(calls);
        expect(counted[name] ?? 0).toBeGreaterThanOrEqual(calls - (world.lost[name] ?? 0));
      }
    }),
    { numRuns: 300 },
  );
});

class World {
  readonly #clock = new FakeClock();
  readonly #state = new MemoryState();
  #book = this.#newBook();
  /** How many calls were made, by day, key and method. */
  readonly made: Record<string, number> = {};
  /** How many of these calls a killed book had counted and not written, as far as it knew. */
  readonly lost: Record<string, number> = {};
  #unwritten: string[] = [];

  async take(step: Step): Promise<void> {
    const state = this.#state;
    if (step.kind === "call") this.#call(step);
    if (step.kind === "write") await this.#write();
    if (step.kind === "lose") state.lost.push(step.fate);
    if (step.kind === "arrive") state.arrive();
    if (step.kind === "away") state.isAway = true;
    if (step.kind === "back") state.isAway = false;
    if (step.kind === "midnight") await this.#clock.advance(86_400_000);
    if (step.kind === "restart") await this.restart();
    if (step.kind === "kill") this.#kill();
  }

  /** An orderly end while the state can be reached. Late changes may arrive before or after it. */
  async restart(): Promise<void> {
    this.#state.isAway = false;
    this.#state.lost.length = 0;
    this.#unwritten = [];
    await this.#book.close();
    this.#book = this.#newBook();
  }

  async counted(): Promise<Record<string, number>> {
    const days = { from: "1970-01-01", to: "1970-03-31" };
    const rows = await readUsage(this.#state, days, { clock: this.#clock });
    return Object.fromEntries(
      rows.map(({ day, key, method, calls }) => [`${day} ${key} ${method}`, calls]),
    );
  }

  #call({ key, method }: { readonly key: string; readonly method: string }): void {
    this.#book.of(key).record({ ...okCall, method });
    const day = this.#clock.wallTime() / 86_400_000 + 1;
    const date = new Date(Date.UTC(1970, 0, day)).toISOString().slice(0, 10);
    const name = `${date} ${key} ${method}`;
    this.made[name] = (this.made[name] ?? 0) + 1;
    this.#unwritten.push(name);
  }

  async #write(): Promise<void> {
    const isDone = await this.#book.write().then(
      () => true,
      () => false,
    );
    if (isDone) this.#unwritten = [];
  }

  #kill(): void {
    for (const name of this.#unwritten) this.lost[name] = (this.lost[name] ?? 0) + 1;
    this.#unwritten = [];
    this.#book = this.#newBook();
  }

  #newBook(): UsageBook {
    return new UsageBook(
      { member: "a-0", keptDays: 400 },
      { state: this.#state, clock: this.#clock, log },
    );
  }
}
