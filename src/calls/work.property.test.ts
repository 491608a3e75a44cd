// The price of a log query by the pieces that the nodes take, over the real steps of a call, a real meter and its usage.

import fc from "fast-check";
import { pino } from "pino";
import { expect, it } from "vitest";
import { FakeClock } from "../../test/support/fake-clock.ts";
import { Costs, Meter } from "../access/limits/meter.ts";
import { Scope } from "../access/scope/scope.ts";
import type { CountedCall } from "../access/usage/key-usage.ts";
import { errors } from "../jsonrpc/rpc-error.ts";
import { MemoryBudget } from "../lib/memory-budget.ts";
import { Turns } from "../lib/turns.ts";
import { catalogueFor } from "../methods/catalogue.ts";
import type { CallOptions } from "../upstream/asking/call-options.ts";
import { LearnedRange } from "../upstream/learned-range.ts";
import { type Caller, RequestScope } from "./caller.ts";
import { BodyAnswerer } from "./life-of-a-call.ts";
import type { RpcResponse } from "./response.ts";

const PRICE = 10;

/** A network whose only node takes `width` blocks in one query, and a key with so many compute units. */
function world({
  width,
  units,
  upstreamCalls,
}: Record<"width" | "units" | "upstreamCalls", number>) {
  const clock = new FakeClock();
  const memory = new MemoryBudget({ bytes: 1e9 }, { onRefused: () => undefined });
  const counted: CountedCall[] = [];
  let asked = 0;
  const call = async (_: string, json: string, __: AbortSignal, { ledger }: CallOptions = {}) => {
    ledger?.attempted({ upstream: { name: "node" }, why: undefined }, "eth_test");
    asked += 1;
    const [{ fromBlock, toBlock }] = JSON.parse(json);
    if (Number(toBlock) - Number(fromBlock) < width) return Buffer.from("[]");
    throw errors.refusedByNode(-32005, `limited to a ${width} block range`, "{}");
  };
  const settings = {
    rate: { computeUnitsPerSecond: 0.001, burstComputeUnits: units },
    computeUnits: {},
  };
  const log = pino({ level: "silent" });
  const meter = new Meter({ name: "k", isAlone: true, settings }, {
    clock,
    members: () => 1,
    log,
  } as unknown as ConstructorParameters<typeof Meter>[1]);
  const caller = {
    grant: {
      name: "k",
      scope: new Scope({ limits: { logs: {} } }),
      meter,
      usage: { record: (record: CountedCall) => counted.push(record) },
    },
    network: {
      facts: {
        name: "n",
        family: "evm",
        chainId: 1,
        limits: {
          upstreamCalls,
          logs: { blocks: 100_000, results: 100 },
          traces: { steps: 1, bytes: 1, blocks: 1 },
        },
      },
      catalogue: catalogueFor({ family: "evm", allow: [], groups: [], deny: [] }),
      pool: { call, agreementOn: () => undefined },
      coalescing: { call },
      head: { loneView: () => head, batchView: () => head },
      chain: undefined,
      ranges: new LearnedRange(100_000),
    },
    requestId: "r",
    client: () => "192.0.2.1",
    scope: new RequestScope({ deadlineMs: 1_000 }, { clock, memory, turns: new Turns({ clock }) }),
  } as unknown as Caller;
  const metrics = {
    callEnded: () => undefined,
    callSaved: () => undefined,
    callBounded: () => undefined,
  };
  const answerer = new BodyAnswerer(
    { batch: 100, batchResponseBytes: 1e9 },
    { clock, costs: new Costs({}), log, metrics, memory, turns: new Turns({ clock }) },
  );
  return { caller, counted, asked: () => asked, answerer };
}

const head = {
  latest: () => 1_000_000,
  atLeast: () => 1_000_000,
  pin: (reference: unknown) => reference,
};

const query = (from: number, blocks: number) => ({
  jsonrpc: "2.0",
  id: 1,
  method: "eth_getLogs",
  params: [
    { fromBlock: `0x${from.toString(16)}`, toBlock: `0x${(from + blocks - 1).toString(16)}` },
  ],
});

const textOf = ({ pieces }: RpcResponse): string => pieces.map(String).join("");

const worlds = fc.record({
  width: fc.integer({ min: 1, max: 500 }),
  units: fc.integer({ min: PRICE, max: 3_000 }),
  upstreamCalls: fc.integer({ min: 2, max: 300 }),
});

it("is the price of a log query for each piece that was asked for, and no more than there is", async () => {
  await fc.assert(
    fc.asyncProperty(
      worlds,
      fc.integer({ min: 0, max: 10_000 }),
      fc.integer({ min: 1, max: 10_000 }),
      async (options, from, blocks) => {
        const { answerer, caller, counted, asked } = world(options);
        const reply = await answerer.answer(
          Buffer.from(JSON.stringify(query(from, blocks))),
          caller,
        );
        const [{ computeUnits = 0, upstreamCalls = 0, outcome } = {}] = counted;
        expect(computeUnits).toBe(PRICE * asked());
        expect(upstreamCalls).toBe(asked());
        expect(asked()).toBeLessThanOrEqual(options.upstreamCalls);
        expect(computeUnits).toBeLessThanOrEqual(options.units);
        if (reply.status === 429) {
          expect(outcome).toBe("refused");
          expect(reply.rateLimit).toMatchObject({ rule: "rate" });
          expect(textOf(reply)).toContain('"message":"rate limit exceeded"');
        }
      },
    ),
    { numRuns: 200 },
  );
});

it("is bounded for a batch as a whole", async () => {
  const { answerer, caller, asked, counted } = world({ width: 1, units: 1e9, upstreamCalls: 200 });
  // All members begin before any of them has learned the node's limit.
  const batch = Array.from({ length: 100 }, (_, index) => query(index * 1_000, 150));
  await answerer.answer(Buffer.from(JSON.stringify(batch)), caller);
  expect(asked()).toBeLessThanOrEqual(100 + 5 * 200);
  expect(counted.reduce((sum, { upstreamCalls }) => sum + upstreamCalls, 0)).toBe(asked());
});
