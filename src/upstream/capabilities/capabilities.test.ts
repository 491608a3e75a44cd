import { describe, expect, it } from "vitest";
import { FakeClock } from "../../../test/support/fake-clock.ts";
import { traitsOf } from "../../methods/catalogue.ts";
import type { Reply } from "../reply.ts";
import { Capabilities } from "./capabilities.ts";

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
    ["query returned more than 10000 results", undefined, undefined], // of results, not of blocks
  ])("is the widest log query: %s", (message, data, want) => {
    const capabilities = unlearned();
    capabilities.learnFrom(declared("eth_getLogs"), refused(message, data), undefined);
    expect(capabilities.snapshot().widestLogs).toBe(want);
  });

  it("is no log range when a contract says the same", () => {
    const capabilities = unlearned();
    capabilities.learnFrom(
      declared("eth_call"),
      refused("eth_getLogs is limited to a 10 range"),
      undefined,
    );
    expect(capabilities.snapshot().widestLogs).toBeUndefined();
  });
});
