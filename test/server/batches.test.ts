// Calls that go to a node as one batch, over the real process: some nodes handle batches well, others break them in
// many ways. Each caller gets its own answer all the same.
import type { ServerResponse } from "node:http";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type FakeNode, httpNode } from "../support/fake-node.ts";
import { type RunningGateway, startGatewayProcess } from "../support/gateway-process.ts";
import { until } from "../support/processes.ts";
import { textOf } from "../support/request-text.ts";
import { stopwatch } from "../support/served-time.ts";

type Call = { readonly id: number; readonly method: string; readonly params: readonly unknown[] };

/** The value of each slot is the slot's number, so that each answer is different. */
function answerTo({ id, method, params }: Call): string {
  const known: Record<string, string> = { eth_chainId: "0x1", eth_blockNumber: "0x10" };
  return JSON.stringify({ jsonrpc: "2.0", id, result: known[method] ?? params[1] });
}

type Misdeed = (calls: readonly Call[], response: ServerResponse) => void;

/** A delay far above the gateway's own timeout for a batch. */
const SLOW_MS = 8_000;

const MISDEEDS: Readonly<Record<string, Misdeed>> = {
  willing: (calls, response) => response.end(`[${calls.map(answerTo)}]`),
  shuffled: (calls, response) => response.end(`[${calls.map(answerTo).toReversed()}]`),
  "leaving-out": (calls, response) => response.end(`[${calls.slice(1).map(answerTo)}]`),
  doubling: ([first, ...others], response) =>
    response.end(`[${[first, first, ...others.slice(1)].map((one) => answerTo(one as Call))}]`),
  "answering-others": (calls, response) =>
    response.end(`[${calls.map((one) => answerTo({ ...one, id: one.id + 1_000_000 }))}]`),
  shifting: (calls, response) =>
    response.end(`[${calls.map((one) => answerTo({ ...one, id: one.id + 1 }))}]`),
  swapping: (calls, response) =>
    response.end(`[${calls.map((one) => answerTo({ ...one, id: Number.NaN }))}]`),
  "one-error": ([first], response) =>
    response.end(`{"jsonrpc":"2.0","id":${first?.id},"error":{"code":-32700,"message":"parse"}}`),
  "no-such-method": ([first], response) =>
    response.end(`{"jsonrpc":"2.0","id":${first?.id},"error":{"code":-32601,"message":"no"}}`),
  refusing: (_, response) => response.writeHead(413).end("too large"),
  failing: (_, response) => response.writeHead(502).end("<html>bad gateway</html>"),
  truncating: (calls, response) => response.end(`[${calls.map(answerTo)}]`.slice(0, -5)),
  resetting: (_, response) => void response.socket?.destroy(),
  huge: (calls, response) => {
    const padding = " ".repeat(1 << 20);
    response.end(`[${calls.map((one) => `${padding}${answerTo(one)}`)}]`);
  },
  slow: (calls, response) =>
    void setTimeout(() => response.end(`[${calls.map(answerTo)}]`), SLOW_MS),
};

const nodes = new Map<string, FakeNode>();
/** The number of requests from callers' calls at each node, and of batch members in them. */
const seen = new Map<string, { single: number; batches: number; members: number }>();
let gateway: RunningGateway;

beforeAll(async () => {
  for (const [name, misdeed] of Object.entries(MISDEEDS)) {
    const counts = { single: 0, batches: 0, members: 0 };
    seen.set(name, counts);
    const node = await httpNode(async (request, response) => {
      const asked = JSON.parse(await textOf(request)) as Call | Call[];
      if (Array.isArray(asked)) {
        counts.batches += 1;
        counts.members += asked.length;
        misdeed(asked, response);
      } else {
        if (asked.method === "eth_getStorageAt") counts.single += 1;
        response.end(answerTo(asked));
      }
    });
    nodes.set(name, node);
  }
  gateway = await startGatewayProcess({
    networks: Object.fromEntries(
      [...nodes].map(([name, { url }]) => [
        name,
        { family: "evm", chainId: 1, window: { blocks: 0 }, upstreams: [{ url }] },
      ]),
    ),
  });
});

afterAll(async () => {
  await gateway?.stop();
  await Promise.all([...nodes.values()].map((node) => node.close()));
});

const ADDRESS = `0x${"11".repeat(20)}`;
const slotAt = (index: number): string => `0x${index.toString(16).padStart(64, "0")}`;
const call = (index: number) => ({
  ...{ jsonrpc: "2.0", id: index, method: "eth_getStorageAt" },
  params: [ADDRESS, slotAt(index), "latest"],
});

async function send(network: string, body: unknown): Promise<unknown> {
  const response = await fetch(gateway.endpoint(network), {
    ...{ method: "POST", headers: { "content-type": "application/json" } },
    body: JSON.stringify(body),
  });
  return await response.json();
}

const answerFor = (index: number) => ({ jsonrpc: "2.0", id: index, result: slotAt(index) });
const indices = (count: number, from: number): number[] =>
  Array.from({ length: count }, (_, index) => from + index);

describe("of calls that come together", () => {
  it.each(Object.keys(MISDEEDS))("each has its own answer at a node that is %s", async (name) => {
    for (const from of [0, 1_000, 2_000]) {
      const batch = indices(60, from);
      const lone = indices(20, from + 500);
      const [together, ...each] = await Promise.all([
        send(name, batch.map(call)),
        ...lone.map((index) => send(name, call(index))),
      ]);
      expect(together).toEqual(batch.map(answerFor));
      expect(each).toEqual(lone.map(answerFor));
    }
  });

  it("many go as one request where that goes well", async () => {
    const requests = (): number => {
      const { batches = 0, single = 0 } = seen.get("willing") ?? {};
      return batches + single;
    };
    let from = 10_000;
    // On a busy machine the gateway needs a few rounds more to find the batch size.
    await until("a hundred calls are few requests", async () => {
      const before = requests();
      from += 100;
      expect(await send("willing", indices(100, from).map(call))).toEqual(
        indices(100, from).map(answerFor),
      );
      return requests() - before < 25;
    });
  });

  it("few are sent twice where it does not", () => {
    const bad = Object.keys(MISDEEDS).filter((name) => !["willing", "shuffled"].includes(name));
    for (const name of bad) {
      const { single = 0, members = 0 } = seen.get(name) ?? {};
      expect(single + members, name).toBeGreaterThanOrEqual(240);
      expect(single + members, name).toBeLessThan(260);
    }
  });

  it("none is kept for long by what the others wait for", async () => {
    const elapsedMs = stopwatch(gateway.process);
    const index = 9_000;
    expect(await send("slow", indices(40, index).map(call))).toEqual(
      indices(40, index).map(answerFor),
    );
    expect(elapsedMs()).toBeLessThan(SLOW_MS / 2);
  });
});
