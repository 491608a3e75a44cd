import { describe, expect, it } from "vitest";
import { catalogueFor, declaredMethods } from "./catalogue.ts";

const evm = catalogueFor({
  family: "evm",
  allow: ["eth_*", "net_*", "web3_*", "trace_*"],
  deny: ["eth_getProof", "eth_fancy*"],
});
const conflux = catalogueFor({ family: "conflux", allow: ["cfx_*", "pos_*"], deny: [] });
const closed = catalogueFor({ family: "evm", allow: [], deny: ["trace_*", "eth_getCode"] });

describe("the catalogue", () => {
  it.each([
    { catalogue: evm, name: "eth_getLogs", want: 10 },
    { catalogue: evm, name: "eth_getCode", want: 2 },
    { catalogue: evm, name: "eth_getBalance", want: 2 },
    { catalogue: evm, name: "eth_newFilter", want: 2 },
    { catalogue: evm, name: "eth_getBlockReceipts", want: 10 },
    { catalogue: evm, name: "eth_estimateGas", want: 5 },
    { catalogue: evm, name: "eth_chainId", want: 1 },
    { catalogue: evm, name: "web3_sha3", want: 1 },
    { catalogue: evm, name: "net_listening", want: 1 }, // forwarded, as the next ones
    { catalogue: evm, name: "trace_new", want: 25 },
    { catalogue: evm, name: "eth_getTokenBalance", want: 2 },
    { catalogue: evm, name: "eth_simulateV1", want: 3 },
    { catalogue: conflux, name: "cfx_getLogs", want: 10 },
    { catalogue: conflux, name: "cfx_epochNumber", want: 1 },
    { catalogue: conflux, name: "web3_sha3", want: 1 },
    { catalogue: conflux, name: "pos_getStatus", want: 3 },
  ])("has $name for $want units", ({ catalogue, name, want }) => {
    expect(catalogue.find(name)?.cost).toBe(want);
  });

  it.each([
    "debug_traceTransaction", // not allowed here
    "eth_getProof", // denied
    "eth_fancyThing", // denied by pattern
    "eth_sendTransaction",
    "eth_sign",
    "eth_signTypedData_v4",
    "admin_peers",
    "personal_unlockAccount",
    "engine_newPayloadV3",
    "eth_subscribe",
    "eth_unsubscribe",
    "cfx_getLogs", // of the other family
    "eth_bad name",
    "eth_\n",
    `eth_${"x".repeat(200)}`,
    "__proto__",
    "constructor",
    "",
  ])("does not have %j", (name) => {
    expect(evm.find(name)).toBeUndefined();
  });

  it("has nothing that is never served, even if a list says so", () => {
    const open = catalogueFor({ family: "evm", allow: ["*"], deny: [] });
    expect(open.find("admin_peers")).toBeUndefined();
    expect(open.find("eth_sendTransaction")).toBeUndefined();
    expect(open.find("debug_traceBlock")?.cost).toBe(25);
  });

  it("has the methods of the specification without being told, unless they are denied", () => {
    expect(closed.find("eth_getLogs")).toBeDefined();
    expect(closed.find("eth_getUncleCountByBlockHash")).toBeDefined();
    expect(closed.find("eth_getBalance")).toBeUndefined();
    expect(closed.find("eth_getCode")).toBeUndefined();
    expect(closed.find("trace_get")).toBeUndefined();
    expect(closed.methods.map(({ name }) => name)).not.toContain("trace_get");
  });

  it("remembers forwarded methods, but knows that they are not declared", () => {
    expect(evm.find("eth_simulateV1")).toBe(evm.find("eth_simulateV1"));
    expect(evm.isDeclared("eth_simulateV1")).toBe(false);
    expect(evm.isDeclared("eth_getLogs")).toBe(true);
    for (let index = 0; index < 2000; index += 1) evm.find(`eth_x${index}`);
    expect(evm.find("eth_x1999")?.name).toBe("eth_x1999");
  });

  it("declares every method once, with optional parameters last", () => {
    const names = declaredMethods.map(({ name }) => name);
    expect(new Set(names).size).toBe(names.length);
    for (const { parameters } of declaredMethods) {
      const flags = parameters === "any" ? [] : parameters.map(({ isOptional }) => isOptional);
      expect(flags).toEqual([...flags].sort());
    }
  });
});
