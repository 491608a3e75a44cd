import { describe, expect, it } from "vitest";
import { FakeClock } from "../../test/support/fake-clock.ts";
import type { CrossCheckRule } from "./asking/call-options.ts";
import { Head, HeadWatch } from "./head.ts";
import type { Pool } from "./pool.ts";
import type { Reply } from "./reply.ts";

const never = () => new AbortController().signal;

/** A head over a node that gives these answers in order; `asked` has the calls. */
function headOver(family: "evm" | "conflux", ...answers: string[]) {
  const asked: string[] = [];
  const head = new Head(
    { family },
    {
      upstream: {
        call: async (method, paramsJson, signal) => {
          asked.push(`${method} ${paramsJson}`);
          if (signal.aborted) throw signal.reason;
          return Buffer.from(answers.shift() ?? "null");
        },
      },
    },
  );
  return { head, asked };
}

describe("a head that is lower than the highest one seen", () => {
  it("is asked of another node", async () => {
    const rules: CrossCheckRule[] = [];
    const answers = ['"0x10"', '"0x10"'];
    const call = async (...[, , , options]: Parameters<Pool["call"]>): Promise<Buffer> => {
      if (options?.crossCheck) rules.push(options.crossCheck);
      return Buffer.from(answers.shift() ?? "null");
    };
    const head = new Head({ family: "evm" }, { upstream: { call } });
    await head.loneView(never).latest();
    await head.loneView(never).latest();
    const [, rule] = rules;
    const isUncertain = (json: string) =>
      rule?.isUncertain({ kind: "result", json: Buffer.from(json) });
    expect(['"0xf"', '"0x10"', '"0x11"', '"?"'].map(isUncertain)).toEqual([
      true,
      false,
      false,
      false,
    ]);
  });
});

describe("the view of a batch", () => {
  it("asks once, and is one and the same for all its members", async () => {
    const { head, asked } = headOver("evm", '"0x10"', '"0x11"');
    const view = head.batchView(never);
    const seen = await Promise.all([
      view.latest(),
      view.atLeast(3),
      view.pin("latest"),
      view.pin({ blockHash: "0x1" }),
      view.pin("pending"),
    ]);
    expect(seen).toEqual([16, 16, "0x10", { blockHash: "0x1" }, "pending"]);
    expect(asked).toEqual(["eth_blockNumber []"]);
  });

  it("asks nothing when no member wants to know", () => {
    const { head, asked } = headOver("evm");
    expect(head.batchView(never).pin("0x1")).toBe("0x1");
    expect(asked).toEqual([]);
  });

  it("asks again for the next member when the one that asked was aborted", async () => {
    const { head, asked } = headOver("evm", '"0x10"');
    const signals = [AbortSignal.abort(), never()];
    const view = head.batchView(() => signals.shift() ?? never());
    await expect(view.latest()).rejects.toThrow("abort");
    expect(await view.latest()).toBe(16);
    expect(await view.pin("latest")).toBe("0x10");
    expect(asked).toHaveLength(2);
  });

  it("pins nothing on an epoch network", () => {
    expect(headOver("conflux").head.batchView(never).pin("latest")).toBe("latest");
  });
});

describe("the view of a lone call", () => {
  it("leaves `latest` as it is, at once", () => {
    const { head, asked } = headOver("evm");
    expect(head.loneView(never).pin("latest")).toBe("latest");
    expect(asked).toEqual([]);
  });

  it("asks for `latest` each time", async () => {
    const view = headOver("conflux", '"0x1"', '"0x2"').head.loneView(never);
    expect([await view.latest(), await view.latest()]).toEqual([1, 2]);
  });

  it("asks for at least a number only when the last known head is lower", async () => {
    const { head, asked } = headOver("evm", '"0x10"', '"0x12"');
    const view = head.loneView(never);
    const seen = [];
    for (const number of [5, 16, 3, 17, 18]) seen.push(await view.atLeast(number));
    expect(seen).toEqual([16, 16, 16, 18, 18]);
    expect(asked).toHaveLength(2);
  });
});

describe("the head", () => {
  it.each([
    ["evm", '{"number":"0x64","timestamp":"0x5"}', "eth_getBlockByNumber", 100],
    [
      "conflux",
      '{"epochNumber":"0x65","height":"0x1","timestamp":"0x5"}',
      "cfx_getBlockByEpochNumber",
      101,
    ],
  ] as const)("of %s is read with its time", async (family, block, method, number) => {
    const { head, asked } = headOver(family, block);
    expect(await head.read(never())).toEqual({ number, timestampMs: 5_000 });
    expect(asked[0]).toMatch(method);
  });

  it.each(["null", '""', '"0x"', '"16"', "16", "{}", '{"number":"0x1"}', "{number:1}"])(
    "that is %s is no head",
    async (answer) => {
      const failure = { status: 502, message: "no upstream could answer" };
      await expect(headOver("evm", answer).head.read(never())).rejects.toMatchObject(failure);
      const view = headOver("evm", answer).head.loneView(never);
      await expect(view.latest()).rejects.toMatchObject(failure);
    },
  );
});

const told: Reply = { kind: "result", json: Buffer.from('"0x1"') };

/** A watch over nodes a, b …; `asked` has their calls, with the time. */
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
