// A gateway that is killed under load loses at most a second of the usage, and never counts a call twice.
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { post, read } from "../support/ask.ts";
import { atDepth } from "../support/depth.ts";
import { type RunningGateway, startGatewayProcess } from "../support/gateway-process.ts";
import { Random } from "../support/generated-chain/random.ts";
import { until } from "../support/processes.ts";
import { hasRedis, type RedisServer, startRedis } from "../support/redis-server.ts";
import { result, type ScriptedNode, startScriptedNode } from "../support/scripted-node.ts";

/** A killed gateway may lose the usage of the last second. */
const LOST_MS = 1_000;
const CALLERS = 4;
/** The seed of the moments at which the gateway is killed. */
const SEED = 17;

const CALL = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "eth_chainId", params: [] });

/** Callers that call without a pause until the gateway is gone. */
class Load {
  made = 0;
  /** The arrival of each answer. */
  readonly answeredAtMs: number[] = [];
  readonly #callers: readonly Promise<void>[];

  constructor(url: string) {
    this.#callers = Array.from({ length: CALLERS }, () => this.#call(url));
  }

  /** Waits until answers have come for so long. */
  async lastsFor(ms: number): Promise<void> {
    await until(`there were answers for ${ms} ms`, async () => {
      const [first = Number.POSITIVE_INFINITY] = this.answeredAtMs;
      return (this.answeredAtMs.at(-1) ?? 0) - first >= ms;
    });
  }

  ended(): Promise<unknown> {
    return Promise.all(this.#callers);
  }

  answeredUntil(ms: number): number {
    return this.answeredAtMs.filter((at) => at <= ms).length;
  }

  async #call(url: string): Promise<void> {
    for (;;) {
      this.made += 1;
      try {
        await (await post(url, CALL)).text();
      } catch {
        return;
      }
      this.answeredAtMs.push(performance.now());
    }
  }
}

const engines = [
  { engine: "LMDB", isThere: true },
  { engine: "Redis", isThere: hasRedis },
];

describe.each(engines.filter(({ isThere }) => isThere))("a gateway on $engine", ({ engine }) => {
  let data: string;
  let node: ScriptedNode;
  let redis: RedisServer | undefined;
  let gateway: RunningGateway;

  const start = (): Promise<RunningGateway> =>
    startGatewayProcess({
      data,
      log: { level: "info" },
      ...(redis ? { state: redis.url } : {}),
      networks: {
        main: { family: "evm", chainId: 1, window: { blocks: 0 }, upstreams: [{ url: node.url }] },
      },
    });
  const counted = async (): Promise<number> => {
    type Usage = { readonly usage: readonly { readonly method: string; readonly calls: number }[] };
    const { usage } = await read<Usage>(gateway.endpoint("main"), "headgate_usage");
    return usage.find(({ method }) => method === "eth_chainId")?.calls ?? 0;
  };

  beforeAll(async () => {
    data = await mkdtemp(join(tmpdir(), "headgate-usage-"));
    node = await startScriptedNode((call) => result(call, '"0x10"'));
    if (engine === "Redis") redis = await startRedis();
    gateway = await start();
  });
  afterAll(async () => {
    await gateway.stop();
    await node.close();
    await redis?.close();
    await rm(data, { recursive: true, force: true });
  });

  it(`loses at most a second when it is killed, and goes on from there (seed ${SEED})`, async () => {
    const random = new Random(SEED);
    let before = 0;
    for (const runMs of atDepth([1_700], [1_700, 2_450, 1_950])) {
      const load = new Load(gateway.endpoint("main"));
      await load.lastsFor(runMs + random.below(500));
      const killedAtMs = performance.now();
      gateway.process.kill("SIGKILL");
      await once(gateway.process, "exit");
      await load.ended();
      await gateway.stop();
      gateway = await start();
      const now = (await counted()) - before;
      expect(now).toBeLessThanOrEqual(load.made);
      expect(now).toBeGreaterThanOrEqual(load.answeredUntil(killedAtMs - LOST_MS));
      expect(load.answeredUntil(killedAtMs - LOST_MS)).toBeGreaterThan(50);
      before += now;
    }
  });

  it("loses nothing when it ends in good order", async () => {
    const before = await counted();
    const calls = Array.from({ length: 100 }, () => post(gateway.endpoint("main"), CALL));
    for (const call of calls) await (await call).text();
    expect(await gateway.stop()).toBe(0);
    gateway = await start();
    expect(await counted()).toBe(before + 100);
  });
});
