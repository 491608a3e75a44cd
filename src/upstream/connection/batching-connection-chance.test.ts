// However a node answers a batch, no call gets the answer of another one, and each call gets an answer.
import fc from "fast-check";
import { expect, it } from "vitest";
import { systemClock } from "../../lib/clock.ts";
import { BatchSizes } from "../capabilities/batch-sizes.ts";
import { readReply, requestJson } from "../reply.ts";
import { BatchingConnection } from "./batching-connection.ts";
import type { Exchange, SharedTurn } from "./connection.ts";

const never = new AbortController().signal;
const result = (id: number): string => `{"jsonrpc":"2.0","id":${id},"result":"of ${id}"}`;
const textOf = (json: string): Exchange => ({
  kind: "answered",
  status: 200,
  body: Buffer.from(json),
});

/** The elements that a node writes in place of the answer to `id`, in a batch with these ids. */
type Slip = (id: number, ids: readonly number[]) => string[];
const slips: readonly Slip[] = [
  (id) => [result(id)],
  (id) => [result(id)],
  (id) => [`{"result":"of ${id}","id":${id}}`],
  () => [],
  (id) => [result(id), result(id)],
  (id, ids) => [result(id), result(ids[0] ?? id)],
  (id) => [result(id + 1_000), "null", '"x"', "[]", '{"id":null,"result":1}'],
  (id) => [`{"id":${id},"error":{"code":-32000,"message":"of ${id}"}}`],
  (id) => [`{"id":"${id}","result":"of nobody"}`],
];
type Whole = (array: string) => Exchange;
const wholes: readonly Whole[] = [
  textOf,
  textOf,
  textOf,
  textOf,
  (array) => textOf(array.slice(0, -2)),
  () => textOf('{"id":null,"error":{"code":-32600,"message":"batch too large"}}'),
  () => textOf('{"error":{"code":-32005,"message":"rate limit exceeded"}}'),
  () => ({ kind: "too large" }),
  () => ({ kind: "timeout" }),
];

const anyNode = fc.record({
  slips: fc.array(fc.constantFrom(...slips), { minLength: 1, maxLength: 12 }),
  wholes: fc.array(fc.constantFrom(...wholes), { minLength: 1, maxLength: 6 }),
  places: fc.array(fc.nat(), { minLength: 1, maxLength: 12 }),
});

/** A node that answers with the given slips, and writes members in any order; `counts` has the batches and members. */
function slippingNode(told: { slips: Slip[]; wholes: Whole[]; places: number[] }) {
  const counts = { batches: 0, members: 0 };
  const next = <Value>(list: readonly Value[], at: number): Value =>
    list[at % list.length] as Value;
  const send = async ({ json }: { json: string }): Promise<Exchange> => {
    const request = JSON.parse(json) as { id: number } | { id: number }[];
    if (!Array.isArray(request)) return textOf(result(request.id));
    const ids = request.map(({ id }) => id);
    const members: string[] = [];
    for (const id of ids) {
      counts.members += 1;
      for (const member of next(told.slips, counts.members)(id, ids))
        members.splice(next(told.places, members.length + id) % (members.length + 1), 0, member);
    }
    counts.batches += 1;
    return next(told.wholes, counts.batches)(`[${members.join(",")}]`);
  };
  return { counts, connection: { send, close: async () => undefined } };
}

/** A turn as `NodeTurns` makes it. */
const newTurn = (size: number): SharedTurn => ({ group: "state", calls: 1, room: size - 1 });
function joined(turn: SharedTurn): SharedTurn {
  turn.calls += 1;
  turn.room -= 1;
  return turn;
}

it("each call gets its own answer or a failure, never another's", async () => {
  const anyTurns = fc.array(fc.integer({ min: 1, max: 9 }), { minLength: 1, maxLength: 8 });
  const seen = { batches: 0, own: 0 };
  await fc.assert(
    fc.asyncProperty(
      anyNode,
      anyTurns,
      fc.option(fc.integer({ min: 2, max: 6 }), { nil: undefined }),
      async (told, turns, batch) => {
        const { connection, counts } = slippingNode(told);
        const sizes = new BatchSizes({ configured: batch }, { clock: systemClock });
        const batching = new BatchingConnection({ connection, clock: systemClock, sizes });
        let turn: SharedTurn = newTurn(1);
        const calls: Promise<readonly [number, Exchange]>[] = [];
        for (const count of turns) {
          for (let left = count; left > 0; left -= 1) {
            turn = turn.room > 0 ? joined(turn) : newTurn(sizes.take("state"));
            const id = calls.length + 1;
            const sent = batching.send({ id, json: requestJson(id, "m", "[]"), turn }, never);
            calls.push(sent.then((exchange) => [id, exchange]));
          }
          await new Promise(setImmediate);
        }
        for (const [id, exchange] of await Promise.all(calls)) {
          const reply = readReply(exchange, id);
          if (reply.kind === "result") expect(String(reply.json)).toBe(`"of ${id}"`);
          if (reply.kind === "refused") expect(reply.message).toBe(`of ${id}`);
          if (reply.kind === "result") seen.own += 1;
        }
        seen.batches += counts.batches;
      },
    ),
    { numRuns: 300 },
  );
  expect(seen.batches).toBeGreaterThan(300);
  expect(seen.own).toBeGreaterThan(1_000);
});
