import { beforeEach, describe, expect, it } from "vitest";
import { FakeClock } from "../../../test/support/fake-clock.ts";
import { MemoryState } from "../../../test/support/memory-state.ts";
import { traitsOf } from "../../methods/catalogue.ts";
import type { Reply } from "../reply.ts";
import { Capabilities } from "./capabilities.ts";
import { CapabilityStore } from "./capability-store.ts";

const DAY_MS = 86_400_000;
const KEY = "abilities eth node";
const WORDS = { code: -32000, message: "no flux at 5" };
const PLACE = { block: 1, head: 10_000 };
const noState: Reply = { kind: "refused", code: -32000, message: "", json: "{}", lacks: "state" };

let clock: FakeClock;
let state: MemoryState;
let texts: Map<string, string>;

beforeEach(() => {
  clock = new FakeClock();
  state = new MemoryState({ clock });
  texts = state.texts;
});

/** Starts a process that knows nothing yet about the node. */
async function start(url = "https://node.example.com/s3cr3t") {
  const capabilities = new Capabilities({ clock, traitsOf: traitsOf("evm") });
  const kept = new CapabilityStore(
    { network: "eth", upstream: "node", url },
    { clock, state, capabilities },
  );
  await kept.start();
  return { capabilities, kept };
}

/** Runs a process that learns a little, and ends. */
async function learned(version = "Geth/v1"): Promise<void> {
  const { capabilities, kept } = await start();
  capabilities.learnVersion(version);
  capabilities.missing.remember("trace_get");
  capabilities.learnFrom(traitsOf("evm")("eth_getBalance"), noState, PLACE);
  capabilities.probed("eth_getLogs");
  capabilities.batchLimitedTo(10);
  capabilities.learnWords("eth_getProof", WORDS);
  await kept.close();
}

describe("what was learned of a node", () => {
  it("is there after a restart", async () => {
    await learned();
    const { capabilities } = await start();
    expect(capabilities.toRecord()).toMatchObject({ version: "Geth/v1", batch: 10 });
    expect(capabilities.missing.count).toBe(1);
    expect(capabilities.missing.has("trace_get")).toBe(true);
    expect(capabilities.isLacking("state", PLACE)).toBe(true);
    expect(capabilities.wasProbed("eth_getLogs")).toBe(true);
    expect(capabilities.words.has("eth_getProof", WORDS)).toBe(true);
    capabilities.learnVersion("Geth/v1");
    expect(capabilities.isLacking("state", PLACE)).toBe(true);
  });

  it("is kept although the state was away when it was to be written", async () => {
    const { capabilities, kept } = await start();
    capabilities.batchLimitedTo(10);
    const { update } = state;
    state.update = () => Promise.reject(new Error("away"));
    await clock.advance(5_000);
    state.update = update;
    await kept.close();
    expect((await start()).capabilities.toRecord()).toMatchObject({ batch: 10 });
  });

  it("is forgotten when the node has another version", async () => {
    await learned();
    const { capabilities, kept } = await start();
    capabilities.learnVersion("Geth/v2");
    await kept.close();
    const after = await start();
    expect(after.capabilities.toRecord()).toMatchObject({ version: "Geth/v2" });
    expect(after.capabilities.missing.count).toBe(0);
    expect(after.capabilities.isLacking("state", PLACE)).toBe(false);
    expect(after.capabilities.wasProbed("eth_getLogs")).toBe(false);
  });

  it.each([
    { version: "unknown", days: 1 },
    { version: "Geth/v1", days: 7 },
  ])("is believed for $days days of version $version", async ({ version, days }) => {
    await learned(version);
    await clock.advance(days * DAY_MS - 1);
    const { capabilities } = await start();
    expect(capabilities.isLacking("state", PLACE)).toBe(true);
    await clock.advance(1);
    expect((await start()).capabilities.isLacking("state", PLACE)).toBe(false);
    capabilities.learnVersion(version); // a process that runs for so long forgets, too
    expect(capabilities.isLacking("state", PLACE)).toBe(false);
  });

  it("is of that node, not of another one that got its name", async () => {
    await learned();
    expect(texts.get(KEY)).not.toContain("s3cr3t");
    expect(
      (await start("https://other.example.com")).capabilities.toRecord().version,
    ).toBeUndefined();
  });

  it("is written five seconds after it was learned, once", async () => {
    const { capabilities, kept } = await start();
    capabilities.missing.remember("a");
    capabilities.missing.remember("b");
    await clock.advance(4_999);
    expect(state.changes).toBe(0);
    await clock.advance(1);
    expect(state.changes).toBe(1);
    await kept.close();
    expect(state.changes).toBe(1);
    expect(clock.waiting).toBe(0);
  });

  it("may be written by several processes: the last one's word counts", async () => {
    const [one, two] = [await start(), await start()];
    one.capabilities.missing.remember("one");
    two.capabilities.missing.remember("two");
    await one.kept.close();
    await two.kept.close();
    expect((await start()).capabilities.missing.has("two")).toBe(true);
  });

  it("is learned again when the state is broken", async () => {
    state.isAway = true;
    const capabilities = new Capabilities({ clock, traitsOf: traitsOf("evm") });
    const options = { network: "eth", upstream: "node", url: "" };
    const kept = new CapabilityStore(options, { clock, state, capabilities });
    await kept.start();
    capabilities.missing.remember("a");
    await kept.close();
    expect(capabilities.missing.has("a")).toBe(true);
  });

  it.each<[string, (text: string) => string]>([
    ["is no record", () => "hello"],
    ["is empty", () => ""],
    ["was cut off", (text) => text.slice(0, -1)],
    ["is of a later format", (text) => text.replace('"format":1', '"format":2')],
    ["has numbers that are none", (text) => text.replace('"lackedBlock":1', '"lackedBlock":"1"')],
    ["has endless names", (text) => text.replace("trace_get", "x".repeat(201))],
    ["is endless", (text) => text.replace("}", `${" ".repeat(100_000)}}`)],
    ["has a time that is none", (text) => text.replace(/"learnedAtMs":\d+/, '"learnedAtMs":null')],
    ["is of the future", (text) => text.replace(/"learnedAtMs":\d+/, '"learnedAtMs":1e15')],
  ])("is ignored where what is kept %s", async (_, spoiled) => {
    await learned();
    texts.set(KEY, spoiled(texts.get(KEY) ?? ""));
    const { capabilities } = await start();
    expect(capabilities.toRecord()).toMatchObject({ version: undefined });
    expect(capabilities.missing.count).toBe(0);
    expect(capabilities.isLacking("state", PLACE)).toBe(false);
  });
});
