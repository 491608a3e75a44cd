// Keys and drained nodes of two gateways over one Redis: each gateway learns of changes at the other, and both serve on
// while Redis is away.
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { anvilCommand } from "../../packages/devnet/src/node-process.ts";
import { type AnvilNode, startAnvil } from "../support/anvil-node.ts";
import { ask } from "../support/ask.ts";
import {
  type RunningGateway,
  runCommand,
  startGatewayProcess,
} from "../support/gateway-process.ts";
import { until } from "../support/processes.ts";
import { hasRedis, type RedisServer, startRedis } from "../support/redis-server.ts";
import { withinASecond } from "../support/served-time.ts";

const isHere = hasRedis && anvilCommand({ port: 1, chainId: 1 }) !== undefined;

describe.skipIf(!isHere)("keys over one Redis", () => {
  let anvil: AnvilNode;
  let redis: RedisServer;
  let gateways: readonly [RunningGateway, RunningGateway];

  beforeAll(async () => {
    anvil = (await startAnvil()) as AnvilNode;
    redis = await startRedis();
    const start = (): Promise<RunningGateway> =>
      startGatewayProcess({
        state: redis.url,
        networks: {
          main: {
            family: "evm",
            chainId: anvil.chainId,
            upstreams: [{ url: anvil.url, name: "own" }],
          },
        },
      });
    gateways = [await start(), await start()];
  });

  afterAll(async () => {
    for (const gateway of gateways) expect(await gateway.stop()).toBe(0);
    await redis.close();
    await anvil.close();
  });

  async function keys(...words: readonly string[]): Promise<string> {
    const { configPath } = gateways[0];
    const { code, stdout, stderr } = await runCommand(["keys", ...words, "--config", configPath]);
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    return stdout.trim();
  }

  const isOpen = async (gateway: RunningGateway, key: string): Promise<boolean> =>
    "result" in (await ask(gateway.endpoint("main", key), "eth_chainId"));

  const everywhere = (
    what: string,
    isSo: (gateway: RunningGateway) => Promise<boolean>,
  ): Promise<unknown> =>
    Promise.all(gateways.map((each) => withinASecond(what, () => isSo(each), each.process)));

  const works = (key: string): Promise<unknown> =>
    everywhere("the key works", (each) => isOpen(each, key));

  const isUnknown = (key: string): Promise<unknown> =>
    everywhere("the key is unknown", async (each) => !(await isOpen(each, key)));

  it("work everywhere within a second, and are revoked everywhere within a second", async () => {
    const key = await keys("create", "web", "--quiet");
    await works(key);
    await keys("revoke", "web");
    await isUnknown(key);
  });

  const isDrained = async ({ metricsUrl }: RunningGateway): Promise<boolean> =>
    (await (await fetch(metricsUrl)).text()).includes(
      'headgate_upstream_drained{network="main",upstream="own"} 1',
    );

  it("a node is drained everywhere within a second, by whichever gateway, and undrained", async () => {
    const tell = async (gateway: RunningGateway, act: "drain" | "undrain"): Promise<void> => {
      const url = gateway.metricsUrl.replace("/metrics", `/networks/main/upstreams/own/${act}`);
      const headers = { "content-type": "application/json" };
      expect((await fetch(url, { method: "POST", headers })).status).toBe(200);
    };
    await tell(gateways[0], "drain");
    expect(await isDrained(gateways[0])).toBe(true);
    await withinASecond("the other knows", () => isDrained(gateways[1]), gateways[1].process);
    await tell(gateways[1], "undrain");
    const [first] = gateways;
    await withinASecond("it is known", async () => !(await isDrained(first)), first.process);
  });

  it("go on while Redis is away; what was changed before it came back is caught up with", async () => {
    const known = await keys("create", "known", "--quiet");
    await works(known);
    await redis.kill();
    const { configPath } = gateways[0];
    const refused = await runCommand(["keys", "revoke", "known", "--config", configPath]);
    expect(refused).toMatchObject({ code: 1, stdout: "" });
    expect(refused.stderr).toContain("state cannot be reached");
    for (const gateway of gateways) expect(await isOpen(gateway, known)).toBe(true);

    await redis.start();
    const made = await keys("create", "after", "--quiet");
    // Each gateway finds out by itself that Redis is back.
    for (const gateway of gateways) await until("the key works", () => isOpen(gateway, made));
    await works(known);
    await keys("revoke", "known");
    await isUnknown(known);
  });
});
