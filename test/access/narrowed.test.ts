// A filter tells only what its key may read at present: the real process over a real node, with reloads.
import { once } from "node:events";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { WebSocket } from "ws";
import { anvilCommand } from "../../packages/devnet/src/node-process.ts";
import { settled } from "../support/anvil-chain.ts";
import { type AnvilNode, startAnvil } from "../support/anvil-node.ts";
import { ask, type Envelope } from "../support/ask.ts";
import { type RunningGateway, startGatewayProcess } from "../support/gateway-process.ts";
import { until } from "../support/processes.ts";

const isHere = anvilCommand({ port: 1, chainId: 1 }) !== undefined;

describe.skipIf(!isHere)("a filter that was made before its key was bound to less", () => {
  let anvil: AnvilNode;
  let gateway: RunningGateway;
  const ids: Record<string, unknown> = {};

  const settings = (terms: object) => ({
    keys: [{ name: "test", key: "test-key", ...terms }],
    networks: {
      main: { family: "evm", chainId: anvil.chainId, upstreams: [{ url: anvil.url }] },
    },
  });
  const call = (method: string, ...params: unknown[]): Promise<Envelope> =>
    ask(gateway.endpoint("main"), method, params);
  const poll = async (name: string, method = "eth_getFilterChanges") =>
    (await call(method, ids[name])).error?.code ?? "told";

  beforeAll(async () => {
    anvil = (await startAnvil()) as AnvilNode;
    gateway = await startGatewayProcess(settings({}));
    await settled(gateway.endpoint("main"), anvil); // a filter needs a followed chain
    const { emitter, reverter } = anvil;
    ids["listed"] = (await call("eth_newFilter", { address: emitter })).result;
    ids["other"] = (await call("eth_newFilter", { address: [emitter, reverter] })).result;
    ids["all"] = (await call("eth_newFilter", { topics: [] })).result;
    ids["blocks"] = (await call("eth_newBlockFilter")).result;
  });

  afterAll(async () => {
    expect(await gateway.stop()).toBe(0);
    anvil.close();
  });

  it("tells what the key may still ask for, and refuses the rest as its creation would be", async () => {
    const told = async () => [
      await poll("listed"),
      await poll("other"),
      await poll("all"),
      await poll("all", "eth_getFilterLogs"),
      await poll("blocks"),
    ];
    expect(await told()).toEqual(["told", "told", "told", "told", "told"]);
    await gateway.reload(settings({ contracts: [anvil.emitter] }));
    expect(await told()).toEqual(["told", -32002, -32002, -32002, "told"]);
    await gateway.reload(settings({ methods: ["eth_getFilter*", "eth_newBlockFilter"] }));
    expect(await told()).toEqual([-32004, -32004, -32004, -32004, "told"]);
    await gateway.reload(settings({ networks: [] }));
    expect(await told()).toEqual([-32002, -32002, -32002, -32002, -32002]);
    await gateway.reload(settings({}));
    expect(await told()).toEqual(["told", "told", "told", "told", "told"]);
  });

  it.each([
    { of: "other networks", terms: { networks: [] } },
    { of: "other addresses", terms: { addresses: ["10.1.2.3"] } },
    { of: "other origins", terms: { origins: ["https://elsewhere.example"] } },
  ])("is pushed nothing more once its key is bound to $of", async ({ terms }) => {
    const socket = new WebSocket(gateway.endpoint("main").replace("http", "ws"));
    const told: string[] = [];
    await once(socket, "open");
    socket.on("message", (data) => told.push(String(data)));
    socket.send('{"jsonrpc":"2.0","id":1,"method":"eth_subscribe","params":["newHeads"]}');
    await until("it is subscribed", async () => told.length === 1);
    const events = await fetch(`${gateway.endpoint("main")}/events?stream=newHeads`);
    expect(events.status).toBe(200);
    const ended = once(socket, "close");
    await gateway.reload(settings(terms));
    await ask(anvil.url, "anvil_mine", ["0x2"]);
    expect((await ended)[0]).toBe(1008);
    expect(told).toHaveLength(1);
    expect(await events.text()).not.toContain("parentHash");
    await gateway.reload(settings({}));
  });
});
