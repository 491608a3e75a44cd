// Usage over the real process: known calls make an exact report, and a killed gateway loses a second at most.
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { priceList, readUsage, usageReportOf } from "../../src/access/usage/usage-report.ts";
import { daysIn, readRange } from "../../src/lib/calendar.ts";
import { systemClock } from "../../src/lib/clock.ts";
import { LmdbState } from "../../src/state/lmdb-state.ts";
import { lmdbPath } from "../../src/state/open-state.ts";
import { type AnvilNode, startAnvil } from "../support/anvil-node.ts";
import { ask, post, read } from "../support/ask.ts";
import { type RunningGateway, startGatewayProcess } from "../support/gateway-process.ts";
import { until } from "../support/processes.ts";
import { result, type ScriptedNode, startScriptedNode } from "../support/scripted-node.ts";

type Row = { readonly network: string; readonly method: string; readonly calls: number };
type Usage = {
  readonly key: string;
  readonly limits: object;
  readonly total: Readonly<Record<string, number>>;
  readonly usage: readonly Row[];
};

const KEYS = [
  { name: "app", key: "app-key" },
  { name: "narrow", key: "narrow-key", methods: ["eth_chainId", "headgate_usage"] },
  { name: "silent", key: "silent-key" },
];

const callText = (method: string, params: readonly unknown[] = []): string =>
  JSON.stringify({ jsonrpc: "2.0", id: 1, method, params });

/** The usage that the key's holder reads, by `<network> <method>`. */
async function usageOf(url: string): Promise<Map<string, Row>> {
  const { usage } = await read<Usage>(url, "headgate_usage");
  return new Map(usage.map(({ network, method, ...row }) => [`${network} ${method}`, row as Row]));
}

describe("known calls", () => {
  let anvil: AnvilNode | undefined;
  let slow: ScriptedNode;
  let data: string;
  let gateway: RunningGateway;
  const held: (() => void)[] = [];

  beforeAll(async () => {
    anvil = await startAnvil();
    slow = await startScriptedNode((call, response) => {
      if (call.method !== "eth_gasPrice") return result(call, '"0x10"');
      held.push(() => response.end(result(call, '"0x7"')));
      return undefined;
    });
    data = await mkdtemp(join(tmpdir(), "headgate-usage-"));
    gateway = await startGatewayProcess({
      data,
      keys: KEYS,
      prices: { computeUnits: 0.4 },
      networks: {
        followed: anvil && {
          family: "evm",
          chainId: anvil.chainId,
          window: { blocks: 40 },
          upstreams: [{ url: anvil.url }],
        },
        passed: {
          family: "evm",
          chainId: 1,
          window: { blocks: 0 },
          upstreams: [{ url: slow.url }],
        },
      },
    });
    await until("the window is filled", async () =>
      gateway.log.some(({ msg }) => msg === "the window is filled"),
    );
    await read(gateway.endpoint("passed", "silent-key"), "eth_getBalance", `0x${"11".repeat(20)}`);
  });
  afterAll(async () => {
    await gateway.stop();
    await slow.close();
    anvil?.close();
    await rm(data, { recursive: true, force: true });
  });

  it("make an exact bill of calls, compute units, bytes, errors and refusals", async () => {
    const url = gateway.endpoint("passed", "app-key");
    const texts = [
      callText("eth_getBalance", [`0x${"11".repeat(20)}`, "latest"]),
      callText("eth_getBalance", [`0x${"22".repeat(20)}`, "latest"]),
      callText("eth_getBalance", ["nobody"]),
    ];
    let bytes = 0;
    for (const text of texts) bytes += (await (await post(url, text)).text()).length;
    await post(url, `[${callText("web3_sha3", ["0x00"])}, ${callText("no_such")}]`);
    await ask(url, "no_other");
    const usage = await usageOf(url);
    const nothing = { day: expect.any(String), refused: 0, errors: 0 };
    expect(usage.get("passed eth_getBalance")).toEqual({
      ...nothing,
      calls: 3,
      computeUnits: 6,
      bytes,
      requestBytes: texts.join("").length,
      errors: 1,
      upstreamCalls: 2,
    });
    expect(usage.get("passed web3_sha3")).toMatchObject({ ...nothing, calls: 1, computeUnits: 1 });
    expect(usage.get("passed other")).toMatchObject({ calls: 2, computeUnits: 2, errors: 2 });
    expect([...usage.keys()]).toHaveLength(3);
  });

  it("tell the holder of a key of no other key, and what was turned away", async () => {
    const url = gateway.endpoint("passed", "narrow-key");
    await ask(url, "eth_gasPrice");
    await ask(url, "eth_chainId");
    const { key, total, usage } = await read<Usage>(url, "headgate_usage");
    expect(key).toBe("narrow");
    expect(total).toMatchObject({ calls: 1, computeUnits: 2, refused: 1, errors: 0 });
    expect(usage.map(({ method }) => method)).toEqual(["eth_chainId", "eth_gasPrice"]);
  });

  it("are saved by the store, by merging, and here", async () => {
    const price = Array.from({ length: 5 }, () =>
      read(gateway.endpoint("passed", "app-key"), "eth_gasPrice"),
    );
    await until("a node is asked, and the others wait", async () => held.length > 0);
    await until(
      "all are under way",
      async () => (await metric("headgate_http_requests_in_flight")) === 5,
    );
    for (const answer of held) answer();
    await Promise.all(price);
    if (anvil) {
      const followed = gateway.endpoint("followed", "app-key");
      await read(followed, "eth_getBlockByNumber", "0x1", false);
      await read(followed, "eth_chainId");
      await read(followed, "eth_getBalance", anvil.emitter, "latest");
      expect(await saved("followed", "store")).toBe(1);
      expect(await saved("followed", "here")).toBe(1);
      expect(await saved("followed", "merging")).toBe(0);
    }
    expect(await saved("passed", "merging")).toBe(4);
  });

  it("are in the bill that operators read, with what they would have cost", async () => {
    const url = gateway.endpoint("passed", "silent-key");
    await Promise.all(Array.from({ length: 50 }, () => read(url, "web3_sha3", "0x00")));
    const state = new LmdbState({ path: lmdbPath(data) });
    const range = readRange({}, { wallTimeMs: Date.now(), mostDays: 31 });
    if (range.kind === "mistake") throw new Error(range.why);
    const prices = priceList({ currency: "USD", computeUnits: 0.4, methods: { web3_sha3: 2 } });
    const row = await until("it is written", async () => {
      const rows = await readUsage(state, { ...range, key: "silent" }, { clock: systemClock });
      return usageReportOf(rows, range, prices).rows.find(({ calls }) => calls === 50);
    });
    await state.close();
    expect(daysIn(range)).toContain(row.day);
    expect(row).toMatchObject({ network: "passed", calls: 50, savedHere: 50, errors: 0 });
    expect(row).toMatchObject({ cost: 0.0001, savedCost: 0.0001, savedComputeUnits: 50 });
  });

  const metric = async (name: string): Promise<number> => {
    const text = await (await fetch(gateway.metricsUrl)).text();
    const line = text.split("\n").find((each) => each.startsWith(name));
    return Number(line?.split(" ").at(-1) ?? 0);
  };
  const saved = (network: string, how: string): Promise<number> =>
    metric(`headgate_calls_saved_total{network="${network}",how="${how}"}`);
});
