// Networks without a chain id in the configuration: the gateway asks an anvil, and keeps the answer.
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type AnvilNode, startAnvil } from "../support/anvil-node.ts";
import { ask } from "../support/ask.ts";
import {
  type RunningGateway,
  runCommand,
  startGatewayProcess,
} from "../support/gateway-process.ts";
import { until } from "../support/processes.ts";
import { result, startScriptedNode } from "../support/scripted-node.ts";

let anvil: AnvilNode;
let folder: string;
const running: RunningGateway[] = [];

beforeAll(async () => {
  const started = await startAnvil();
  if (!started) throw new Error("no anvil for this platform");
  anvil = started;
  folder = await mkdtemp(join(tmpdir(), "headgate-identify-"));
});
afterAll(async () => {
  for (const gateway of running) await gateway.stop();
  anvil.close();
  await rm(folder, { recursive: true });
});

async function start(name: string, upstreams: readonly string[], more: object = {}) {
  const data = join(folder, name);
  const gateway = await startGatewayProcess({ data, networks: { mine: { upstreams } }, ...more });
  running.push(gateway);
  return gateway;
}

const chainIdAt = async (gateway: RunningGateway): Promise<unknown> =>
  (await ask(gateway.endpoint("mine"), "eth_chainId")).result;

const statusOf = (gateway: RunningGateway): Promise<number> =>
  fetch(`${gateway.url}/readyz`).then(({ status }) => status);

const said = ({ log }: RunningGateway, text: string): readonly object[] =>
  log.filter(({ msg }) => msg?.includes(text));

describe("a network whose chain nobody wrote down", () => {
  it("is what its nodes say, and stays it over restarts without them, whatever another node says then", async () => {
    const first = await start("kept", [anvil.url]);
    expect(await chainIdAt(first)).toBe("0x7a69");
    expect(said(first, "the nodes reported the network's chain")).toMatchObject([
      { network: "mine", family: "evm", chainId: 31_337 },
    ]);
    await first.stop();
    const stranger = await startScriptedNode((call) => result(call, "null"));
    // The gateway answers eth_chainId from the kept chain id.
    const second = await start("kept", ["http://127.0.0.1:1", stranger.url]);
    expect(await chainIdAt(second)).toBe("0x7a69");
    const loud = await until("the stranger is kept out", async () =>
      said(second, "on another chain, and is not used").at(0),
    );
    expect(loud).toMatchObject({ level: 50, chainId: 1, want: 31_337 });
    await second.stop();
    await stranger.close();
  });

  it("is waited for while no node answers, and served as soon as one does", async () => {
    const gone = await startScriptedNode((call) => result(call, "null"));
    await gone.close();
    const gateway = await start("late", [gone.url]);
    expect(await statusOf(gateway)).toBe(503);
    const refused = await fetch(gateway.endpoint("mine"), {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: '{"jsonrpc":"2.0","id":1,"method":"eth_chainId"}',
    });
    expect([refused.status, await refused.text()]).toEqual([
      503,
      expect.stringContaining("has said yet which chain it is"),
    ]);
    expect(said(gateway, "the network is not served yet")).toHaveLength(1);
    const node = await startScriptedNode(
      (call) => result(call, "null"),
      Number(new URL(gone.url).port),
    );
    await until("it is served", async () => (await chainIdAt(gateway)) === "0x1");
    await gateway.stop();
    await node.close();
  });

  it("is not served while its nodes are of different chains", async () => {
    const stranger = await startScriptedNode((call) => result(call, "null"));
    const gateway = await start("differ", [anvil.url, stranger.url], { processes: 2 });
    expect(await statusOf(gateway)).toBe(503);
    expect(said(gateway, "its nodes are on different chains")).toMatchObject([
      { level: 50, said: expect.stringMatching(/chain 31337 \(evm\).*chain 1 \(evm\)/) },
    ]);
    const ready = await fetch(gateway.metricsUrl.replace("metrics", "readyz"));
    expect([ready.status, await ready.text()]).toEqual([
      503,
      expect.stringContaining("mine: none of its nodes has said which chain it is"),
    ]);
    const unidentified = async (): Promise<string | undefined> =>
      /^headgate_networks_unidentified (\d+)$/m.exec(
        await (await fetch(gateway.metricsUrl)).text(),
      )?.[1];
    expect(await unidentified()).toBe("1");
    await stranger.close();
    await until("the other one counts", async () => (await chainIdAt(gateway)) === "0x7a69");
    expect(await unidentified()).toBe("0");
    await gateway.stop();
  });
});

describe("headgate check", () => {
  it("says of such a network which chain its nodes are", async () => {
    const path = join(folder, "headgate.yaml");
    const networks = {
      mine: { upstreams: [anvil.url] },
      none: { upstreams: ["http://127.0.0.1:1"] },
    };
    await writeFile(path, JSON.stringify({ data: join(folder, "none"), networks }));
    const { code, stdout } = await runCommand(["check", "--config", path]);
    expect(stdout).toContain("✓ mine: chain 31337 (evm), according to its nodes");
    expect(stdout).toContain("✗ none: no node says which chain it is");
    expect(stdout).toMatch(/✓ mine \/ 127.0.0.1: anvil/);
    expect(code).toBe(1);
  });
});
