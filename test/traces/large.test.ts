// Transactions of very many steps: the gateway reads them as they come, and holds them compressed.
import { afterAll, describe, expect, it } from "vitest";
import { memory } from "../../bench/process-cost.ts";
import { post } from "../support/ask.ts";
import type { RunningGateway } from "../support/gateway-process.ts";
import { startOverSteps, stopOverSteps } from "./over-steps.ts";

afterAll(stopOverSteps);

const STEPS = 2_000_000;
const MEGABYTE = 1 << 20;

describe(`a transaction of ${STEPS} steps`, () => {
  it("takes less than 200 MB of memory, and all of them are told", async () => {
    const { gateway, node, url } = await startOverSteps(STEPS);
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

/** The anonymous memory of the process, sampled ten times a second; zero where the system does not tell. */
class MemoryWatch {
  #highest = 0;
  readonly #timer: NodeJS.Timeout;

  constructor({ process: { pid } }: RunningGateway) {
    const look = (): void => {
      this.#highest = Math.max(this.#highest, memory(pid ?? 0).own);
    };
    this.#timer = setInterval(look, 100);
  }

  /** The highest sample, in bytes. Ends the watch. */
  highest(): number {
    clearInterval(this.#timer);
    return this.#highest;
  }
}
