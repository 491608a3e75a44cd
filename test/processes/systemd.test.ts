// The notifications to a service manager, over a socket like systemd's: the gateway is ready, reloads, stops, or is
// alive.
import { spawnSync } from "node:child_process";
import { once } from "node:events";
import { pino } from "pino";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { SdNotify } from "../../src/cli/sd-notify.ts";
import { type AnvilNode, startAnvil } from "../support/anvil-node.ts";
import { atDepth } from "../support/depth.ts";
import { FakeClock } from "../support/fake-clock.ts";
import {
  type GatewaySettings,
  type RunningGateway,
  startGatewayProcess,
} from "../support/gateway-process.ts";
import { hasSystemdNotify, type NotifySocket, openNotifySocket } from "../support/notify-socket.ts";
import { isAlive, until } from "../support/processes.ts";
import { call } from "./callers.ts";

let socket: NotifySocket;
let gateway: RunningGateway | undefined;

beforeEach(async () => {
  socket = await openNotifySocket();
});
afterEach(async () => {
  await gateway?.stop();
  gateway = undefined;
  await socket.close();
});

const tells = (what: RegExp, from = 0): Promise<unknown> =>
  until(`it tells ${what}`, async () => socket.told.slice(from).some((line) => what.test(line)));

describe.skipIf(!hasSystemdNotify)("a gateway that systemd started", () => {
  let anvil: AnvilNode;
  let settings: GatewaySettings;
  const start = async (processes: number): Promise<RunningGateway> => {
    const environment = { NOTIFY_SOCKET: socket.path, WATCHDOG_USEC: "300000" };
    gateway = await startGatewayProcess({ ...settings, processes }, environment);
    return gateway;
  };

  beforeAll(async () => {
    const node = await startAnvil();
    if (!node) throw new Error("there is no anvil for this machine");
    anvil = node;
    const upstreams = [{ url: anvil.url }];
    settings = { networks: { main: { family: "evm", chainId: anvil.chainId, upstreams } } };
  });
  afterAll(() => anvil.close());

  it.each(atDepth([1], [1, 2]))(
    "says so of %i processes that answer: ready, well, reloading, stopping",
    async (processes) => {
      const { process: child, reload, endpoint } = await start(processes);
      await tells(/^READY=1$/);
      expect(socket.told[0]).toBe("READY=1");
      expect(await call(endpoint("main"), "eth_blockNumber")).toHaveProperty("result");
      await tells(/^WATCHDOG=1$/);

      for (const changed of [{ ...settings, log: { level: "info" } }, "networks: nonsense"]) {
        const from = socket.told.length;
        const before = process.hrtime.bigint() / 1000n;
        await reload(changed);
        await tells(/^READY=1$/, from);
        const [reloading, ready] = socket.told.slice(from).filter((line) => line !== "WATCHDOG=1");
        const at = BigInt(/^RELOADING=1 MONOTONIC_USEC=(\d+)$/.exec(reloading ?? "")?.[1] ?? 0);
        expect(at).toBeGreaterThanOrEqual(before);
        expect(ready).toBe("READY=1");
      }

      const ended = once(child, "exit");
      const shells = shellsOf(child.pid);
      expect(shells).toHaveLength(1);
      child.kill("SIGTERM");
      for (const shell of shells) process.kill(shell, "SIGTERM"); // as KillMode=control-group does
      expect(await ended).toEqual([0, null]);
      expect(socket.told.filter((line) => line === "STOPPING=1")).toHaveLength(1);
      await until("its shell is gone", async () => !shells.some(isAlive));
    },
  );
});

describe.skipIf(!hasSystemdNotify)("signs of life", () => {
  const log = pino({ level: "silent" });

  it("are not given while nobody answers callers", async () => {
    const clock = new FakeClock();
    const environment = { NOTIFY_SOCKET: socket.path, WATCHDOG_USEC: "30000000" };
    const systemd = new SdNotify(environment, { clock, log });
    let answers = true;
    systemd.serves(() => answers);
    answers = false;
    for (let times = 0; times < 5; times += 1) await clock.advance(10_000);
    answers = true;
    await clock.advance(10_000);
    systemd.stops();
    await tells(/^STOPPING=1$/);
    expect(socket.told).toEqual(["READY=1", "WATCHDOG=1", "WATCHDOG=1", "STOPPING=1"]);
  });

  it("are for the process that is asked for them", async () => {
    const clock = new FakeClock();
    const environment = {
      ...{ NOTIFY_SOCKET: socket.path, WATCHDOG_USEC: "30000000" },
      WATCHDOG_PID: `${process.pid + 1}`,
    };
    const systemd = new SdNotify(environment, { clock, log });
    systemd.serves(() => true);
    for (let times = 0; times < 5; times += 1) await clock.advance(10_000);
    systemd.stops();
    await tells(/^STOPPING=1$/);
    expect(socket.told).toEqual(["READY=1", "STOPPING=1"]);
  });
});

const shellsOf = (pid: number | undefined): number[] =>
  spawnSync("pgrep", ["-P", `${pid}`, "-x", "sh"])
    .stdout.toString()
    .split("\n")
    .map(Number)
    .filter((child) => child > 0);
