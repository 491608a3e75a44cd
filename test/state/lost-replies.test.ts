// Operations on a real Redis whose replies are lost: each happens once, whether or not its reply arrives, and a process
// that repeats it learns its result.
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { systemClock } from "../../src/lib/clock.ts";
import { Outbox } from "../../src/lib/outbox.ts";
import type { TakeRequest } from "../../src/lib/token-bucket.ts";
import type { TakeResult, Updated } from "../../src/state/state.ts";
import { DroppingProxy } from "../support/dropping-proxy.ts";
import { until } from "../support/processes.ts";
import { hasRedis, type RedisServer, startRedis } from "../support/redis-server.ts";
import { openShared, type SharedState } from "../support/shared-state.ts";

const LIMIT = 1_000_000;
const KEPT = { keptMs: 3_600_000 };

/** One of several processes, with its granted units and the sum of its operations. */
class Sender {
  granted = 0;
  returned = 0;
  sent = 0;
  readonly #shared: SharedState;
  readonly #takes: Outbox<TakeRequest, TakeResult>;
  readonly #adds: Outbox<number, void>;
  readonly #updates: Outbox<number, Updated>;

  constructor(run: string, shared: SharedState) {
    this.#shared = shared;
    const { state } = shared;
    const clock = systemClock;
    this.#takes = new Outbox(KEPT, {
      clock,
      send: (request, id) => state.take(`limits ${run}`, request, id),
      onDone: ({ returned }, { granted }) => {
        this.granted += granted;
        this.returned += returned;
      },
    });
    this.#adds = new Outbox(KEPT, {
      clock,
      send: (count, id) => state.add([{ key: `usage ${run}`, counts: { a: { b: [count] } } }], id),
      onDone: () => undefined,
    });
    this.#updates = new Outbox(KEPT, {
      clock,
      send: (count, id) =>
        state.update([`key ${run}`], ([sum]) => [String(Number(sum ?? 0) + count)], { id }),
      onDone: () => undefined,
    });
  }

  /** Sends all three operations at once. */
  async send(units: number): Promise<void> {
    const bounds = { size: LIMIT, perSecond: 0 };
    const returned = Math.min(units % 3, this.granted - this.returned);
    const request = { bounds, returned, owed: 0, least: 0, wanted: units, share: 1 };
    await Promise.all([
      this.#untilKnown(this.#takes, request),
      this.#untilKnown(this.#adds, units),
      this.#untilKnown(this.#updates, units),
    ]);
    this.sent += units;
  }

  get isAway(): boolean {
    return this.#shared.told.at(-1) === false;
  }

  close(): Promise<void> {
    return this.#shared.state.close();
  }

  async #untilKnown<Operation, Answer>(outbox: Outbox<Operation, Answer>, operation: Operation) {
    let next: Operation | undefined = operation;
    await until("it is known", async () => {
      const sending = outbox.send(() => {
        const one = next;
        next = undefined;
        return one;
      });
      return sending.then(
        () => next === undefined,
        () => false,
      );
    });
  }
}

describe.skipIf(!hasRedis)("operations whose answers are lost", () => {
  let redis: RedisServer;
  let proxy: DroppingProxy;

  beforeAll(async () => {
    redis = await startRedis();
    proxy = await DroppingProxy.before(redis.port);
  });
  afterAll(async () => {
    await proxy.close();
    await redis.close();
  });

  const start = async (run: string): Promise<Sender> =>
    new Sender(run, await openShared(proxy.url));

  it("happen once, of several processes at once, and nothing is granted twice", async () => {
    let run = 0;
    const step = fc.record({
      units: fc.integer({ min: 1, max: 50 }),
      lost: fc.constantFrom(0, 0, 1, 2),
    });
    const steps = fc.array(step, { minLength: 3, maxLength: 6 });
    await fc.assert(
      fc.asyncProperty(fc.array(steps, { minLength: 2, maxLength: 3 }), async (all) => {
        run += 1;
        const senders = await Promise.all(all.map(() => start(`run${run}`)));
        await Promise.all(
          senders.map(async (sender, at) => {
            for (const { units, lost } of all[at] ?? []) {
              proxy.losing += lost;
              await sender.send(units);
            }
          }),
        );
        const { state } = await openShared(redis.url);
        const sum = (of: (sender: Sender) => number): number =>
          senders.reduce((total, sender) => total + of(sender), 0);
        const taken = Number.parseFloat((await state.get(`limits run${run}`)) ?? "");
        expect(taken).toBe(sum(({ granted, returned }) => granted - returned));
        expect(sum(({ granted }) => granted)).toBe(sum(({ sent }) => sent));
        expect(await state.get(`key run${run}`)).toBe(`${sum(({ sent }) => sent)}`);
        const counted = JSON.parse((await state.get(`usage run${run}`)) ?? "");
        expect(counted).toEqual({ a: { b: [sum(({ sent }) => sent)] } });
        await Promise.all([state, ...senders].map((each) => each.close()));
      }),
      { numRuns: 3 },
    );
    expect(proxy.lost).toBeGreaterThan(1);
  });

  it("happen once when Redis hangs, and does late what it was asked before", async () => {
    const sender = await start("hung");
    await sender.send(10);
    redis.pause();
    const sending = sender.send(20);
    await until("it is asked again", async () => sender.isAway);
    redis.resume();
    await sending;
    await sender.send(30);
    const { state } = await openShared(redis.url);
    expect(sender.granted).toBe(60);
    expect(await state.get("key hung")).toBe("60");
    expect(JSON.parse((await state.get("usage hung")) ?? "")).toEqual({ a: { b: [60] } });
    const taken = Number.parseFloat((await state.get("limits hung")) ?? "");
    expect(taken).toBe(60 - sender.returned);
    await Promise.all([state.close(), sender.close()]);
  });

  it("leave each item of a journal there once", async () => {
    const heard = Array.from({ length: 40 }, (_, n) => `${n}`);
    const all = await Promise.all([openShared(proxy.url), openShared(proxy.url)]);
    await Promise.all(
      all.map(async ({ state }) => {
        const known = new Set<string>();
        for (let at = 0; known.size < heard.length; ) {
          if (at % 3 === 0) proxy.losing += 1;
          const items = heard.filter((item) => !known.has(item)).slice(0, 4);
          const request = { at, items, kept: 1000 };
          const part = await until("it is answered", () =>
            state.append("pending lost", request).catch(() => undefined),
          );
          for (const item of part.items) known.add(item);
          at = part.from + part.items.length;
        }
      }),
    );
    expect((await all[0].state.readFrom("pending lost", 0)).items).toEqual(heard);
    await Promise.all(all.map(({ state }) => state.close()));
  });
});
