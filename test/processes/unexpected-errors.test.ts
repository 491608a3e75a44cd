// Unexpected errors in a real gateway: they are logged and counted, and the process is replaced cleanly.
import { once } from "node:events";
import { type AddressInfo, createServer } from "node:net";
import { afterEach, describe, expect, it } from "vitest";
import { ask } from "../support/ask.ts";
import { type RunningGateway, startGatewayProcess } from "../support/gateway-process.ts";
import { startGeneratedNode } from "../support/generated-chain/serve.ts";
import { GeneratedChain } from "../support/generated-chain.ts";
import { until } from "../support/processes.ts";
import { processesOf } from "./callers.ts";

const ERRORS = new URL("../support/unexpected-errors.mjs", import.meta.url).href;
const SIGNALS = { rejection: "SIGUSR2", exception: "SIGWINCH" } as const;

let gateway: RunningGateway;
let closeNode: () => Promise<unknown>;

async function start(processes: number): Promise<void> {
  const chain = new GeneratedChain({
    seed: 7,
    transactions: [1, 2],
    logs: [1, 2],
    blockSeconds: 0,
  });
  chain.extend(5);
  const node = await startGeneratedNode(chain);
  closeNode = () => node.close();
  const [port, adminPort] = [await freePort(), await freePort()];
  gateway = await startGatewayProcess(
    {
      ...{ processes, listen: { port }, admin: { listen: { port: adminPort } } },
      networks: { main: { family: "evm", chainId: 1, upstreams: [{ url: node.url }] } },
    },
    { NODE_OPTIONS: `--import ${ERRORS}` },
  );
}
afterEach(async () => {
  await gateway.stop();
  await closeNode();
});

const logged = (text: string): number => gateway.log.filter(({ msg }) => msg === text).length;
const counted = async (kind: string): Promise<string | undefined> =>
  new RegExp(`^headgate_unexpected_errors_total\\{kind="${kind}"\\} (\\d+)$`, "m").exec(
    await (await fetch(gateway.metricsUrl)).text(),
  )?.[1];
const answers = (): Promise<unknown> =>
  until("it answers", async () => {
    const told = await ask(gateway.endpoint("main"), "eth_chainId").catch(() => undefined);
    return told?.result === "0x1";
  });

describe.each(["rejection", "exception"] as const)("an unexpected %s", (kind) => {
  it("of one process alone is logged with its stack and counted, and the same process begins anew", async () => {
    await start(1);
    gateway.process.kill(SIGNALS[kind]);
    await until("it listens again", async () => logged("listening") === 2);
    const told = gateway.log.find(({ msg }) => msg === "an unexpected error");
    expect(told).toMatchObject({ level: 50, kind });
    expect(JSON.stringify(told)).toContain("unexpected-errors.mjs"); // the stack has the place of the error
    expect(logged("ended")).toBe(1); // the gateway ended cleanly
    await answers();
    expect(await counted(kind)).toBe("1");
    expect(gateway.process.exitCode).toBeNull();
  });

  it("of one of several processes has that one replaced, and the others answer", async () => {
    await start(2);
    const server = (await processesOf(gateway.process.pid)).get("server 1");
    if (server === undefined) throw new Error("there is no server 1");
    process.kill(server, SIGNALS[kind]);
    await until(
      "it is replaced",
      async () => logged("a process ended, and is started again") === 1,
    );
    await answers();
    expect(gateway.log.find(({ msg }) => msg === "an unexpected error")).toMatchObject({ kind });
    await until("it is counted", async () => (await counted(kind)) === "1");
  });
});

it("again and again does not replace a process each time, and a signal ends it for good", async () => {
  await start(1);
  gateway.process.kill(SIGNALS.rejection);
  await until("it listens again", async () => logged("listening") === 2);
  gateway.process.kill(SIGNALS.rejection);
  await until("it is counted", async () => (await counted("rejection")) === "2");
  await answers();
  expect(logged("listening")).toBe(2);
  const ended = once(gateway.process, "exit");
  gateway.process.kill("SIGTERM");
  expect((await ended)[0]).toBe(0);
});

it("again and again by exceptions does not end the gateway: it goes on, and is replaced later", async () => {
  await start(1);
  const { pid } = gateway.process;
  gateway.process.kill(SIGNALS.exception);
  await until("it listens again", async () => logged("listening") === 2);
  for (let times = 2; times < 6; times += 1) {
    gateway.process.kill(SIGNALS.exception);
    await until("it is counted", async () => (await counted("exception")) === String(times));
    await answers();
  }
  expect(logged("the process goes on, and is replaced later")).toBe(1);
  expect(logged("listening")).toBe(2);
  await until("it listens again", async () => logged("listening") === 3);
  await answers();
  expect(await counted("exception")).toBe("5");
  expect(gateway.process).toMatchObject({ pid, exitCode: null });
}, 60_000);

async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, "close");
  return port;
}
