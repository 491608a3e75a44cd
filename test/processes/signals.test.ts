// Signals to a gateway of one process and of several, over a chain that is being stored; and how soon the next gateway
// may start.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { type AnvilNode, startAnvil } from "../support/anvil-node.ts";
import { ask } from "../support/ask.ts";
import { atDepth } from "../support/depth.ts";
import {
  type GatewaySettings,
  type RunningGateway,
  startGatewayProcess,
} from "../support/gateway-process.ts";
import { isAlive, until } from "../support/processes.ts";
import { call, processesOf } from "./callers.ts";

let anvil: AnvilNode;
let data: string;
let running: RunningGateway[];
const left: number[] = [];

const settings = (processes: number, more: object = {}): GatewaySettings => ({
  ...{ processes, data, ...more },
  networks: { main: { family: "evm", chainId: anvil.chainId, upstreams: [{ url: anvil.url }] } },
});
const start = async (processes: number, more: object = {}): Promise<RunningGateway> => {
  const gateway = await startGatewayProcess(settings(processes, more));
  running.push(gateway);
  return gateway;
};
/** Log lines come through a pipe, and may arrive after the process has ended. */
const toldOnce = (gateway: RunningGateway, message: string): Promise<unknown> =>
  until(
    `it says once: ${message}`,
    async () => {
      const lines = gateway.log.filter(({ msg }) => msg?.startsWith(message));
      return lines.length === 1;
    },
    5_000,
  );
const pidOf = ({ process: { pid } }: RunningGateway): number => pid ?? 0;
const family = async (gateway: RunningGateway): Promise<number[]> => [
  pidOf(gateway),
  ...(await processesOf(pidOf(gateway))).values(),
];

beforeAll(async () => {
  const node = await startAnvil();
  if (!node) throw new Error("there is no anvil for this machine");
  anvil = node;
  await ask(anvil.url, "anvil_mine", ["0x400"]);
});
afterAll(() => anvil.close());
beforeEach(async () => {
  running = [];
  data = await mkdtemp(join(tmpdir(), "headgate-signals-"));
});
afterEach(async () => {
  await Promise.all(running.map((gateway) => gateway.stop()));
  for (const pid of left.splice(0)) if (isAlive(pid)) process.kill(pid, "SIGKILL");
  await rm(data, { recursive: true, force: true });
});

describe.each(atDepth([1], [1, 2]))("a gateway over %i processes that answer", (processes) => {
  it("drains once, whoever of its group is signalled, and leaves a line of each step", async () => {
    const gateway = await start(processes);
    const all = await family(gateway);
    const ended = once(gateway.process, "exit");
    // A process manager signals the whole group, and npm passes its own signal on.
    for (const pid of all) process.kill(pid, "SIGTERM");
    gateway.process.kill("SIGTERM");
    gateway.process.kill("SIGINT");
    expect(await ended).toEqual([0, null]);
    await until("all are gone", async () => !all.some(isAlive));
    for (const line of ["listening", "draining", "ended"]) await toldOnce(gateway, line);
    expect(gateway.log.filter(({ level }) => Number(level) >= 40)).toEqual([]);
  });

  it("is followed by the next one at once when it is killed", async () => {
    const first = await start(processes);
    const port = Number(new URL(first.url).port);
    first.process.kill("SIGKILL");
    await once(first.process, "exit");
    const next = await start(processes, { listen: { port } });
    expect((await call(next.endpoint("main"), "eth_chainId")).result).toBe("0x7a69");
  });

  it("is waited for by the next one while it ends, and named", async () => {
    const first = await start(processes);
    const next = spawn(process.execPath, ["bin/headgate.mjs", "--config", first.configPath], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    left.push(next.pid ?? 0);
    let told = "";
    next.stdout.on("data", (chunk) => {
      told += chunk;
    });
    const waiting = /"writer":"process (\d+)".*"waiting for the earlier gateway to end"/;
    await until("it waits", async () => waiting.test(told));
    const writer = (await processesOf(pidOf(first))).get("writer") ?? pidOf(first);
    expect(Number(waiting.exec(told)?.[1])).toBe(writer);
    first.process.kill("SIGTERM");
    await until("it has its place", async () => told.includes('"listening"'));
    next.kill("SIGTERM");
    expect(await once(next, "exit")).toEqual([0, null]);
  });
});

describe.each([1, 2])(
  "Ctrl-C while %i processes begin, their store is open already,",
  (processes) => {
    it("closes it in order, and the next one takes it over", async () => {
      const path = join(data, "headgate.yaml");
      const port = { listen: { port: 0 } };
      await writeFile(path, JSON.stringify({ ...settings(processes), ...port, admin: port }));
      const isLeftOpen = (): boolean => existsSync(join(data, "main/in-use"));
      const interrupted = async (): Promise<string> => {
        await rm(join(data, "main/in-use"), { force: true });
        const begun = spawn(process.execPath, ["bin/headgate.mjs", "--config", path], {
          stdio: ["ignore", "pipe", "inherit"],
        });
        left.push(begun.pid ?? 0);
        const told = text(begun.stdout);
        const ended = once(begun, "exit");
        await until("it opens the store", async () => isLeftOpen());
        begun.kill("SIGINT");
        expect(await ended).toEqual([0, null]);
        return told;
      };
      // A start that takes more than five seconds is interrupted before it listens: then the test tries again.
      let told = await interrupted();
      for (
        let more = 4;
        more > 0 && told.includes("the gateway ended before it listened");
        more -= 1
      )
        told = await interrupted();
      expect(told).toContain('"msg":"ended"');
      expect(isLeftOpen()).toBe(false);
      const next = await start(processes);
      expect(next.log.map(({ msg }) => msg)).not.toContainEqual(expect.stringContaining("damaged"));
    });
  },
);

/** A program in the place of npm, between the test and the gateway, with npm's variable in the environment. */
const NPM = `const env = { ...process.env, npm_lifecycle_event: "start" };
  const stdio = ["ignore", "inherit", "inherit"];
  require("node:child_process").spawn(process.execPath, process.argv.slice(1), { stdio, env });`;

it("a gateway is not left behind by an npm that is hung up on", async () => {
  const path = join(data, "headgate.yaml");
  const anyPort = { listen: { port: 0 } };
  await writeFile(path, JSON.stringify({ ...settings(1), ...anyPort, admin: anyPort }));
  const npm = spawn(process.execPath, ["-e", NPM, "bin/headgate.mjs", "--config", path], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  let told = "";
  npm.stdout.on("data", (chunk) => {
    told += chunk;
  });
  const closed = once(npm, "close");
  await until("it listens", async () => told.includes('"listening"'));
  npm.kill("SIGHUP");
  await closed; // all processes that write to the pipe have ended
  expect(told).toMatch(/"why":"npm, which started the gateway, has ended".*"ended"/s);
});
