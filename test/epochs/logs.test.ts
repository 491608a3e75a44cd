// cfx_getLogs over real nodes of two generations and the real process: the gateway keeps to the specification, which
// neither node does by itself.
import { afterAll, beforeAll, expect, it } from "vitest";
import { toQuantity } from "../../src/evm/values.ts";
import { ask } from "../support/ask.ts";
import { atDepth } from "../support/depth.ts";
import { askNoted, type NotedReply } from "./ask-noted.ts";
import { describeEach } from "./each-generation.ts";
import { type EpochWorlds, startEpochWorlds } from "./epoch-worlds.ts";
import type { Filter } from "./model.ts";
import { plainFilters } from "./plain-filters.ts";
import { randomFilters } from "./random-filters.ts";
import { type Refusal, refusals } from "./refusals.ts";

const PRESETS = {
  followed: 5_000,
  passed: 5_000,
  cut: 20,
  "cut-passed": 20,
  narrow: 5_000,
} as const;
type Name = keyof typeof PRESETS;
const NAMES = Object.keys(PRESETS) as Name[];

/** The number of random queries. */
const COUNT = atDepth(60, 300);

let worlds: EpochWorlds;

beforeAll(async () => {
  const networks = {
    followed: {},
    passed: { window: { blocks: 0 } },
    cut: { limits: { logs: { results: 20 } } },
    "cut-passed": { window: { blocks: 0 }, limits: { logs: { results: 20 } } },
    narrow: { limits: { logs: { blocks: 10 } } },
  };
  worlds = await startEpochWorlds(networks, { epochs: 60, logs: 600 });
});

afterAll(() => worlds?.stop());

describeEach("cfx_getLogs over conflux-rust", (generation) => {
  const logsOf = (filter: Filter, name: Name = "followed"): Promise<NotedReply> =>
    askNoted(worlds.endpoint(generation, name), "cfx_getLogs", [filter]);
  const modelled = (filter: Filter, name: Name = "followed") =>
    worlds.world(generation).model.answer(filter, PRESETS[name]);

  it.each(NAMES.slice(0, 4))("answers as the model: %s", async (name) => {
    const { model, ...words } = worlds.world(generation);
    const { hashes, latestState } = model;
    expect(hashes.length).toBeGreaterThan(latestState + 5);
    const known = { ...words, hashes, latestState };
    const filters = randomFilters(known, { seed: 7, count: COUNT });
    let full = 0;
    let cut = 0;
    for (const filter of filters) {
      const wanted = modelled(filter, name);
      const { result, error, isCut } = await logsOf(filter, name);
      expect({ filter, result, error, isCut }).toEqual({
        filter,
        result: wanted.logs,
        isCut: wanted.isCut,
      });
      if (wanted.logs.length > 0) full += 1;
      if (wanted.isCut) cut += 1;
    }
    expect(full).toBeGreaterThan(COUNT / 3);
    expect(cut > COUNT / 30).toBe(PRESETS[name] === 20);
  });

  it("answers as the node where that takes the filter", async () => {
    const { node, model, ...words } = worlds.world(generation);
    for (const filter of plainFilters(words, model)) {
      const told = await ask(node.url, "cfx_getLogs", [filter]);
      for (const name of ["followed", "passed"] as const) {
        const { result } = await logsOf(filter, name);
        expect({ filter, result }).toEqual({ filter, result: told.result });
      }
    }
  });

  it.each(NAMES.slice(0, 2))("counts from the end, as in the specification: %s", async (name) => {
    const { contracts, topics, model } = worlds.world(generation);
    const filters = Array.from({ length: model.latestState }, (_, epoch) =>
      contracts.flatMap((address) =>
        topics.map((topic) => ({ address, topics: [null, topic], toEpoch: toQuantity(epoch) })),
      ),
    ).flat();
    const ten = filters.find((filter) => modelled(filter).logs.length === 10) ?? {};
    const all = (await logsOf(ten, name)).result as object[];
    expect(all).toHaveLength(10);
    const { result } = await logsOf({ ...ten, offset: "0x1", limit: "0x5" }, name);
    expect(result).toEqual(all.slice(4, 9)); // logs 4 to 8
    expect((await logsOf({ offset: toQuantity(10_000) }, name)).result).toEqual([]);
    expect((await logsOf({ offset: toQuantity(10_000), limit: "0xa" }, name)).result).toEqual([]);
    expect((await logsOf({ limit: "0x0" }, name)).result).toEqual([]);
  });

  it.each(NAMES.slice(0, 2))("takes [A, null, [B, C], null]: %s", async (name) => {
    const [a = "", b = "", c = ""] = worlds.world(generation).topics;
    const filter = { topics: [a, null, [b, c], null] };
    const { result } = await logsOf(filter, name);
    const seen = (result as { topics: string[] }[]).map(({ topics }) => topics);
    expect(result).toEqual(modelled(filter).logs);
    expect(seen.every((topics) => topics[0] === a && [b, c].includes(topics[2] ?? ""))).toBe(true);
    // A null in the filter also matches logs without a topic in that position.
    expect(new Set(seen.map(({ length }) => length))).toEqual(new Set([3, 4]));
  });

  it.each(NAMES.slice(0, 2))("takes 128 hashes, which override the epochs: %s", async (name) => {
    const blockHashes = worlds.world(generation).model.hashes.slice(-128);
    const filter = { fromEpoch: "0x1", toEpoch: "0x2", blockHashes };
    expect(blockHashes).toHaveLength(128);
    expect((await logsOf(filter, name)).result).toEqual(modelled(filter).logs);
    expect(modelled(filter).logs.length).toBeGreaterThan(500);
    const reversed = { fromEpoch: "0x2", toEpoch: "0x1", blockHashes: blockHashes.slice(0, 1) };
    expect((await logsOf(reversed, name)).error).toBeUndefined();
    const { error } = await logsOf({ blockHashes: [...blockHashes, blockHashes[0] ?? ""] }, name);
    expect(error).toMatchObject({
      code: -32602,
      message: "filter.block_hashes can contain up to 128 hashes; 129 were provided.",
    });
  });

  it.each(NAMES.slice(0, 2))(
    "begins at latest_checkpoint, ends at latest_state: %s",
    async (name) => {
      const { node, model } = worlds.world(generation);
      expect((await logsOf({}, name)).result).toEqual(model.logs);
      // The node's own default is its newest epoch only.
      expect((await ask(node.url, "cfx_getLogs", [{}])).result).not.toEqual(model.logs);
      const confirmed = { fromEpoch: "latest_confirmed", toEpoch: "latest_state" };
      expect((await logsOf(confirmed, name)).result).toEqual(
        (await ask(node.url, "cfx_getLogs", [confirmed])).result,
      );
    },
  );

  it.each(refusals)("refuses $title", async ({ filter, network, code, message }: Refusal) => {
    const { model, contracts } = worlds.world(generation);
    const own = filter({ latestState: model.latestState, contract: contracts[0] ?? "" });
    const names: Name[] = network ? [network] : ["followed", "passed"];
    for (const name of names) {
      const { error } = await logsOf(own as Filter, name);
      expect({ name, ...error }).toMatchObject({ name, code, message });
    }
  });
});
