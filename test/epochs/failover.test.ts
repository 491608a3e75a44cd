// Two proxies before one real node, one of which fails: callers must not notice.
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ask } from "../support/ask.ts";
import { type ConfluxNode, generationsHere, startConfluxNode } from "../support/conflux-nodes.ts";
import { openSender } from "../support/conflux-sender.ts";
import { type RunningGateway, startGatewayProcess } from "../support/gateway-process.ts";
import { followed } from "./epoch-worlds.ts";
import { fillWithLogs, type LogWords } from "./fill-with-logs.ts";
import { type EpochModel, readModel } from "./model.ts";
import { type Conduct, type PassThrough, startPassThrough } from "./pass-through.ts";

const ROUNDS = 15;
const STORIES = ["hangs", "fails", "babbles", "limits", "killed", "grown"] as const;
type Story = (typeof STORIES)[number];
const generation = generationsHere().at(-1) ?? "3.0";

describe.skipIf(generationsHere().length === 0)("one of two nodes", () => {
  let node: ConfluxNode;
  let words: LogWords;
  let model: EpochModel;
  let gateway: RunningGateway;
  /** Two proxies for each story, which has two networks of its own. */
  const upstreamsOf = new Map<Story, readonly PassThrough[]>();

  beforeAll(async () => {
    node = (await startConfluxNode(generation)) as ConfluxNode;
    words = await fillWithLogs(node, { seed: 2, epochs: 12, logs: 60 });
    model = await readModel(node);
    for (const story of STORIES)
      upstreamsOf.set(story, [await startPassThrough(node.url), await startPassThrough(node.url)]);
    const networks = [...upstreamsOf].flatMap(([story, upstreams]) => {
      const network = {
        family: "conflux",
        chainId: node.chainId,
        upstreams: upstreams.map(({ url }, at) => ({ name: `node-${at}`, url, timeout: "1s" })),
      };
      const passed = { ...network, window: { blocks: 0 } };
      return [[`${story}-followed`, network] as const, [`${story}-passed`, passed] as const];
    });
    gateway = await startGatewayProcess({ networks: Object.fromEntries(networks) });
    for (const story of STORIES) await followed(gateway.endpoint(`${story}-followed`));
  });

  afterAll(async () => {
    await gateway?.stop();
    await Promise.all([...upstreamsOf.values()].flat().map((each) => each.close()));
    await node?.close();
  });

  const networksOf = (story: Story): string[] => [`${story}-followed`, `${story}-passed`];

  const calls = (): readonly (readonly [string, readonly unknown[]])[] => {
    const [log] = model.logs;
    return [
      ["cfx_getLogs", [{ fromEpoch: "0x0", toEpoch: "latest_state" }]],
      ["cfx_getLogs", [{ blockHashes: [log?.blockHash] }]],
      ["cfx_getLogs", [{ fromEpoch: "0x0", toEpoch: "0x20", address: words.contracts }]],
      ["cfx_epochNumber", ["latest_state"]],
      ["cfx_getBalance", [words.contracts[0]]],
      ["cfx_getTransactionReceipt", [log?.transactionHash]],
      ["cfx_getBlockByEpochNumber", ["0x5", true]],
      ["cfx_call", [{ to: words.contracts[0] }]],
    ];
  };
  /** Makes all calls on both networks in each round; returns the answers that differ from the node's. */
  const differences = async (story: Story, meanwhile: () => unknown): Promise<unknown[]> => {
    const wanted = await Promise.all(
      calls().map(([method, params]) => ask(node.url, method, params)),
    );
    const seen: unknown[] = [];
    for (let round = 0; round < ROUNDS; round += 1) {
      if (round === 5) await meanwhile();
      const each = networksOf(story).flatMap((name) =>
        calls().map(async ([method, params], index) => {
          const { result, error } = await ask(gateway.endpoint(name), method, params);
          const isSame = JSON.stringify(result) === JSON.stringify(wanted[index]?.result);
          if (error || !isSame) seen.push({ round, name, method, error });
        }),
      );
      await Promise.all(each);
    }
    return seen;
  };

  it.each<[Exclude<Conduct, "passes">, number]>([
    ["hangs", 0],
    ["fails", 1],
    ["babbles", 0],
    ["limits", 1],
  ])("%s", async (conduct, index) => {
    const upstream = upstreamsOf.get(conduct)?.[index] as PassThrough;
    const turn = () => Object.assign(upstream, { conduct });
    expect(await differences(conduct, turn)).toEqual([]);
  });

  it("is killed", async () => {
    const [first] = upstreamsOf.get("killed") ?? [];
    expect(await differences("killed", () => first?.close())).toEqual([]);
  });

  it("is killed while the chain grows, and new logs are told all the same", async () => {
    const sender = await openSender(node);
    await sender.learnNonce();
    await upstreamsOf.get("grown")?.[1]?.close();
    const { blockHash, epochNumber } = await sender.mine({ to: sender.address, value: 1n });
    for (const name of networksOf("grown")) {
      const filter = { fromEpoch: epochNumber, toEpoch: epochNumber };
      const { result, error } = await ask(gateway.endpoint(name), "cfx_getLogs", [filter]);
      expect({ result, error }).toEqual({ result: [] });
      const pivot = await ask(gateway.endpoint(name), "cfx_getBlockByEpochNumber", [
        epochNumber,
        false,
      ]);
      expect(pivot.result).toMatchObject({ hash: blockHash });
    }
  });
});
