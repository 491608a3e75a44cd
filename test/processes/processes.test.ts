// A writer and two servers over a real node: each of them is killed in turn.
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { type AnvilNode, startAnvil } from "../support/anvil-node.ts";
import { ask, read } from "../support/ask.ts";
import { atDepth } from "../support/depth.ts";
import { type RunningGateway, startGatewayProcess } from "../support/gateway-process.ts";
import { until } from "../support/processes.ts";
import { type Caller, call, processesOf, startCaller } from "./callers.ts";

const SERVERS = ["server 1", "server 2"];

let anvil: AnvilNode;
let gateway: RunningGateway;
let url: string;
const callers: Caller[] = [];

const start = async (): Promise<void> => {
  gateway = await startGatewayProcess({
    processes: 2,
    timeouts: { heartbeat: "2s" },
    networks: { main: { family: "evm", chainId: anvil.chainId, upstreams: [{ url: anvil.url }] } },
  });
  url = gateway.endpoint("main");
  await until("the chain is followed", async () => (await fetchBlock()).source === "store");
};

const fetchBlock = async (): Promise<{ source: string | null }> => {
  const body = '{"jsonrpc":"2.0","id":1,"method":"eth_getBlockByNumber","params":["0x2",false]}';
  const headers = { "content-type": "application/json" };
  const response = await fetch(url, { method: "POST", headers, body });
  await response.arrayBuffer();
  return { source: response.headers.get("x-headgate-source") };
};

const processOf = async (name: string): Promise<number> =>
  until(`${name} is there`, async () => (await processesOf(gateway.process.pid)).get(name));
const kill = async (name: string): Promise<number> => {
  const pid = await processOf(name);
  process.kill(pid, "SIGKILL");
  return pid;
};
/** Waits until another process has taken the place. */
const replaced = (name: string, before: number): Promise<unknown> =>
  until(`${name} is replaced`, async () => {
    const pid = (await processesOf(gateway.process.pid)).get(name);
    return pid !== undefined && pid !== before;
  });
const callForever = (count: number, method: string, params: readonly unknown[] = []): Caller[] => {
  const started = Array.from({ length: count }, () => startCaller(url, method, params));
  callers.push(...started);
  return started;
};
const answered = (some: readonly Caller[], more: number): Promise<unknown> => {
  const before = some.map(({ answers }) => answers.length);
  return until(`each got ${more} more answers`, async () =>
    some.every(({ answers }, index) => answers.length >= (before[index] ?? 0) + more),
  );
};
const serversThatAnswered = (method: string, from = 0): Set<unknown> => {
  const lines = gateway.log.slice(from).filter((line) => line["method"] === method);
  return new Set(lines.map((line) => line["process"]));
};
const metric = async (name: string): Promise<number> => {
  const text = await (await fetch(gateway.metricsUrl)).text();
  const values = text
    .split("\n")
    .filter((line) => line.startsWith(`${name}{`) || line.startsWith(`${name} `));
  return values.reduce((sum, line) => sum + Number(line.split(" ").at(-1)), 0);
};

beforeAll(async () => {
  const node = await startAnvil();
  if (!node) throw new Error("there is no anvil for this machine");
  anvil = node;
  await start();
});
afterAll(async () => {
  await gateway.stop();
  anvil.close();
});
afterEach(async () => {
  await Promise.all(callers.splice(0).map((caller) => caller.stop()));
});

describe("two servers and a writer", () => {
  it("share the connections, and tell one gateway's metrics", async () => {
    const before = await metric("headgate_calls_total");
    for (let count = 0; count < 64; count += 1) await call(url, "eth_chainId");
    expect([...serversThatAnswered("eth_chainId")].sort()).toEqual(SERVERS);
    expect((await metric("headgate_calls_total")) - before).toBe(64);
    const head = await read<string>(anvil.url, "eth_blockNumber");
    expect(await metric("headgate_head_block")).toBe(Number(head));
    expect(await metric("headgate_upstream_usable")).toBe(1);
    const listening = gateway.log.filter(({ msg }) => msg === "listening");
    expect(listening).toHaveLength(1);
  });

  it("never show a head that goes back, whichever server is asked", async () => {
    const heads: number[] = [];
    for (let count = 0; count < 30; count += 1) {
      await ask(anvil.url, "evm_mine");
      for (let again = 0; again < 6; again += 1)
        heads.push(Number((await call(url, "eth_blockNumber")).result));
    }
    expect(heads).toEqual(heads.toSorted((a, b) => a - b));
    await until("the last block is told", async () => {
      const told = Number((await call(url, "eth_blockNumber")).result);
      return told === Number(await read<string>(anvil.url, "eth_blockNumber"));
    });
  });
});

describe("a server that is killed", () => {
  it("costs its own requests only, and is replaced", async () => {
    const all = callForever(16, "eth_getBlockByNumber", ["0x2", false]);
    await answered(all, 20);
    const counted = await metric("headgate_calls_total");
    const pid = await kill("server 1");
    await replaced("server 1", pid);
    await answered(all, 20);
    for (const { failures, answers } of all) {
      expect(failures.length).toBeLessThanOrEqual(1); // the call that the killed server had
      expect(answers.filter(({ result }) => result === undefined)).toEqual([]);
    }
    expect(all.some(({ failures }) => failures.length === 0)).toBe(true);
    expect(await metric("headgate_calls_total")).toBeGreaterThan(counted);
    const logged = gateway.log.length;
    await until("the new server answers", async () => {
      await call(url, "eth_chainId");
      return serversThatAnswered("eth_chainId", logged).has("server 1");
    });
    const told = gateway.log.filter(({ msg }) => msg?.startsWith("a process ended"));
    expect(told).toMatchObject([{ child: "server 1", signal: "SIGKILL" }]);
  });
});

describe("a writer that is killed", () => {
  it("is missed by nobody who asks for what is stored, and its successor follows on", async () => {
    const all = callForever(4, "eth_getBlockByNumber", ["0x2", false]);
    await answered(all, 10);
    const pid = await kill("writer");
    await answered(all, 50);
    await replaced("writer", pid);
    await ask(anvil.url, "evm_mine");
    const head = await read<string>(anvil.url, "eth_blockNumber");
    await until(
      "the head moves again",
      async () => (await call(url, "eth_blockNumber")).result === head,
    );
    for (const { failures, answers } of all) {
      expect(failures).toEqual([]);
      expect(answers.filter(({ result }) => result === undefined)).toEqual([]);
    }
  });

  it("does not make a filter tell a block twice, or leave one out", async () => {
    const id = (await call(url, "eth_newBlockFilter")).result;
    const first = Number(await read<string>(anvil.url, "eth_blockNumber")) + 1;
    const told: unknown[] = [];
    const poll = async (): Promise<void> => {
      const { result, error } = await call(url, "eth_getFilterChanges", [id]);
      if (error) throw new Error(error.message);
      told.push(...(result as unknown[]));
    };
    for (let count = 0; count < 40; count += 1) {
      await ask(anvil.url, "evm_mine");
      if (count === 15) await kill("writer");
      await poll();
    }
    const last = Number(await read<string>(anvil.url, "eth_blockNumber"));
    const mined: unknown[] = [];
    for (let number = first; number <= last; number += 1) {
      const tag = `0x${number.toString(16)}`;
      mined.push(
        (await read<{ hash: string }>(anvil.url, "eth_getBlockByNumber", tag, false)).hash,
      );
    }
    await until("all is told", async () => {
      await poll();
      return told.length >= mined.length;
    });
    expect(told).toEqual(mined);
  });
});

const hanging = atDepth(["writer", "server 2"], ["writer", ...SERVERS]);

describe.each(hanging)("a process that hangs: the %s", (name) => {
  it("is replaced, and who asks is told nothing that is not so", async () => {
    const pid = await processOf(name);
    process.kill(pid, "SIGSTOP");
    await ask(anvil.url, "evm_mine");
    await replaced(name, pid);
    const head = await read<string>(anvil.url, "eth_blockNumber");
    await until("the head moves again", async () => {
      // The system may give the connection to the server that hangs.
      const told = await call(url, "eth_blockNumber").catch(() => undefined);
      return told?.result === head;
    });
    const told = gateway.log.filter(({ msg }) => msg === "a process hung, and was killed");
    expect(told.filter(({ child }) => child === name)).toHaveLength(1);
    const counted = `headgate_processes_replaced_total{process="${name}",why="hung"} 1`;
    expect(await (await fetch(gateway.metricsUrl)).text()).toContain(counted);
  });
});
