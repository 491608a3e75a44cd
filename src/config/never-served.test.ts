import { describe, expect, it } from "vitest";
import { asksForNeverServed, isNeverServed } from "./never-served.ts";

describe("what is never served", () => {
  it.each([
    "admin_addPeer",
    "personal_unlockAccount",
    "miner_start",
    "engine_newPayloadV4",
    "eth_sign",
    "eth_signTransaction",
    "eth_signTypedData_v4",
    "eth_sendTransaction",
    "eth_resend",
    "cfx_sendTransaction",
    "cfx_signTransaction",
  ])("has %s", (method) => {
    expect(isNeverServed(method)).toBe(true);
  });

  it.each(["eth_call", "eth_sendRawTransaction", "cfx_sendRawTransaction", "debug_traceCall", ""])(
    "does not have %j",
    (method) => {
      expect(isNeverServed(method)).toBe(false);
    },
  );
});

describe("an allow list", () => {
  it.each([
    { pattern: "eth_*", isRefused: false },
    { pattern: "eth_s*", isRefused: false }, // eth_syncing; the rest is refused at run time
    { pattern: "debug_trace*", isRefused: false },
    { pattern: "trace_block", isRefused: false },
    { pattern: "rpc.discover", isRefused: false },
    { pattern: "admin_*", isRefused: true },
    { pattern: "admin_nodeInfo", isRefused: true },
    { pattern: "eth_sign*", isRefused: true },
    { pattern: "eth_signT*", isRefused: true },
    { pattern: "eth_sendTransaction", isRefused: true },
    { pattern: "*", isRefused: true },
    { pattern: "*_sign", isRefused: true },
    { pattern: "adm*", isRefused: true },
  ])("with $pattern is refused: $isRefused", ({ pattern, isRefused }) => {
    expect(asksForNeverServed(pattern)).toBe(isRefused);
  });
});
