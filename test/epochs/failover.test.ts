// Two doubles of one real node, of which one fails: callers are not to notice.
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { ask } from "../support/ask.ts";
import { type ConfluxNode, generationsHere, startConfluxNode } from "../support/conflux-nodes.ts";
import { openSender } from "../support/conflux-sender.ts";
import { type RunningGateway, startGatewayProcess } from "../support/gateway-process.ts";
import { fillWithLogs, type LogWords } from "./fill-with-logs.ts";
import { type EpochModel, readModel } from "./model.ts";
import { type Conduct, type PassThrough, startPassThrough } from "./pass-through.ts";

const ROUNDS = 15;
const generation = generationsHere().at(-1) ?? "3.0";

describe.skipIf(generationsHere().length === 0)("one of two nodes", () => {
  let node: ConfluxNode;
  let words: LogWords;
  let model: EpochModel;
  let upstreams: PassThrough[];
  let gateway: RunningGateway;

  beforeAll(async () => {
    node = (await startConfluxNode(generation)) as ConfluxNode;
    words = await fillWithLogs(node, { seed: 2, epochs: 12, logs: 60 });
    model = await readModel(node);
  });

  afterAll(() => node?.close());

  beforeEach(async () => {
    upstreams = [await startPassThrough(node.url), await startPassThrough(node.url)];
    const network = {
      family: "conflux",
      chainId: node.chainId,
      upstreams: upstreams.map(({ url }, index) => ({ name: `node-${index}`, url, timeout: "1s" })),
    };
    const networks = { followed: network, passed: { ...network, window: { blocks: 0 } } };
    gateway = await startGatewayProcess({ networks });
  });

  afterEach(async () => {
    await gateway?.stop();
    await Promise.all(upstreams.map((each) => each.close()));
  });

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
  /** Each call again and again, on both networks; what is not as the node answers. */
  const differences = async (meanwhile: () => unknown): Promise<unknown[]> => {
    const wanted = await Promise.all(
      calls().map(([method, params]) => ask(node.url, method, params)),
    );
    const seen: unknown[] = [];
    for (let round = 0; round < ROUNDS; round += 1) {
      if (round === 5) await meanwhile();
      const each = ["followed", "passed"].flatMap((name) =>
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

  it.each<[Conduct, number]>([
    ["hangs", 0],
    ["fails", 1],
    ["babbles", 0],
    ["limits", 1],
  ])("%s", async (conduct, index) => {
    const turn = () => Object.assign(upstreams[index] as PassThrough, { conduct });
    expect(await differences(turn)).toEqual([]);
  });

  it("is killed", async () => {
    expect(await differences(() => upstreams[0]?.close())).toEqual([]);
  });

  it("is killed while the chain grows, and new logs are told all the same", async () => {
    const sender = await openSender(node);
    await sender.learnNonce();
    await upstreams[1]?.close();
    const { blockHash, epochNumber } = await sender.mine({ to: sender.address, value: 1n });
    for (const name of ["followed", "passed"]) {
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
