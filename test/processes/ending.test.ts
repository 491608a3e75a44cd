// The end of a gateway of several processes: by a signal, by kill -9, or by a configuration that replaces another.
import { once } from "node:events";
import { readFile, writeFile } from "node:fs/promises";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import type { Envelope } from "../support/ask.ts";
import { type RunningGateway, startGatewayProcess } from "../support/gateway-process.ts";
import { isAlive, until } from "../support/processes.ts";
import { result, type ScriptedNode, startScriptedNode } from "../support/scripted-node.ts";
import { stopwatch } from "../support/served-time.ts";
import { call, processesOf, startCaller } from "./callers.ts";

const CALLS = 40;

let node: ScriptedNode;
let gateway: RunningGateway;
let url: string;
/** Functions that send the node's answers to its open calls. */
let answers: (() => void)[];

async function start(): Promise<void> {
  answers = [];
  node = await startScriptedNode((question, response) => {
    if (question.method !== "eth_call") return result(question, '"0x1"');
    answers.push(() => response.end(result(question, '"0x2a"')));
    return undefined;
  });
  gateway = await startGatewayProcess({
    processes: 2,
    networks: {
      main: {
        ...{ family: "evm", chainId: 1, window: { blocks: 0 } },
        upstreams: [{ url: node.url, timeout: "20s" }],
      },
    },
  });
  url = gateway.endpoint("main");
}
async function stop(): Promise<void> {
  for (const answer of answers.splice(0)) answer();
  await gateway.stop();
  await node.close();
}

/** A different call for each index: the gateway would merge equal calls. */
const slowCall = (index: number): Promise<Envelope> => {
  const data = `0x${index.toString(16).padStart(8, "0")}`;
  return call(url, "eth_call", [{ to: `0x${"1".repeat(40)}`, data }, "latest"]);
};
const asked = (count: number): Promise<unknown> =>
  until("the node has all calls", async () => answers.length === count);

describe("a gateway of several processes", () => {
  beforeEach(start);
  afterEach(stop);

  it("that is told to end answers what it was asked, and no new connection", async () => {
    const running = Array.from({ length: CALLS }, (_, index) => slowCall(index));
    await asked(CALLS);
    const ended = once(gateway.process, "exit");
    gateway.process.kill("SIGTERM");
    await until("nobody is let in", () =>
      call(url, "eth_chainId").then(
        () => false,
        () => true,
      ),
    );
    for (const answer of answers.splice(0)) answer();
    const results = (await Promise.all(running)).map((each) => each.result);
    expect(results).toEqual(Array(CALLS).fill("0x2a"));
    expect(await ended).toEqual([0, null]);
  });

  it("ends at once when it is told twice", async () => {
    const children = [...(await processesOf(gateway.process.pid)).values()];
    const running = slowCall(0).catch(() => "cut");
    await asked(1);
    gateway.process.kill("SIGTERM");
    await until("nobody is let in", () =>
      call(url, "eth_chainId").then(
        () => false,
        () => true,
      ),
    );
    const ended = once(gateway.process, "exit");
    const toldAt = performance.now();
    await until("it is no echo", async () => performance.now() - toldAt > 1_000);
    gateway.process.kill("SIGTERM");
    expect(await ended).toEqual([1, null]);
    expect(await running).toBe("cut");
    await until("all are gone", async () => !children.some(isAlive));
  });

  it("leaves no process behind when the supervisor is killed", async () => {
    const children = [...(await processesOf(gateway.process.pid)).values()];
    expect(children).toHaveLength(3);
    gateway.process.kill("SIGKILL");
    await once(gateway.process, "exit");
    await until("all are gone", async () => !children.some(isAlive));
  });
});

describe("a gateway of several processes that goes on", () => {
  beforeAll(start);
  afterAll(stop);

  it("does not hang with a process that hangs", async () => {
    const children = await processesOf(gateway.process.pid);
    const hanging = children.get("server 2") ?? 0;
    process.kill(hanging, "SIGSTOP");
    const elapsedMs = stopwatch(gateway.process);
    const metrics = await (await fetch(gateway.metricsUrl)).text();
    expect(metrics).toContain("headgate_http_requests_total");
    expect(elapsedMs()).toBeLessThan(3_000);
    process.kill(hanging, "SIGCONT");
  });

  it("says so, and starts nobody, when the port is taken", async () => {
    const port = Number(new URL(gateway.url).port);
    await expect(
      startGatewayProcess({
        processes: 2,
        listen: { port },
        networks: {
          main: {
            family: "evm",
            chainId: 1,
            window: { blocks: 0 },
            upstreams: [{ url: node.url }],
          },
        },
      }),
    ).rejects.toThrow(`port ${port} is in use`);
  });

  it("takes another configuration in all processes, under load, without a failed call", async () => {
    const path = gateway.process.spawnargs.at(-1) ?? "";
    const settings = JSON.parse(await readFile(path, "utf8"));
    const callers = Array.from({ length: 8 }, () => startCaller(url, "eth_chainId"));
    await until("all call", async () => callers.every((each) => each.answers.length > 5));
    settings.keys.push({ name: "second", key: "second-key" });
    settings.networks.other = settings.networks.main;
    await writeFile(path, JSON.stringify(settings));
    gateway.process.kill("SIGHUP");
    await until("it is reloaded", async () =>
      gateway.log.some(({ msg }) => msg === "configuration reloaded"),
    );
    const other = gateway.endpoint("other", "second-key");
    await until("it is in force", async () => (await call(other, "eth_chainId")).result === "0x1");
    for (let count = 0; count < 32; count += 1)
      expect((await call(other, "eth_chainId")).result).toBe("0x1");
    await Promise.all(callers.map((each) => each.stop()));
    for (const { failures, answers: told } of callers) {
      expect(failures).toEqual([]);
      expect(told.every((each) => each.result === "0x1")).toBe(true);
    }
    settings.networks.main.chainId = "no number";
    await writeFile(path, JSON.stringify(settings));
    gateway.process.kill("SIGHUP");
    await until("the mistake is told", async () =>
      gateway.log.some(({ level, mistake }) => level === 50 && mistake !== undefined),
    );
    expect((await call(url, "eth_chainId")).result).toBe("0x1");
  });
});
