// Subscriptions over the real process and a real anvil: heads, logs and transactions as they come and go, and callers
// that go away and resume.
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { anvilCommand } from "../../packages/devnet/src/node-process.ts";
import { FilterClient, type Log } from "../filters/filter-client.ts";
import { reorganise } from "../filters/reorganise.ts";
import { emit, type Header, latest, logsOf, mine, settled } from "../support/anvil-chain.ts";
import { type AnvilNode, startAnvil } from "../support/anvil-node.ts";
import { ask, read } from "../support/ask.ts";
import { type RunningGateway, startGatewayProcess } from "../support/gateway-process.ts";
import { until } from "../support/processes.ts";
import { SocketCaller } from "../support/socket-caller.ts";

const isHere = anvilCommand({ port: 1, chainId: 1 }) !== undefined;

describe.skipIf(!isHere)("a subscription", () => {
  let anvil: AnvilNode;
  let gateway: RunningGateway;
  let data: string;
  let url: string;
  let caller: SocketCaller;

  const start = async (): Promise<void> => {
    gateway = await startGatewayProcess({
      data,
      keys: [
        { name: "test", key: "test-key" },
        { name: "other", key: "other-key" },
        { name: "poor", key: "poor-key", rate: { computeUnits: 5, burst: 10 } },
        { name: "few", key: "few-key", methods: ["eth_chainId"] },
        { name: "flapping", key: "flapping-key" },
      ],
      limits: { webSocket: { subscriptions: 30 } },
      networks: {
        main: {
          family: "evm",
          chainId: anvil.chainId,
          window: { blocks: 40 },
          upstreams: [{ url: anvil.url }],
        },
      },
    });
    url = gateway.endpoint("main");
  };

  const headIs = async (heads: () => readonly Header[]): Promise<void> => {
    const { hash } = await latest(anvil.url);
    await until("the head is pushed", async () => heads().at(-1)?.hash === hash);
  };
  /** Expects that each head follows the one before, or an older one after a reorg, and that none comes twice. */
  const expectLinked = (heads: readonly Header[]): void => {
    expect(new Set(heads.map(({ hash }) => hash)).size).toBe(heads.length);
    const known = new Set(heads.slice(0, 1).map(({ hash }) => hash));
    for (const [index, { parentHash, hash }] of heads.entries()) {
      if (index > 0 && !known.has(parentHash)) {
        const before = Number(heads[index - 1]?.number);
        expect(Number(heads[index]?.number), "a gap").toBeLessThanOrEqual(before);
      }
      known.add(hash);
    }
  };

  beforeAll(async () => {
    data = await mkdtemp(join(tmpdir(), "headgate-subscriptions-"));
    anvil = (await startAnvil()) as AnvilNode;
    await mine(anvil, 32);
    await start();
    await settled(url, anvil);
    caller = await SocketCaller.open(url);
  });
  afterAll(async () => {
    await caller.close();
    expect(await gateway.stop()).toBe(0);
    anvil.close();
    await rm(data, { recursive: true, force: true });
  });

  it("pushes every header in order, and the new branch from the fork on", async () => {
    const id = await caller.subscribe("newHeads");
    expect(id).toMatch(/^0x[1-9a-f][0-9a-f]{0,31}$/);
    const heads = (): Header[] => caller.resultsOf(id);
    const { number } = await latest(url);
    await mine(anvil, 5);
    await headIs(heads);
    await reorganise(anvil.url, 3);
    await headIs(heads);
    await mine(anvil, 2);
    await headIs(heads);
    const numbers = heads().map((head) => Number(head.number) - Number(number));
    expect(numbers.slice(0, 5)).toEqual([1, 2, 3, 4, 5]);
    expectLinked(heads());
    const [first] = heads();
    expect(Object.keys(first ?? {})).not.toContain("transactions");
    expect(first).toMatchObject({ logsBloom: expect.any(String), gasUsed: expect.any(String) });
    expect(caller.pushed[0]).toMatchObject({ jsonrpc: "2.0", method: "eth_subscription" });
    expect((await caller.ask("eth_unsubscribe", id)).result).toBe(true);
    expect((await caller.ask("eth_unsubscribe", id)).result).toBe(false);
    const before = heads().length;
    await mine(anvil, 1);
    await settled(url, anvil);
    expect(heads().length).toBe(before);
  });

  it("pushes logs, and removed ones before those of the new branch", async () => {
    const client = new FilterClient(await logsOf(anvil));
    const id = await caller.subscribe("logs", { address: anvil.emitter });
    const foreign = await caller.subscribe("logs", { address: `0x${"12".repeat(20)}` });
    let heard = 0;
    const hear = (): void => {
      const logs = caller.resultsOf<Log>(id);
      client.hear(logs.slice(heard));
      heard = logs.length;
    };
    const isTold = async (): Promise<void> => {
      const canonical = await logsOf(anvil);
      await until("all is told", async () => {
        hear();
        try {
          client.expectLogs(canonical);
          return true;
        } catch {
          return false;
        }
      });
    };
    await emit(anvil);
    await emit(anvil);
    await isTold();
    await reorganise(anvil.url, 2);
    await emit(anvil);
    await isTold();
    expect(caller.resultsOf<Log>(id).some(({ removed }) => removed)).toBe(true);
    expect(caller.resultsOf(foreign)).toEqual([]);
  });

  it("pushes the hashes of pending transactions", async () => {
    const id = await caller.subscribe("newPendingTransactions");
    const hash = await emit(anvil);
    await until("it is pushed", async () => caller.resultsOf(id).includes(hash));
    expect(caller.resultsOf(id).filter((each) => each === hash)).toHaveLength(1);
  });

  it("goes on under its id where it was, for a caller that comes again", async () => {
    const first = await SocketCaller.open(url);
    const id = await first.subscribe("newHeads");
    await mine(anvil, 2);
    await headIs(() => first.resultsOf(id));
    await first.close();
    await mine(anvil, 3);
    await reorganise(anvil.url, 1);
    await settled(url, anvil);
    const again = await SocketCaller.open(url);
    expect(await again.subscribe("newHeads", { resume: id })).toBe(id);
    await headIs(() => again.resultsOf(id));
    await mine(anvil, 1);
    await headIs(() => again.resultsOf(id));
    expectLinked([...first.resultsOf<Header>(id), ...again.resultsOf<Header>(id)]);
    await again.close();
  });

  it("leaves the socket that it is resumed away from, which is closed", async () => {
    const first = await SocketCaller.open(url);
    const id = await first.subscribe("newHeads");
    const closed = once(first.socket, "close");
    const second = await SocketCaller.open(url);
    expect(await second.subscribe("newHeads", { resume: id })).toBe(id);
    const [code, why] = (await closed) as [number, Buffer];
    expect([code, String(why)]).toEqual([4002, "a subscription was resumed elsewhere"]);
    expect(await second.subscribe("newHeads", { resume: id })).toBe(id);
    await mine(anvil, 1);
    await headIs(() => second.resultsOf(id));
    await second.close();
  });

  it("makes room for others when nobody is told of it any more, and its key has too many", async () => {
    const at = gateway.endpoint("main", "flapping-key");
    const first = await SocketCaller.open(at);
    const ids: string[] = [];
    for (let made = 0; made < 30; made += 1) ids.push(await first.subscribe("newHeads"));
    expect(await first.ask("eth_subscribe", "newHeads")).toMatchObject({ error: { code: -32005 } });
    await first.close();
    const second = await SocketCaller.open(at);
    const [oldest, newest] = [ids[0], ids.at(-1)];
    expect(await second.subscribe("newHeads", { resume: newest })).toBe(newest);
    for (let made = 0; made < 29; made += 1)
      await until(
        "there is room",
        async () => "result" in (await second.ask("eth_subscribe", "newHeads")),
      );
    const gone = { error: { code: -32000, message: "subscription not found" } };
    expect(await second.ask("eth_subscribe", "newHeads", { resume: oldest })).toMatchObject(gone);
    expect(await second.ask("eth_subscribe", "newHeads")).toMatchObject({
      error: { code: -32005 },
    });
    await mine(anvil, 1);
    await headIs(() => second.resultsOf(newest ?? ""));
    await second.close();
  });

  it("goes on after the gateway was killed", async () => {
    const id = await caller.subscribe("newHeads");
    await mine(anvil, 2);
    await headIs(() => caller.resultsOf(id));
    const before = caller.resultsOf<Header>(id);
    const dead = once(gateway.process, "exit");
    // The gateway writes the position a moment after the notification.
    await until("it is noted", async () => {
      await mine(anvil, 1);
      await headIs(() => caller.resultsOf(id));
      return true;
    });
    gateway.process.kill("SIGKILL");
    await dead;
    await mine(anvil, 3);
    await start();
    await settled(url, anvil);
    caller = await SocketCaller.open(url);
    expect(await caller.subscribe("newHeads", { resume: id })).toBe(id);
    await headIs(() => caller.resultsOf(id));
    const after = caller.resultsOf<Header>(id);
    expect(Number(after[0]?.number)).toBeLessThanOrEqual(Number(before.at(-1)?.number) + 2);
  });

  it("is resumed by its own key, with its own criteria", async () => {
    const id = await caller.subscribe("logs", { address: anvil.emitter });
    const other = await SocketCaller.open(gateway.endpoint("main", "other-key"));
    const gone = { error: { code: -32000, message: "subscription not found" } };
    expect(
      await other.ask("eth_subscribe", "logs", { address: anvil.emitter }, { resume: id }),
    ).toMatchObject(gone);
    expect(await caller.ask("eth_subscribe", "logs", {}, { resume: id })).toMatchObject(gone);
    expect(await caller.ask("eth_subscribe", "newHeads", { resume: id })).toMatchObject(gone);
    expect(await caller.ask("eth_subscribe", "newHeads", { resume: "0x1" })).toMatchObject(gone);
    expect(await other.ask("eth_unsubscribe", id)).toMatchObject({ result: false });
    expect(await read(url, "eth_newBlockFilter")).not.toBe(id);
    expect((await ask(url, "eth_getFilterChanges", [id])).error).toMatchObject({ code: -32000 });
    await other.close();
  });

  it.each([
    [["nothing"], -32602],
    [["logs", { address: "0x12" }], -32602],
    [["newPendingTransactions", { a: 1 }], -32602],
    [[], -32602],
  ])("of %j is refused", async (params, code) => {
    expect(await caller.ask("eth_subscribe", ...params)).toMatchObject({ error: { code } });
  });

  it("is refused over HTTP, and to a key that may not", async () => {
    expect((await ask(url, "eth_subscribe", ["newHeads"])).error).toMatchObject({ code: -32601 });
    const few = await SocketCaller.open(gateway.endpoint("main", "few-key"));
    expect(await few.ask("eth_subscribe", "newHeads")).toMatchObject({ error: { code: -32004 } });
    await few.close();
  });

  it("waits while its key has nothing left, and leaves nothing out", async () => {
    const poor = await SocketCaller.open(gateway.endpoint("main", "poor-key"));
    const id = await poor.subscribe("newHeads");
    await mine(anvil, 20);
    const { hash } = await latest(anvil.url);
    const heads = (): Header[] => poor.resultsOf(id);
    await until("all are pushed", async () => heads().at(-1)?.hash === hash);
    expect(heads()).toHaveLength(20);
    expectLinked(heads());
    await poor.close();
  });
});
