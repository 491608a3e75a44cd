import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { FakeClock } from "../../../test/support/fake-clock.ts";
import { traitsOf } from "../../methods/catalogue.ts";
import type { Reply } from "../reply.ts";
import { Capabilities } from "./capabilities.ts";
import { Prober } from "./prober.ts";

const HOUR_MS = 3_600_000;
const MINUTE_MS = 60_000;
const result = (json: string): Reply => ({ kind: "result", json: Buffer.from(json) });
const noState: Reply = { kind: "refused", code: -32000, message: "", json: "{}", lacks: "state" };

let clock: FakeClock;
let capabilities: Capabilities;
let prober: Prober;
let asked: string[];
/** The node's replies, by method, or by method and parameters. */
let script: Record<string, Reply>;
let isUsable: boolean;
let mostAtOnce: number;

beforeEach(() => {
  clock = new FakeClock();
  asked = [];
  script = { web3_clientVersion: result('"Geth/v1"'), eth_blockNumber: result('"0x2710"') };
  isUsable = true;
  mostAtOnce = 0;
  begin();
});

afterEach(() => {
  prober.close();
  expect(clock.waiting).toBe(0);
});

/** Starts a prober as in a new process, with no kept record. */
function begin(): void {
  let atOnce = 0;
  capabilities = new Capabilities({ clock, traitsOf: traitsOf("evm") });
  const ask = async (method: string, paramsJson: string): Promise<Reply> => {
    asked.push(method);
    atOnce += 1;
    mostAtOnce = Math.max(mostAtOnce, atOnce);
    await new Promise(setImmediate);
    atOnce -= 1;
    const reply = script[`${method} ${paramsJson}`] ?? script[method] ?? { kind: "missing" };
    if (reply.kind === "missing") capabilities.missing.remember(method);
    return reply;
  };
  prober = new Prober({ family: "evm" }, { clock, capabilities, ask, isUsable: () => isUsable });
  prober.begin();
}

/** Lets time pass in small steps, so that each question has its turn. */
async function pass(ms: number): Promise<void> {
  for (let step = 0; step < 50; step += 1) {
    await clock.advance(ms / 50);
    await new Promise(setImmediate);
  }
}

/** The methods asked since the last call of this function. */
const askedNow = (): string[] => asked.splice(0);

describe("a node that is new", () => {
  it("is asked its version, then what it can do, one question after the other", async () => {
    await pass(30_000);
    const questions = askedNow();
    expect(questions.slice(0, 2)).toEqual(["web3_clientVersion", "eth_blockNumber"]);
    expect(questions).toContain("debug_traceTransaction");
    expect(questions.filter((method) => method === "eth_getBlockReceipts")).toHaveLength(1); // only once, as the method is missing
    expect(mostAtOnce).toBe(1);
    expect(capabilities.toRecord()).toMatchObject({ version: "Geth/v1" });
    expect(capabilities.missing.has("trace_block")).toBe(true);
  });

  it("is asked slowly: four questions a second", async () => {
    await clock.advance(0);
    for (let step = 0; step < 4; step += 1) await pass(250);
    expect(asked.length).toBeLessThanOrEqual(2 + 4);
    expect(asked.length).toBeGreaterThan(2);
  });

  it("tells which state and which blocks it has", async () => {
    script["eth_getBalance"] = result('"0x0"');
    script[`eth_getBalance ["0x${"0".repeat(40)}","0x1"]`] = noState;
    script["eth_getBlockByNumber"] = result('{"number":"0x1"}');
    script["eth_getBlockReceipts"] = result("null");
    await pass(30_000);
    const reaches = capabilities.history.known();
    expect(reaches.state).toMatchObject({ kind: "part", since: 9_000, notAt: 1 });
    expect(reaches.history).toMatchObject({ kind: "part", notAt: 1 }); // the block, without receipts
    expect(reaches.traces).toEqual({ kind: "unknown" });
  });

  it("is not asked what its answers to callers told before", async () => {
    capabilities.missing.remember("trace_get");
    capabilities.history.learn("state", "has", { block: 1, head: 10_000 });
    await pass(30_000);
    expect(asked).not.toContain("trace_get");
    expect(asked).not.toContain("eth_getBalance");
  });

  it.each<[string, Reply]>([
    ["it has no such method", { kind: "missing" }],
    ["it may not say", { kind: "refused", code: 1, message: "", json: "{}" }],
    ["it says nothing", result("null")],
    ["it says an object", result('{"a":1}')],
  ])("is of an unknown version when %s", async (_, reply) => {
    script["web3_clientVersion"] = reply;
    await pass(30_000);
    expect(capabilities.toRecord().version).toBe("unknown");
    expect(asked).toContain("debug_traceTransaction");
  });

  it("cannot write on the terminal by its version", async () => {
    script["web3_clientVersion"] = result(JSON.stringify(`\u001b[2J${"x".repeat(1_000)}`));
    await pass(1_000);
    expect(capabilities.toRecord().version).toMatch(/^\?\[2Jx{196}$/);
  });
});

describe("a node that is known", () => {
  beforeEach(async () => {
    for (const method of ["eth_getLogs", "eth_getBlockReceipts", "trace_block"])
      script[method] = result("[]");
    script["eth_getBalance"] = result('"0x0"');
    await pass(30_000);
    askedNow();
  });

  it("is asked for its version each hour, and nothing that it answered before", async () => {
    await pass(HOUR_MS);
    expect(askedNow()).toEqual(["web3_clientVersion", "eth_blockNumber"]);
  });

  it("is asked anew when it was upgraded", async () => {
    script["web3_clientVersion"] = result('"Geth/v2"');
    script["trace_get"] = result("null");
    await pass(HOUR_MS);
    await pass(30_000);
    expect(askedNow()).toContain("trace_get");
    expect(capabilities.missing.has("trace_get")).toBe(false);
    expect(capabilities.toRecord().version).toBe("Geth/v2");
  });

  it("is asked after it recovered, once a minute at most, and not while it is away", async () => {
    for (let times = 0; times < 10; times += 1) prober.begin();
    await pass(20_000);
    expect(askedNow()).toEqual([]);
    await pass(MINUTE_MS);
    expect(askedNow()).toEqual(["web3_clientVersion", "eth_blockNumber"]);
    isUsable = false;
    await pass(2 * HOUR_MS);
    expect(askedNow()).toEqual([]);
    isUsable = true;
    prober.begin();
    await pass(1_000);
    expect(askedNow()).toEqual(["web3_clientVersion", "eth_blockNumber"]);
  });
});

describe("a node that says what it holds", () => {
  const holds = (oldestBlock: string) =>
    result(`{"state":{"disabled":false,"oldestBlock":"${oldestBlock}"}}`);
  const fromOf = () => capabilities.claims.all.state?.from;

  it("is asked again each hour, since that changes with the head", async () => {
    script["eth_capabilities"] = holds("0x10");
    await pass(30_000);
    expect(fromOf()).toBe(16);
    expect(askedNow().slice(0, 3)).toEqual([
      "web3_clientVersion",
      "eth_blockNumber",
      "eth_capabilities",
    ]);
    script["eth_capabilities"] = holds("0x20");
    await pass(HOUR_MS);
    await pass(30_000);
    expect(fromOf()).toBe(32);
  });

  it("or cannot say it is asked everything else all the same", async () => {
    script["eth_capabilities"] = { kind: "timeout" };
    await pass(30_000);
    await pass(2 * MINUTE_MS);
    await pass(2 * HOUR_MS);
    expect(asked.filter((method) => method === "eth_capabilities")).toHaveLength(2);
    expect(asked).toContain("debug_traceTransaction");
  });

  it("in a way that nobody understands is as one that says nothing", async () => {
    script["eth_capabilities"] = result('{"state":[],"head":"0x');
    await pass(30_000);
    expect(capabilities.claims.all).toEqual({});
    expect(asked).toContain("debug_traceTransaction");
  });
});

describe("a node that does not answer a question", () => {
  it("because of its budget is asked on when that allows it", async () => {
    script["trace_get"] = { kind: "busy", retryAfterMs: 120_000 };
    await pass(30_000);
    expect(askedNow().at(-1)).toBe("trace_get");
    await pass(80_000);
    expect(askedNow()).toEqual([]);
    script["trace_get"] = result("null");
    await pass(MINUTE_MS);
    const questions = askedNow();
    expect(questions.slice(0, 3)).toEqual(["web3_clientVersion", "eth_blockNumber", "trace_get"]);
    expect(questions).toContain("debug_traceTransaction");
    expect(questions).not.toContain("eth_feeHistory"); // it answered that before
  });

  it("is asked the others a minute later, and that one never again", async () => {
    script["trace_get"] = { kind: "timeout" };
    await pass(30_000);
    await pass(2 * MINUTE_MS);
    await pass(2 * HOUR_MS);
    expect(asked.filter((method) => method === "trace_get")).toHaveLength(2);
    expect(asked).toContain("debug_traceTransaction");
  });

  it("at all is asked less and less often", async () => {
    script["web3_clientVersion"] = { kind: "failed", reason: "HTTP 500" };
    await pass(60 * MINUTE_MS);
    await pass(60 * MINUTE_MS);
    expect(asked.length).toBeLessThanOrEqual(8);
    expect(asked.length).toBeGreaterThan(3);
  });
});
