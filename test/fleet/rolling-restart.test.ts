// An upgrade: the gateways of a fleet restart one after the other. Callers go on behind a load balancer, which takes
// the gateways in turn, and the next one when a connection fails or the answer is 503.
import { setTimeout as pause } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { post } from "../support/ask.ts";
import { until } from "../support/processes.ts";
import { canRunFleet, type Fleet, type FleetGateway, startFleet } from "./fleet.ts";

const CALLERS = 8;
const ROUNDS = 2;

describe.skipIf(!canRunFleet)("a fleet that is restarted, one gateway after the other", () => {
  let fleet: Fleet;

  beforeAll(async () => {
    fleet = await startFleet();
  });
  afterAll(() => fleet.close());

  it("answers each call, and a drained gateway breaks off none that it began", async () => {
    const seen = { answered: 0, passedOn: 0, brokenOff: [] as string[], lost: [] as string[] };
    let turn = 0;
    let isStopped = false;
    const body = (id: number): string =>
      JSON.stringify(
        id % 2
          ? { jsonrpc: "2.0", id, method: "eth_getBlockByNumber", params: ["0x1", true] }
          : {
              jsonrpc: "2.0",
              id,
              method: "eth_getBalance",
              params: [fleet.anvil.sender, "latest"],
            },
      );

    const tryAt = async (gateway: FleetGateway, id: number): Promise<boolean> => {
      const response = await post(gateway.endpoint(), body(id)).catch(() => undefined);
      if (!response || response.status === 503) return false;
      const text = await response.text().catch((error) => {
        seen.brokenOff.push(String(error));
        return "{}";
      });
      const answer = JSON.parse(text) as { id?: number; result?: unknown };
      return response.status === 200 && answer.id === id && (answer.result ?? null) !== null;
    };
    const call = async (id: number): Promise<void> => {
      turn += 1;
      const [one, two] = fleet.gateways;
      const order = turn % 2 ? [one, two, one] : [two, one, two];
      for (const [attempt, gateway] of order.entries()) {
        if (attempt > 0) seen.passedOn += 1;
        if (await tryAt(gateway, id)) {
          seen.answered += 1;
          return;
        }
      }
      seen.lost.push(`call ${id}`);
    };
    const callers = Array.from({ length: CALLERS }, async (_, caller) => {
      for (let id = caller; !isStopped; id += CALLERS) {
        await call(id);
        await pause(1);
      }
    });

    const isReady = (gateway: FleetGateway) => async (): Promise<boolean> => {
      const url = new URL("/readyz", gateway.endpoint());
      return (await fetch(url).catch(() => undefined))?.status === 200;
    };
    for (let round = 0; round < ROUNDS; round += 1)
      for (const gateway of fleet.gateways) {
        const before = seen.answered;
        expect(await gateway.stop()).toBe(0);
        await until("the other one goes on", async () => seen.answered > before + 100);
        await gateway.restart();
        await until("it is ready", isReady(gateway));
      }
    isStopped = true;
    await Promise.all(callers);

    console.info(`rolling restart: ${seen.answered} calls answered, ${seen.passedOn} passed on`);
    expect(seen.lost).toEqual([]);
    expect(seen.brokenOff).toEqual([]);
    expect(seen.passedOn).toBeGreaterThan(0);
  });
});
