// Transactions of very many steps: read as they come, held packed, refused beyond the limits.
import { afterAll, describe, expect, it } from "vitest";
import { memory } from "../../bench/process-cost.ts";
import { ask, post } from "../support/ask.ts";
import { type RunningGateway, startGatewayProcess } from "../support/gateway-process.ts";
import { type SteppingNode, startSteppingNode } from "../support/stepping-node.ts";

const running: { stop?(): unknown; close?(): unknown }[] = [];
afterAll(async () => {
  for (const one of running.reverse()) await (one.stop?.() ?? one.close?.());
});

async function started(
  steps: number,
  traces = {},
): Promise<{ gateway: RunningGateway; node: SteppingNode; url: string }> {
  const node = await startSteppingNode(steps, 2);
  const upstreams = [{ url: node.url }];
  const network = {
    family: "evm",
    chainId: 1,
    upstreams,
    window: { blocks: 0 },
    limits: { traces },
  };
  const gateway = await startGatewayProcess({
    timeouts: { call: "120s" },
    networks: { eth: network },
  });
  running.push(node, gateway);
  return { gateway, node, url: gateway.endpoint("eth") };
}

const STEPS = 2_000_000;
const MEGABYTE = 1 << 20;

describe(`a transaction of ${STEPS} steps`, () => {
  it("takes less than 200 MB of memory, and all of them are told", async () => {
    const { gateway, node, url } = await started(STEPS);
    const { transaction } = node;
    const watch = new MemoryWatch(gateway);
    const params = [transaction, ["vmTrace"]];
    const call = { jsonrpc: "2.0", id: 1, method: "trace_replayTransaction", params };
    const response = await post(url, JSON.stringify(call), { "accept-encoding": "identity" });
    let operations = 0;
    let tail = "";
    for await (const chunk of response.body ?? []) {
      const text = Buffer.from(chunk).toString("latin1");
      operations += countIn(tail.slice(-MARK.length + 1) + text);
      tail = (tail + text).slice(-200);
    }
    expect(operations).toBe(STEPS);
    expect(tail).toMatch(/"used":\d+\}\}\]\}\}\}$/);
    expect(node.sentBytes).toBeGreaterThan(5e8);
    expect(watch.highest()).toBeLessThan(200 * MEGABYTE);
  }, 180_000);
});

const MARK = '{"pc":';
const countIn = (text: string): number => text.split(MARK).length - 1;

/** What the process has of its own, looked at ten times a second; zero where the system does not tell. */
class MemoryWatch {
  #highest = 0;
  readonly #timer: NodeJS.Timeout;

  constructor({ process: { pid } }: RunningGateway) {
    const look = (): void => {
      this.#highest = Math.max(this.#highest, memory(pid ?? 0).own);
    };
    this.#timer = setInterval(look, 100);
  }

  /** In bytes. Ends the watch. */
  highest(): number {
    clearInterval(this.#timer);
    return this.#highest;
  }
}

describe("beyond the limits", () => {
  it.each([
    [{ steps: 999 }, "999 steps"],
    [{ bytes: 50_000 }, "50000 bytes"],
  ])(
    "%j it is -32005, and the node is not listened to any longer",
    async (limits, what) => {
      const { node, url } = await started(1_000_000, limits);
      const { error } = await ask(url, "trace_replayTransaction", [node.transaction, ["vmTrace"]]);
      expect(error).toMatchObject({
        code: -32005,
        message: `the vmTrace of this transaction has more than ${what}; ask for trace and stateDiff alone`,
      });
      expect(node.sentBytes).toBeLessThan(500_000_000);
      const { result } = await ask(url, "trace_replayTransaction", [node.transaction, ["trace"]]);
      expect(result).toMatchObject({ vmTrace: null });
    },
    60_000,
  );

  it("exactly at the limit it is told", async () => {
    const { node, url } = await started(1000, { steps: 1000 });
    const { result } = await ask(url, "trace_replayTransaction", [node.transaction, ["vmTrace"]]);
    expect((result as { vmTrace: { ops: unknown[] } }).vmTrace.ops).toHaveLength(1000);
  });
});
