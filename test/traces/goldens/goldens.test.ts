// The gateway as a process over nodes with recorded answers: its own answers must equal those that others recorded of
// the same transactions.
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ask } from "../../support/ask.ts";
import { type RunningGateway, startGatewayProcess } from "../../support/gateway-process.ts";
import { counts } from "./counts.ts";
import { deviations, expectedOf } from "./deviations.ts";
import { type Golden, together, type World } from "./golden.ts";
import { type Nodes, startNodes } from "./node.ts";
import { allScenarios } from "./scenarios.ts";
import { vectorsAvailable } from "./vectors.ts";

const { worlds, goldens } = vectorsAvailable ? await allScenarios() : together([]);

let nodes: Nodes;
let gateway: RunningGateway;

beforeAll(async () => {
  nodes = await startNodes(worlds);
  const networks = worlds.map((world) => [world.name, settingsOf(world)]);
  gateway = await startGatewayProcess({ networks: Object.fromEntries(networks) });
});

afterAll(async () => {
  await gateway?.stop();
  await nodes?.close();
});

/** The window is zero: there is no chain behind these nodes. */
const settingsOf = ({ name, chainId, allow }: World): object => ({
  ...{ family: "evm", chainId, window: { blocks: 0 }, upstreams: [{ url: nodes.urlOf(name) }] },
  ...(allow && { methods: { allow } }),
});

const answerTo = async ({ world, method, params }: Golden): Promise<unknown> => {
  const { result, error } = await ask(gateway.endpoint(world), method, params);
  return error ? { error } : result;
};

describe.skipIf(!vectorsAvailable)("recorded traces (skipped: ../shared is absent)", () => {
  const cases = goldens.map((golden) => ({ ...golden, golden, ...expectedOf(golden) }));
  const [equal, other] = [true, false].map((isEqual) =>
    cases.filter(({ deviating }) => (deviating.length === 0) === isEqual),
  );

  it.each(equal ?? [])("$name", async ({ golden, value }) => {
    expect(await answerTo(golden)).toEqual(value);
  });

  it.each(other ?? [])("$name, otherwise than recorded", async ({ golden, value }) => {
    expect(await answerTo(golden)).toEqual(value);
  });

  it.each(deviations)("$why: $count times", ({ why, count }) => {
    expect(cases.filter(({ deviating }) => deviating.some((one) => one.why === why))).toHaveLength(
      count,
    );
  });

  it.each(counts)("$source, $mode: $equal of $all are equal", ({ source, mode, ...want }) => {
    const own = cases.filter((one) => one.source === source && one.mode === mode);
    const isEqual = own.filter(({ deviating }) => deviating.length === 0);
    expect({ equal: isEqual.length, all: own.length }).toEqual(want);
  });

  it("are all counted", () => {
    expect(counts.reduce((sum, { all }) => sum + all, 0)).toBe(goldens.length);
  });

  it("take no question for which a node had no recorded answer", () => {
    expect([...nodes.unknownCalls]).toEqual([]);
  });
});
