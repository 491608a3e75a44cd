import { describe, expect, it } from "vitest";
import { FakeClock } from "../../../test/support/fake-clock.ts";
import { traitsOf } from "../../methods/catalogue.ts";
import type { Reply } from "../reply.ts";
import { Capabilities, MissingMethods } from "./capabilities.ts";

const HEAD = 10_000;
const result = (json: string): Reply => ({ kind: "result", json: Buffer.from(json) });
const refused = (message: string, data?: unknown): Reply => ({
  kind: "refused",
  code: -32000,
  message,
  json: JSON.stringify({ code: -32000, message, data }),
});

const declared = traitsOf("evm");
const unlearned = (): Capabilities =>
  new Capabilities({ clock: new FakeClock(), traitsOf: declared });

describe("what answers to callers tell of a node", () => {
  it("is that it lacks what an old block needs, of the kind of work that it was asked for", () => {
    const capabilities = unlearned();
    capabilities.learnFrom(declared("eth_getBlockByNumber"), result("null"), {
      block: 5,
      head: HEAD,
    });
    expect(capabilities.isLacking("blocks", { block: 4, head: HEAD })).toBe(true);
    expect(capabilities.isLacking("logs", { block: 4, head: HEAD })).toBe(true);
    expect(capabilities.isLacking("state", { block: 4, head: HEAD })).toBe(false);
    capabilities.learnFrom(declared("eth_getBlockByNumber"), result("{}"), {
      block: 3,
      head: HEAD,
    });
    expect(capabilities.isLacking("blocks", { block: 4, head: HEAD })).toBe(false);
  });

  it("is nothing when a caller asks for what no block has", () => {
    const capabilities = unlearned();
    const method = "eth_getTransactionByBlockNumberAndIndex";
    capabilities.learnFrom(declared(method), result("null"), { block: 5, head: HEAD });
    expect(capabilities.isLacking("blocks", { block: 5, head: HEAD })).toBe(false);
  });

  it.each([
    ["eth_getLogs is limited to a 10,000 range", undefined, 10_000],
    ["block range exceeded", { note: "no number" }, undefined],
    ["query returned more than 10000 results", undefined, undefined], // a limit on results, not on blocks
  ])("is the widest log query: %s", (message, data, want) => {
    const capabilities = unlearned();
    capabilities.learnFrom(declared("eth_getLogs"), refused(message, data), undefined);
    expect(capabilities.toRecord().widestLogs).toBe(want);
  });

  it("is no log range when a contract says the same", () => {
    const capabilities = unlearned();
    capabilities.learnFrom(
      declared("eth_call"),
      refused("eth_getLogs is limited to a 10 range"),
      undefined,
    );
    expect(capabilities.toRecord().widestLogs).toBeUndefined();
  });
});

describe("how far back a node has logs", () => {
  const logsOf = declared("eth_getLogs");
  const at = (block: number, head = HEAD) => ({ block, head });
  const logAt = (block: number) => `[{"blockNumber": "0x${block.toString(16)}"}]`;

  it("is unknown, except for the newest blocks, which no node drops", () => {
    const capabilities = unlearned();
    expect(capabilities.logsAt(at(5))).toBe("unknown");
    expect(capabilities.logsAt(at(HEAD - 10))).toBe("has");
    capabilities.learnFrom(logsOf, result("[]"), at(5));
    expect(capabilities.logsAt(at(5))).toBe("unknown");
  });

  it("is not shown by blocks, which nodes keep without their logs", () => {
    const capabilities = unlearned();
    capabilities.learnFrom(declared("eth_getBlockByNumber"), result("{}"), at(5));
    expect(capabilities.logsAt(at(5))).toBe("unknown");
  });

  it("is shown by the first log of an answer, as long as the head is no further away", () => {
    const capabilities = unlearned();
    capabilities.learnFrom(logsOf, result(logAt(600)), at(5));
    expect(capabilities.logsAt(at(5))).toBe("unknown");
    expect(capabilities.logsAt(at(600))).toBe("has");
    expect(capabilities.logsAt(at(600, HEAD + 1))).toBe("unknown");
    expect(capabilities.logsAt(at(601, HEAD + 1))).toBe("has");
  });

  it("is shown by logs that another node has, until the node gives some itself", () => {
    const capabilities = unlearned();
    capabilities.learnNoLogs(Buffer.from(logAt(600)), at(5));
    expect(capabilities.logsAt(at(600))).toBe("lacks");
    expect(capabilities.logsAt(at(601))).toBe("unknown");
    expect(capabilities.isLacking("logs", at(600))).toBe(true);
    expect(capabilities.isLacking("blocks", at(600))).toBe(false);
    capabilities.learnFrom(logsOf, result(logAt(500)), at(500));
    expect(capabilities.logsAt(at(600))).toBe("has");
  });
});

const MINUTE_MS = 60_000;
const DAY_MS = 86_400_000;
const onChange = (): void => undefined;

describe("a method that a node lacks", () => {
  it("is asked for again after ten minutes, then after twice as long each time, at most a day", async () => {
    const clock = new FakeClock();
    const missing = new MissingMethods({ clock, onChange });
    for (const restMs of [10, 20, 40, 80].map((minutes) => minutes * MINUTE_MS)) {
      missing.remember("trace_get");
      missing.remember("trace_get"); // reported by a call in flight at the same time
      await clock.advance(restMs - 1);
      expect(missing.has("trace_get")).toBe(true);
      await clock.advance(1);
      expect(missing.has("trace_get")).toBe(false);
    }
    for (let times = 0; times < 10; times += 1) {
      missing.remember("trace_get");
      await clock.advance(DAY_MS);
      expect(missing.has("trace_get")).toBe(false);
    }
  });

  it("is there again when the node answers it, and then lacked for ten minutes", async () => {
    const clock = new FakeClock();
    const missing = new MissingMethods({ clock, onChange });
    missing.remember("a");
    await clock.advance(10 * MINUTE_MS);
    missing.found("a");
    missing.remember("a");
    await clock.advance(10 * MINUTE_MS);
    expect(missing.has("a")).toBe(false);
  });

  it("is one of 512, of no endless name; the newest hundred are written", () => {
    const missing = new MissingMethods({ clock: new FakeClock(), onChange });
    for (let index = 0; index < 2_000; index += 1) missing.remember(`debug_${index}`);
    missing.remember(`debug_${"x".repeat(1_000_000)}`);
    expect(missing.count).toBe(512);
    expect(missing.has("debug_1488")).toBe(true);
    expect(missing.has("debug_1487")).toBe(false);
    const record = missing.toRecord();
    expect(record.map(([name]) => name)).toEqual(
      Array.from({ length: 100 }, (_, index) => `debug_${1_900 + index}`),
    );
  });

  it("is still lacked for what is left of the time after a restart, though the clock was set back", async () => {
    const before = new MissingMethods({ clock: new FakeClock(), onChange });
    before.remember("a");
    const clock = new FakeClock();
    await clock.advance(4 * MINUTE_MS);
    const after = new MissingMethods({ clock, onChange });
    after.restore([...before.toRecord(), ["b", 1e15, 1e15]]);
    await clock.advance(6 * MINUTE_MS - 1);
    expect(after.has("a")).toBe(true);
    await clock.advance(1);
    expect(after.has("a")).toBe(false);
    await clock.advance(DAY_MS);
    expect(after.has("b")).toBe(false);
  });
});
