import { describe, expect, it } from "vitest";
import { declaredMethods, forwardedMethod, forwardedMethods } from "../methods/catalogue.ts";
import type { Method } from "../methods/method.ts";
import { unknownMethod } from "./known-methods.ts";

const A = `0x${"aa".repeat(20)}`;
const B = `0x${"bb".repeat(20)}`;

const mux = (tracerConfig: unknown) => ({ tracer: "muxTracer", tracerConfig });

const method = (name: string): Method =>
  declaredMethods.find((each) => each.name === name) ??
  forwardedMethods.find((each) => each.name === name) ??
  forwardedMethod(unknownMethod(name, "evm"));

describe("the contracts that a call reads", () => {
  it.each([
    ["eth_call", [{ to: A }, "latest"], [A]],
    ["eth_call", [{ to: A }, "latest", null], [A]],
    ["eth_call", [{ to: A }, "latest", {}, { number: "0x1" }], [A]],
    ["eth_call", [{ to: A }, "latest", { [A]: { code: "0x60" } }], undefined],
    ["eth_call", [{ to: A }, "latest", "0x"], undefined],
    ["eth_call", [{ data: "0x60" }], undefined],
    ["eth_call", [{ to: null }], undefined],
    ["eth_call", [[A]], undefined],
    ["eth_call", [], undefined],
    ["eth_estimateGas", [{ to: A }], [A]],
    ["eth_estimateGas", [{ to: A }, "latest", { [A]: {} }], undefined],
    ["eth_createAccessList", [{ to: A }, "latest"], [A]],
    ["eth_getCode", [A, "latest"], [A]],
    ["eth_getStorageAt", [A, "0x0"], [A]],
    ["eth_getProof", [A, []], [A]],
    ["eth_getLogs", [{ address: A }], [A]],
    ["eth_getLogs", [{ address: [A, B] }], [A, B]],
    ["eth_getLogs", [{ address: [] }], undefined],
    ["eth_getLogs", [{ address: null }], undefined],
    ["eth_getLogs", [{ topics: [] }], undefined],
    ["eth_getLogs", [], undefined],
    ["eth_newFilter", [{ address: A }], [A]],
    ["eth_newFilter", [{}], undefined],
    ["eth_getBlockReceipts", ["latest"], undefined],
    ["eth_getTransactionReceiptsByBlock", ["latest"], undefined],
    ["trace_call", [{ to: A }, ["trace"]], [A]],
    [
      "trace_callMany",
      [
        [
          [{ to: A }, []],
          [{ to: B }, []],
        ],
      ],
      [A, B],
    ],
    [
      "trace_callMany",
      [
        [
          [{ to: A }, []],
          [{}, []],
        ],
      ],
      undefined,
    ],
    ["trace_callMany", [[{ to: A }]], undefined],
    ["trace_callMany", [], undefined],
    ["trace_block", ["latest"], undefined],
    ["trace_filter", [{ toAddress: [A] }], undefined],
    ["trace_replayBlockTransactions", ["latest", []], undefined],
    ["trace_rawTransaction", ["0x00", []], undefined],
    ["debug_traceCall", [{ to: A }, "latest"], [A]],
    ["debug_traceCall", [{ to: A }, "latest", { tracer: "callTracer" }], [A]],
    ["debug_traceCall", [{ to: A }, "latest", { tracer: "{step(){}}" }], undefined],
    ["debug_traceCall", [{ to: A }, "latest", { Tracer: "{step(){}}" }], undefined],
    ["debug_traceCall", [{ to: A }, "latest", { stateOverrides: {} }], [A]],
    [
      "debug_traceCall",
      [{ to: A }, "latest", { stateOverrides: { [A]: { code: "0x60" } } }],
      undefined,
    ],
    ["debug_traceCall", [{ to: A }, "latest", { blockOverrides: { number: "0x1" } }], [A]],
    ["debug_traceCall", [{ to: A }, "latest", { blockOverrides: { state: {} } }], undefined],
    ["debug_traceCall", [{ to: A }, "latest", { blockOverrides: "0x" }], undefined],
    ["debug_traceCall", [{ to: A }, "latest", { overrides: { byzantiumBlock: 1 } }], undefined],
    ["eth_call", [{ to: A }, "latest", {}, { [A]: { code: "0x60" } }], undefined],
    ["eth_estimateGas", [{ to: A }, "latest", null, [{ code: "0x60" }]], undefined],
    ["debug_traceCall", [{ to: A }, "latest", "callTracer"], undefined],
    ["debug_traceCall", [{ to: A }, "latest", [{ tracer: "callTracer" }]], undefined],
    ["debug_traceCall", [{ to: A }, "latest", { tracer: "evilTracer" }], undefined],
    ["debug_traceCall", [{ to: A }, "latest", { tracer: "callTracer", Tracer: "x" }], undefined],
    ["debug_traceCall", [{ to: A }, "latest", { tracer: "muxTracer" }], [A]],
    ["debug_traceCall", [{ to: A }, "latest", mux({ callTracer: null, "4byteTracer": {} })], [A]],
    ["debug_traceCall", [{ to: A }, "latest", mux({ muxTracer: { flatCallTracer: {} } })], [A]],
    ["debug_traceCall", [{ to: A }, "latest", mux({ "{step(){}}": null })], undefined],
    ["debug_traceCall", [{ to: A }, "latest", mux({ muxTracer: { "{step(){}}": {} } })], undefined],
    ["debug_traceCall", [{ to: A }, "latest", mux({ MuxTracer: {} })], undefined],
    ["debug_traceCall", [{ to: A }, "latest", mux(["callTracer"])], undefined],
    ["debug_traceCall", [{ to: A }, "latest", { ...mux({}), TracerConfig: {} }], undefined],
    ["debug_traceTransaction", ["0x00"], []],
    ["debug_traceTransaction", ["0x00", { tracer: "prestateTracer" }], []],
    ["debug_traceTransaction", ["0x00", { tracer: "{step(){}}" }], undefined],
    ["debug_traceTransaction", ["0x00", mux({ "{step(){}}": null })], undefined],
    ["debug_traceCallMany", [[]], undefined],
    ["eth_callMany", [[{ transactions: [{ to: A }] }]], undefined],
    ["eth_newThing", [A], undefined],
    ["debug_traceCall", [{ to: A }, "latest", { stateoverrides: {} }], undefined],
    ["debug_traceBlockByNumber", ["latest"], undefined],
    ["eth_simulateV1", [{ blockStateCalls: [] }], undefined],
    ["cfx_call", [{ to: A }], [A]],
    ["cfx_estimateGasAndCollateral", [{ to: A }], [A]],
    ["cfx_getCode", [A], [A]],
    ["cfx_getLogs", [{ address: A }], [A]],
    ["cfx_getLogs", [{ blockHashes: [] }], undefined],
    ["cfx_newFilter", [{ address: [A] }], [A]],
    ["cfx_getStorageAt", [A, "0x0"], [A]],
    ["cfx_getEpochReceipts", ["latest_state"], undefined],
  ] as const)("of %s %j are %j", (name, params, want) => {
    expect(method(name).contractsOf?.(params)).toEqual(want);
    expect(method(name).contractsOf).toBeDefined();
  });

  // Nodes in Go read `To` as `to`, and take the last of several.
  it.each([{ to: A, To: B }, { TO: B }, { to: A, "\u0074O": B }])(
    "cannot be told of %j",
    (asked) => {
      const told = method("eth_call").contractsOf?.([asked]);
      expect(told?.some((each) => each === A || each === B) ?? false).toBe(false);
      expect(told).not.toEqual([]);
    },
  );

  it("cannot be told of a filter with an address in letters that Go takes for those of ASCII", () => {
    const asked = { address: A, ["addre\u017f\u017f"]: B };
    expect(method("eth_getLogs").contractsOf?.([asked])).toBeUndefined();
  });

  it.each(["eth_blockNumber", "eth_getBalance", "eth_getTransactionReceipt", "trace_transaction"])(
    "are none of %s",
    (name) => {
      expect(method(name).contractsOf).toBeUndefined();
    },
  );

  it.each(["net_listening", "eth_protocolVersion", "eth_getHeaderByNumber", "cfx_getSupplyInfo"])(
    "are none of %s, which is not declared",
    (name) => {
      expect(method(name).contractsOf?.([])).toEqual([]);
    },
  );

  const code = { [A]: { code: "0x60" } };

  it.each([
    // State overrides are the second parameter here.
    ["linea_estimateGas", [{ to: A }], [A]],
    ["linea_estimateGas", [{ to: A }, "latest"], [A]],
    ["linea_estimateGas", [{ to: A }, code], undefined],
    ["zks_estimateFee", [{ to: A }, code], undefined],
    ["zks_estimateGasL1ToL2", [{ to: A }, code], undefined],
    ["zks_estimateFee", [{ to: A, eip712Meta: { paymasterParams: { paymaster: B } } }], undefined],
    ["zkevm_getBatchByNumber", ["0x1"], []],
    ["zkevm_getBatchByNumber", ["0x1", false], []],
    ["zkevm_getBatchByNumber", ["0x1", true], undefined],
    ["zkevm_getFullBlockByNumber", ["0x1", true], undefined],
    ["scroll_getBlockByNumber", ["0x1", true], []],
    ["eth_getFinalizedBlock", [1, true], []],
    ["eth_getHeaderByNumber", ["latest"], []],
    ["eth_getHeaderByNumber", ["latest", { withReceipts: "0x1" }], undefined],
    ["debug_getRawHeader", [{ blockHash: "0x1", requireCanonical: true }], []],
    ["cfx_feeHistory", ["0x1", "latest_state", [10, 90]], []],
    ["eth_call", [{ to: A }, "latest", null, null, code], undefined],
    ["eth_call", [{ to: A }, code], undefined],
    ["eth_call", [{ to: A }, { blockHash: "0x1", requireCanonical: true }], [A]],
    ["eth_call", [{ to: A, authorizationList: [{ address: B }] }], undefined],
    ["eth_call", [{ to: A, accessList: [], maxFeePerGas: "0x1" }], [A]],
    ["eth_getCode", [A, { blockNumber: "0x1" }], [A]],
    ["eth_getCode", [A, "latest", code], undefined],
    ["eth_getProof", [A, ["0x1"], "latest"], [A]],
    ["zks_getProof", [A, ["0x1"], 7], [A]],
    ["eth_getAccount", [A, "latest", { contracts: [B] }], undefined],
    ["trace_call", [{ to: A }, ["trace"], "latest"], [A]],
    ["trace_call", [{ to: A }, ["trace"], "latest", code], undefined],
    ["trace_callMany", [[[{ to: A }, ["trace"], code]]], undefined],
    ["trace_callMany", [[[{ to: A }, ["trace"]]], "latest", code], undefined],
    ["debug_traceCall", [{ to: A }, "latest", {}, code], undefined],
    ["debug_traceCall", [{ to: A }, code], undefined],
    ["debug_traceCall", [{ to: A }, "latest", { precompiles: code }], undefined],
    ["debug_traceTransaction", ["0x00", { tracer: "callTracer", timeout: "5s" }], []],
    ["debug_traceTransaction", ["0x00", { stateOverrides: code }], undefined],
    ["debug_traceTransaction", ["0x00", {}, code], undefined],
    ["eth_getLogs", [{ address: A, fromBlock: "0x1", topics: [null] }], [A]],
    ["eth_getLogs", [{ address: A, addresses: [B] }], undefined],
    ["eth_getLogs", [{ address: A }, { address: { also: B } }], undefined],
    ["erigon_getLatestLogs", [{ address: A }, { logCount: 5, ignoreTopicsOrder: true }], [A]],
    ["eth_sendRawTransactionConditional", ["0x", {}], []],
    ["eth_sendRawTransactionConditional", ["0x", { knownAccounts: { [B]: "0x1" } }], [B]],
    ["eth_sendRawTransactionConditional", ["0x", { KnownAccounts: { [B]: "0x1" } }], undefined],
    ["eth_sendRawTransactionConditional", ["0x", { knownAccounts: [B] }], undefined],
  ] as const)("of %s %j are %j, by the shapes of its parameters", (name, params, want) => {
    expect(method(name).contractsOf?.(params)).toEqual(want);
    expect(method(name).contractsOf).toBeDefined();
  });

  it("are told of no read that is passed on with a parameter of any other shape", () => {
    const strange = [true, { code: "0x60" }, [{}], { to: B }];
    const told = forwardedMethods
      .filter(({ kind, contractsOf }) => kind === "read" && contractsOf)
      .flatMap(({ name, contractsOf }) =>
        [0, 1, 2, 3, 4]
          .flatMap((before) => strange.map((odd) => [...Array(before).fill("0x1"), odd, {}, odd]))
          .filter((params) => contractsOf?.(params) !== undefined)
          .map((params) => `${name} ${JSON.stringify(params)}`),
      );
    expect(told).toEqual([]);
  });
});

describe("methods that write", () => {
  it.each([
    ["eth_sendRawTransaction", true],
    ["eth_sendRawTransactionSync", true],
    ["eth_sendRawTransactionConditional", true],
    ["cfx_sendRawTransaction", true],
    ["eth_sendBundle", true],
    ["zks_sendRawTransactionWithDetailedOutput", true],
    ["eth_cancelPrivateTransaction", true],
    ["eth_submitWork", true],
    ["debug_setHead", true],
    ["evm_mine", true],
    ["anvil_setCode", true],
    ["eth_call", false],
    ["eth_newFilter", false],
    ["eth_getTransactionBySenderAndNonce", false],
    ["eth_mining", false],
    ["debug_traceCall", false],
  ])("%s: %s", (name, want) => {
    expect(method(name).kind !== "read").toBe(want);
  });
});
