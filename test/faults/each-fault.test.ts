// Each kind of fault for a moment, beside one healthy node: no caller gets a wrong answer, and no call fails.
// `npm run test:deep` measures the latency during each fault and during random faults.
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ask } from "../support/ask.ts";
import { until } from "../support/processes.ts";
import { HEALTHY } from "./faults.ts";
import type { Load } from "./load.ts";
import { Nodes } from "./nodes.ts";
import type { Scenario } from "./scenario.ts";
import { scenarios } from "./scenarios.ts";
import { flawsText, tallySamples } from "./tally-samples.ts";
import { openWorld, type World } from "./world.ts";

const PER_SECOND = 20;
const ANSWERS = 40;
const ONE_OF_EACH: readonly string[] = [
  "never answers",
  "resets connections",
  "429 with Retry-After",
  "500, 502, 503",
  "JSON that is cut off",
  "answers to other calls",
  "lies about blocks, receipts and logs",
];
const chosen = scenarios.filter(({ name, isFollowed }) => isFollowed && ONE_OF_EACH.includes(name));
const passedOn: Scenario = { name: "never answers", faults: [{ kind: "hang" }], isFollowed: false };
const rows = [...chosen, passedOn];

let nodes: Nodes;
let world: World;
/** The begin of the fault, in milliseconds since 1970. */
let brokenAtMs: number;

const answered = ({ load }: { load: Load }, sinceMs: number): number =>
  load.between(sinceMs, Date.now()).length;
const allAnswered = (sinceMs: number): Promise<unknown> =>
  until(`each network gave ${ANSWERS} answers`, async () =>
    world.networks.every((network) => answered(network, sinceMs) >= ANSWERS),
  );

beforeAll(async () => {
  nodes = new Nodes({ seed: 22, blockMs: 1_000 });
  const shapes = rows.map(({ faults, isFollowed }) => ({ nodes: faults.length + 1, isFollowed }));
  const options = { perSecond: PER_SECOND, seed: 3, isBesideOthers: true };
  world = await openWorld(shapes, options, { nodes });
  for (const { load } of world.networks) load.start();
  await allAnswered(0);
  await Promise.all(
    rows.flatMap(({ faults }, index) =>
      faults.map((fault, at) => world.networks[index]?.nodes[at]?.setFault(fault)),
    ),
  );
  brokenAtMs = Date.now();
  await allAnswered(brokenAtMs);
  await Promise.all(world.networks.map(({ load }) => load.stop()));
});

afterAll(async () => {
  await world?.close();
  nodes.stop();
});

describe("a node that fails", () => {
  it.each(rows)("$name, followed $isFollowed: callers do not see it", (row) => {
    const { load } = world.networks[rows.indexOf(row)] as World["networks"][number];
    const tally = tallySamples(load.between(brokenAtMs, Date.now()));
    expect(flawsText(tally)).toBe("");
    expect(tally.requests).toBeGreaterThanOrEqual(ANSWERS);
  });
});

it("no node: calls that need one are told so, and it is over when one is back", async () => {
  const index = rows.indexOf(passedOn);
  const own = world.networks[index]?.nodes ?? [];
  const url = world.gateway.endpoint(`network-${index + 1}`);
  const balance = () => ask(url, "eth_getBalance", [`0x${"11".repeat(20)}`, "latest"]);
  await Promise.all(own.map((node) => node.setFault({ kind: "refuse" })));
  const { error } = await until("it is told", async () => {
    const answer = await balance();
    return answer.error ? answer : undefined;
  });
  expect(error?.code).toBe(-32603);
  await Promise.all(own.map((node) => node.setFault(HEALTHY)));
  await until("it is over", async () => (await balance()).result);
});
