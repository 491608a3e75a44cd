import { describe, expect, it } from "vitest";
import { isNeverServed, knownMethods, whyItOpensNothing } from "./known-methods.ts";

describe("an entry of an allow list", () => {
  it.each([
    "*",
    "eth_*",
    "eth_s*", // opens eth_syncing; methods that sign stay closed
    "eth_getLogs*",
    "debug_*",
    "debug_trace*",
    "trace_block",
    "rpc.discover",
    "headgate_*",
    "h*", // opens headgate_usage; hardhat_* controls a node
    "debug_setHead",
    "nobodys_method",
  ])("%s opens something", (entry) => {
    expect(whyItOpensNothing(entry)).toBeUndefined();
  });

  it.each([
    ["admin_*", "never served"],
    ["admin_nodeInfo", "never served"],
    ["Admin_of_tomorrow*", "never served"],
    ["eth_sign*", "never served"],
    ["eth_sendTransaction", "never served"],
    ["debug_subscribe", "never served"],
    ["*_sign", "never served"],
    ["adm*", "never served"],
    ["debug_setH*", "full names alone, as debug_setHead"],
    ["anvil_*", "full names alone"],
    ["pos_st*", "full names alone, as pos_start"],
    ["test_*", "full names alone"],
    ["nobodys_*", "write the full names"],
  ])("%s opens nothing: %s", (entry, words) => {
    expect(whyItOpensNothing(entry)).toContain(words);
  });
});

describe("a pattern of a key", () => {
  it("may mean what nobody knows and a network names", () => {
    expect(whyItOpensNothing("nobodys_*", ["nobodys_balance"])).toBeUndefined();
    expect(whyItOpensNothing("nobodys_*", ["others_balance"])).toContain("full names");
    expect(whyItOpensNothing("debug_setH*", ["debug_setHead"])).toContain("full names alone");
  });
});

describe("what is never served", () => {
  it("is every method that signs or pushes, and the namespaces of administration", () => {
    for (const { name, kind } of knownMethods) {
      const isNever = kind === "signing" || kind === "subscription";
      expect([name, isNeverServed(name)]).toEqual([
        name,
        isNever || /^(admin|miner|engine)_/.test(name),
      ]);
    }
  });

  it.each(["eth_call", "eth_sendRawTransaction", "eth_sendBundle", "debug_traceCall", ""])(
    "is not %j",
    (name) => {
      expect(isNeverServed(name)).toBe(false);
    },
  );
});
