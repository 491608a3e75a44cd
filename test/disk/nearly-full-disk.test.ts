// A disk that has room for a few pages at one moment and for none at the next, while blocks come, filters are polled and
// keys are made: reads go on, and what was answered as done is there at the end, once.
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ExpectedLogs } from "../subscriptions/expected-notifications.ts";
import { ask, post } from "../support/ask.ts";
import { atDepth } from "../support/depth.ts";
import { type RunningGateway, startGatewayProcess } from "../support/gateway-process.ts";
import { startGeneratedNode } from "../support/generated-chain/serve.ts";
import { GeneratedChain } from "../support/generated-chain.ts";
import { until } from "../support/processes.ts";
import type { ScriptedNode } from "../support/scripted-node.ts";
import { mountSmallDisk, type SmallDisk } from "../support/small-disk.ts";

const TOKEN = "a-token-of-the-operators";
/** The room that is left in each round, in bytes. */
const ROOM = [0, 4_096, 65_536, 8_192, 262_144, 16_384, 0, 1_048_576];

const disk = mountSmallDisk(24);
if (!disk)
  console.warn("the tests of a nearly full disk are skipped: this user may not mount a disk");

describe.skipIf(!disk)("a nearly full disk", () => {
  const { path: data, ...room } = disk as SmallDisk;
  const chain = new GeneratedChain({
    seed: 9,
    transactions: [2, 6],
    logs: [4, 12],
    blockSeconds: 0,
  });
  let node: ScriptedNode;
  let gateway: RunningGateway;

  const start = (): Promise<RunningGateway> =>
    startGatewayProcess({
      data,
      admin: { listen: { port: 0 }, token: TOKEN },
      networks: {
        main: {
          family: "evm",
          chainId: 1,
          window: { blocks: 400 },
          upstreams: [{ url: node.url }],
        },
      },
    });
  beforeAll(async () => {
    chain.extend(20);
    node = await startGeneratedNode(chain);
    gateway = await start();
    await settled();
  });
  afterAll(async () => {
    room.empty();
    await gateway.stop();
    await node.close();
    room.remove();
  });

  const call = (method: string, ...params: unknown[]) =>
    ask(gateway.endpoint("main"), method, params);
  const settled = (): Promise<unknown> =>
    until("the head is the store's", async () => {
      const body = {
        jsonrpc: "2.0",
        id: 1,
        method: "eth_getBlockByNumber",
        params: ["latest", false],
      };
      const response = await post(gateway.endpoint("main"), JSON.stringify(body));
      const { result } = (await response.json()) as { result?: { hash: string } };
      return (
        response.headers.get("x-headgate-source") === "store" && result?.hash === chain.head.hash
      );
    });
  const admin = (path: string, body?: object): Promise<Response> =>
    fetch(new URL(path, gateway.metricsUrl), {
      ...(body && { method: "POST", body: JSON.stringify(body) }),
      headers: { authorization: `Bearer ${TOKEN}`, "content-type": "application/json" },
    });
  const keyNames = async (): Promise<readonly string[]> => {
    const { keys } = (await (await admin("/keys")).json()) as { keys: { name: string }[] };
    return keys.map(({ name }) => name);
  };

  it("loses nothing that was answered as done, and tells no log twice", async () => {
    const told = new ExpectedLogs(chain, {});
    const { result: id } = await call("eth_newFilter", {});
    const [made, refused, filters]: [string[], string[], unknown[]] = [[], [], [id]];
    const reasons = new Set<string>();
    const poll = async (): Promise<void> => {
      const { result: logs, error } = await call("eth_getFilterChanges", id);
      if (error) reasons.add(error.message);
      else for (const log of logs as unknown[]) told.hear(log);
    };
    for (let round = 0; round < atDepth(16, 48); round += 1) {
      room.fill(ROOM[round % ROOM.length]);
      if (round % 4 === 3) chain.reorganise(1, 2);
      else chain.extend(2);
      const { result: head } = await call("eth_getBlockByNumber", "latest", false);
      expect(head).toMatchObject({ number: expect.any(String) });
      await poll();
      const name = `key-${round}`;
      const response = await admin("/keys", { name }).catch(() => undefined);
      expect([201, 503]).toContain(response?.status);
      (response?.status === 201 ? made : refused).push(name);
      const filter = await call("eth_newFilter", { address: chain.words.addresses });
      if (filter.error) reasons.add(filter.error.message);
      else filters.push(filter.result);
      await poll();
      expect(gateway.process).toMatchObject({ exitCode: null, signalCode: null });
      if (round % 5 === 4) {
        room.empty();
        await settled();
      }
    }
    room.empty();
    await settled();
    await until("all logs are told", async () => {
      await poll();
      return told.whyNotAtEnd() === undefined;
    });
    for (const reason of reasons)
      expect(reason).toMatch(/no space is left on the disk|not followed/);
    expect([made.length > 0, refused.length > 0, reasons.size > 0]).toEqual([true, true, true]);
    const expectKept = async (): Promise<void> => {
      const names = await keyNames();
      for (const name of made) expect(names).toContain(name);
      for (const name of refused) expect(names).not.toContain(name);
    };
    await expectKept();
    await until("all is kept", async () => {
      const text = await (await admin("/metrics")).text();
      return /^headgate_state_texts_held 0$/m.test(text);
    });
    expect(await gateway.stop()).toBe(0);
    expect(gateway.log.map(({ msg }) => msg)).not.toContain("an unexpected error");
    gateway = await start();
    await settled();
    await expectKept();
    for (const each of filters)
      expect(await call("eth_uninstallFilter", each)).toMatchObject({ result: true });
  });
});
