// Logs of old blocks are only as good as the node that gave them: the gateway checks them against the query, keeps them
// with the node's name, and drops them when the node has lied or leaves the configuration.
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { store } from "../../src/cli/store.ts";
import { post } from "../support/ask.ts";
import { commandHere } from "../support/command-here.ts";
import { type RunningGateway, startGatewayProcess } from "../support/gateway-process.ts";
import { answerOf } from "../support/generated-chain/answers.ts";
import { GeneratedChain } from "../support/generated-chain.ts";
import { until } from "../support/processes.ts";
import { missing, result, type ScriptedNode, startScriptedNode } from "../support/scripted-node.ts";

const SEGMENT = 100;
const WINDOW = 20;

type Log = Readonly<Record<string, unknown>>;
type Lie = (logs: readonly Log[]) => unknown;

const LIES: readonly { what: string; lie: Lie }[] = [
  {
    what: "a log of another contract",
    lie: ([first, ...more]) => [{ ...first, address: OTHER }, ...more],
  },
  { what: "a log without data", lie: ([{ data: _, ...first } = {}, ...more]) => [first, ...more] },
  { what: "a log twice", lie: ([first, ...more]) => [first, first, ...more] },
  { what: "logs in another order", lie: (logs) => logs.toReversed() },
  {
    what: "a log of a later block",
    lie: (logs) => [...logs, { ...logs.at(-1), blockNumber: "0x12b" }],
  },
  { what: "a Data beside data", lie: (logs) => logs.map((log) => ({ ...log, Data: "0x01" })) },
  { what: "an object", lie: (logs) => ({ logs }) },
];
const OTHER = `0x${"ee".repeat(20)}`;

const chain = new GeneratedChain({ seed: 15, logs: [2, 4], addresses: 2, topics: 4 });
chain.extend(400);
const address = chain.words.addresses[0] ?? "";

describe("what a node tells of old logs", () => {
  let liar: ScriptedNode;
  let honest: ScriptedNode;
  let gateway: RunningGateway;
  let lie: Lie | undefined;
  const settings = (names: readonly string[]) => ({
    networks: {
      strict: {
        ...{ family: "evm", chainId: 1, window: { blocks: WINDOW }, proof: "strict" },
        limits: { upstreamCalls: 400 },
        upstreams: [{ name: "liar", url: liar.url }],
      },
      main: {
        ...{ family: "evm", chainId: 1, window: { blocks: WINDOW } },
        limits: { logs: { blocks: SEGMENT } },
        upstreams: names.map((name) => ({
          name,
          ...(name === "liar" ? { url: liar.url } : { url: honest.url, price: 1 }),
        })),
      },
    },
  });

  beforeAll(async () => {
    const start = (change: () => Lie | undefined): Promise<ScriptedNode> =>
      startScriptedNode((call) => {
        const json = answerOf(chain, call.method, call.params);
        if (json === undefined) return missing(call);
        const changed = call.method === "eth_getLogs" ? change() : undefined;
        return result(call, changed ? JSON.stringify(changed(JSON.parse(json))) : json);
      });
    liar = await start(() => lie);
    honest = await start(() => undefined);
    gateway = await startGatewayProcess(settings(["liar", "honest"]));
    await until("the window is filled", async () => {
      const { source } = await query(chain.head.number - WINDOW + 1, chain.head.number);
      return source === "store";
    });
  });
  afterAll(async () => {
    await gateway?.stop();
    await Promise.all([liar?.close(), honest?.close()]);
  });

  async function query(from: number, to: number, network = "main") {
    const range = { fromBlock: `0x${from.toString(16)}`, toBlock: `0x${to.toString(16)}` };
    const body = { jsonrpc: "2.0", id: 1, method: "eth_getLogs", params: [{ ...range, address }] };
    const response = await post(gateway.endpoint(network), JSON.stringify(body));
    const { result: logs } = (await response.json()) as { result: readonly Log[] };
    const [source, proof] = ["x-headgate-source", "x-headgate-proof"].map((name) =>
      response.headers.get(name),
    );
    return { logs, source, proof, status: response.status };
  }
  const truth = (from: number, to: number): unknown =>
    JSON.parse(
      answerOf(chain, "eth_getLogs", [
        { fromBlock: `0x${from.toString(16)}`, toBlock: `0x${to.toString(16)}`, address },
      ]) ?? "",
    );
  const command = async (...words: readonly string[]) =>
    commandHere((print) => store([...words, "--config", gateway.configPath], {}, print));
  const toldBy = async (): Promise<Readonly<Record<string, number>>> => {
    const { stdout } = await command("show", "--json", "--network", "main");
    const [{ segments }] = JSON.parse(stdout) as [
      { segments: readonly { upstreams: string; segments: number }[] },
    ];
    return Object.fromEntries(segments.map((kept) => [kept.upstreams, kept.segments]));
  };

  it("is kept with its name, shown, and forgotten by command while the gateway runs", async () => {
    expect((await query(100, 199)).source).toBe("upstream");
    await until("it is kept", async () => (await query(100, 199)).source === "store");
    expect(await toldBy()).toEqual({ liar: 1 });
    const shown = await command("show", "--network", "main");
    expect(shown.stdout).toMatch(/^main: 20 blocks, 381 to 400, .*\n {2}proof: full 20, partial 0/);
    expect(shown.stdout).toContain("logs of older blocks from liar: 1 segments");
    const away = await command("forget", "--network", "main", "--blocks", "150-160");
    expect(away.stdout).toBe("1 segment is forgotten.\n");
    expect(await toldBy()).toEqual({});
    expect((await query(100, 199)).source).toBe("upstream");
    await until("it is kept again", async () => (await query(100, 199)).source === "store");
  });

  it.each(LIES)("is not passed on when it has $what", async ({ lie: told }) => {
    lie = told;
    expect((await query(201, 298)).logs).toEqual(truth(201, 298));
    lie = undefined;
  });

  it("is proven where all must be: by the blocks themselves", async () => {
    await until("it is followed", async () => (await query(400, 400, "strict")).source === "store");
    const plausible: readonly Lie[] = [
      ([first, ...more]) => [{ ...first, data: "0x07" }, ...more],
      ([_, ...more]) => more,
    ];
    for (const told of plausible) {
      lie = told;
      expect(await query(201, 208, "strict")).toMatchObject({
        ...{ logs: truth(201, 208), proof: "full" },
      });
      expect(await query(201, 298, "strict")).toMatchObject({
        ...{ logs: truth(201, 298), proof: "full" },
      });
      lie = undefined;
    }
  });

  it("goes when it was caught, and is not kept for a while", async () => {
    await until("it is gone", async () => Object.keys(await toldBy()).length === 0);
    const metrics = await (await fetch(gateway.metricsUrl)).text();
    expect(metrics).toMatch(/headgate_upstream_lies_total\{network="main",upstream="liar"\} [1-9]/);
    const words = gateway.log.filter(({ msg }) => msg === "an upstream gave a false answer");
    expect(words).toHaveLength(1);
  });

  it("goes when its upstream is configured no more", async () => {
    await gateway.reload(settings(["honest"]));
    await query(0, 99);
    await until("it is kept", async () => (await toldBy())["honest"] === 1);
    await gateway.reload(settings(["liar"]));
    await until("it is gone", async () => Object.keys(await toldBy()).length === 0);
  });

  it("is forgotten by one of three choices, and of a network that there is", async () => {
    expect(await command("forget", "--network", "main")).toMatchObject({ code: 2 });
    expect(await command("forget", "--network", "no", "--all")).toMatchObject({ code: 2 });
    expect(await command("forget", "--network", "main", "--all")).toMatchObject({ code: 0 });
  });
});
