// cfx_getLogs over a node of 2021, which silently truncates its answers; and the cost of a query for the node.
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { toQuantity } from "../../src/evm/values.ts";
import { atDepth } from "../support/depth.ts";
import { until } from "../support/processes.ts";
import { GeneratedEpochs } from "./generated-epochs.ts";
import type { Filter } from "./model.ts";
import { type OverOldNode, PRESET, startOverOldNode, WINDOW } from "./old-node-gateway.ts";
import { randomFilters } from "./random-filters.ts";

describe("over a node of 2021", () => {
  let chain: GeneratedEpochs;
  let running: OverOldNode;

  beforeAll(async () => {
    chain = new GeneratedEpochs({ seed: 3, oneOf: 3, logs: [1, 6] });
    chain.extend(10_000);
    running = await startOverOldNode(chain);
  });

  afterAll(() => running?.stop());

  /** @returns The number of log queries that the node got during `work`. */
  const costOf = async (work: () => Promise<unknown>): Promise<number> => {
    const before = running.node.countOf("cfx_getLogs");
    await work();
    return running.node.countOf("cfx_getLogs") - before;
  };

  it("is asked for the newest pieces of ten thousand epochs only, for the last ten logs", async () => {
    const { ask } = running;
    const wanted = chain.model().answer({ limit: "0xa" }, PRESET).logs;
    const tenLogs = (name: string) =>
      costOf(async () => expect((await ask({ limit: "0xa" }, name)).result).toEqual(wanted));
    expect(await tenLogs("passed")).toBe(1);
    expect(await tenLogs("followed")).toBe(0);
    const rare = { topics: chain.topics, limit: "0x1" };
    expect(chain.model().answer(rare, PRESET).logs).toHaveLength(1);
    for (const name of ["passed", "followed"]) {
      const pieces = await costOf(() => ask(rare, name));
      expect(pieces).toBeLessThanOrEqual(10);
    }
  });

  it("is asked nothing for what is followed, however often and however it overlaps", async () => {
    const { head } = chain;
    const model = chain.model();
    const cost = await costOf(async () => {
      for (let round = 0; round < atDepth(10, 50); round += 1) {
        const from = head.number - WINDOW + 1 + round;
        const filter = { fromEpoch: toQuantity(from), toEpoch: toQuantity(head.number - round) };
        expect((await running.ask(filter)).result).toEqual(model.answer(filter, PRESET).logs);
      }
      expect((await running.ask({ blockHashes: head.blocks })).result).toEqual(head.logs);
    });
    expect(cost).toBe(0);
  });

  describe.each(["followed", "passed"])("%s", (name) => {
    it("answers as the model, whatever the node cuts", async () => {
      const model = chain.model();
      const { contracts, topics } = chain;
      const known = { contracts, topics, hashes: model.hashes, latestState: model.latestState };
      let cut = 0;
      for (const filter of randomFilters(known, { seed: 5, count: atDepth(30, 100) })) {
        const wanted = model.answer(filter, PRESET);
        const { result, error, isCut } = await running.ask(filter, name);
        expect({ filter, result, error, isCut }).toEqual({
          filter,
          result: wanted.logs,
          isCut: wanted.isCut,
        });
        if (wanted.isCut) cut += 1;
      }
      expect(cut).toBeGreaterThan(atDepth(1, 5));
    });

    it("answers all pages of a range that the node cuts", async () => {
      const range = { fromEpoch: toQuantity(chain.head.number - 5_000) };
      const logs = chain
        .model()
        .logs.filter(({ epochNumber }) => Number(epochNumber) >= Number(range.fromEpoch));
      const pages: unknown[] = [];
      for (let offset = 0; offset < logs.length; offset += PRESET) {
        const { result } = await running.ask({ ...range, offset: toQuantity(offset) }, name);
        pages.unshift(...(result as unknown[]));
      }
      expect(logs.length).toBeGreaterThan(5 * PRESET);
      expect(pages).toEqual(logs);
    });
  });

  it("is asked once for each new epoch", async () => {
    const cost = await costOf(async () => {
      chain.extend(10, { logs: 3 });
      const tenth = toQuantity(chain.head.number - 9);
      await until("the new epochs are followed", async () => {
        const { result } = await running.ask({ fromEpoch: tenth });
        return (result as unknown[] | undefined)?.length === 30;
      });
      const newest = { fromEpoch: toQuantity(chain.head.number) };
      expect((await running.ask(newest)).result).toEqual(chain.head.logs);
    });
    expect(cost).toBe(10);
  });

  it("is seen at one head by all calls of a batch, while it grows", async () => {
    const heads = new Set<number>();
    // A round takes less time than the gateway's interval between two looks for a newer epoch.
    for (let round = 0; round < atDepth(10, 30) || (heads.size < 2 && round < 300); round += 1) {
      chain.extend(1, { logs: 2 });
      const answers = await running.askBatch([{ limit: "0x1" }, {}, { toEpoch: "latest_state" }]);
      const last = answers.map((logs) => logs.at(-1));
      expect(new Set(last.map((log) => log?.transactionHash)).size).toBe(1);
      heads.add(Number(last[0]?.epochNumber));
    }
    expect(heads.size).toBeGreaterThan(1);
  });
});

describe("over a node of 2021 with an epoch of more logs than it gives", () => {
  let chain: GeneratedEpochs;
  let running: OverOldNode;

  beforeAll(async () => {
    chain = new GeneratedEpochs({ seed: 3, oneOf: 3, logs: [1, 6] });
    chain.extend(20);
    for (const count of [PRESET + 100, 7, PRESET, PRESET + 100, PRESET + 100])
      chain.extend(1, { logs: count, blocks: 3 });
    chain.extend(10);
    running = await startOverOldNode(chain);
  });

  afterAll(() => running?.stop());

  const pagesOf = async (filter: Filter, name: string): Promise<unknown[]> => {
    const pages: unknown[] = [];
    for (let offset = 0; offset < 6 * PRESET; offset += 200) {
      const page = { ...filter, limit: "0xc8", offset: toQuantity(offset) };
      pages.unshift(...((await running.ask(page, name)).result as unknown[]));
    }
    return pages;
  };

  it.each(["followed", "passed"])("answers all pages, by epochs or by blocks: %s", async (name) => {
    const { logs, hashes } = chain.model();
    expect(await pagesOf({}, name)).toEqual(logs);
    expect(await pagesOf({ blockHashes: hashes.slice(0, 128) }, name)).toEqual(logs);
  });
});
