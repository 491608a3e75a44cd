import { expect, it } from "vitest";
import { FakeClock } from "../../test/support/fake-clock.ts";
import { HeadWatch } from "./head-watch.ts";
import type { Reply } from "./reply.ts";

const told: Reply = { kind: "result", json: Buffer.from('"0x1"') };

/** A watch over nodes a, b …; `asked` has what they were asked, with the time. */
function watch(
  answers: readonly (() => Promise<Reply>)[],
  options: { family?: "evm" | "conflux"; blockMs?: number } = {},
) {
  const { family = "evm", blockMs } = options;
  const clock = new FakeClock();
  const asked: string[] = [];
  const nodes = answers.map((answer, index) => ({
    ask: (method: string, params: string) => {
      asked.push(`${clock.now()} ${"abc"[index]} ${method} ${params}`);
      return answer();
    },
  }));
  const pool = { usable: () => nodes, blockMs };
  return { clock, asked, watched: new HeadWatch({ family }, { pool, clock }) };
}

const answering = (): Promise<Reply> => Promise.resolve(told);

it.each([
  { blockMs: undefined, everyMs: 500 },
  { blockMs: 250, everyMs: 500 },
  { blockMs: 2_000, everyMs: 1_000 },
  { blockMs: 12_000, everyMs: 6_000 },
  { blockMs: 600_000, everyMs: 6_000 },
])("asks every $everyMs ms where a block takes $blockMs", async ({ blockMs, everyMs }) => {
  const { clock, asked, watched } = watch(
    [answering, answering],
    blockMs === undefined ? {} : { blockMs },
  );
  watched.start();
  await clock.advance(0);
  expect(asked).toEqual(["0 a eth_blockNumber []", "0 b eth_blockNumber []"]);
  await clock.advance(everyMs - 1);
  expect(asked).toHaveLength(2);
  await clock.advance(1);
  expect(asked).toHaveLength(4);
  await watched.close();
  expect(clock.waiting).toBe(0);
});

it("asks Conflux nodes for the newest epoch whose state is there", async () => {
  const { clock, asked, watched } = watch([answering, answering], { family: "conflux" });
  watched.start();
  await clock.advance(0);
  expect(asked[0]).toBe('0 a cfx_epochNumber ["latest_state"]');
  await watched.close();
});

it("asks nobody who has not answered, and the others still", async () => {
  const { clock, asked, watched } = watch([() => new Promise(() => undefined), answering]);
  watched.start();
  await clock.advance(500);
  expect(asked.map((line) => line.split(" ")[1])).toEqual(["a", "b", "b"]);
  await watched.close();
});

it("asks nobody where there is one node", async () => {
  const { clock, asked, watched } = watch([answering]);
  watched.start();
  await clock.advance(500);
  expect(asked).toEqual([]);
  await watched.close();
});
