import { describe, expect, it } from "vitest";
import { type MethodGroup, traitsOf } from "./method-traits.ts";

describe("the kind of work", () => {
  it.each<{ group: MethodGroup; methods: string }>([
    {
      group: "chain",
      methods:
        "eth_blockNumber eth_chainId eth_gasPrice eth_feeHistory eth_syncing net_version web3_clientVersion cfx_epochNumber cfx_getStatus",
    },
    {
      group: "blocks",
      methods:
        "eth_getBlockByNumber eth_getBlockByHash eth_getBlockReceipts eth_getTransactionByHash eth_getTransactionReceipt eth_getBlockTransactionCountByHash eth_getUncleByBlockHashAndIndex cfx_getBlockByEpochNumber cfx_getBlocksByEpoch cfx_getEpochReceipts",
    },
    {
      group: "state",
      methods:
        "eth_getBalance eth_getCode eth_getStorageAt eth_getTransactionCount eth_getProof cfx_getNextNonce cfx_getAccount",
    },
    {
      group: "execution",
      methods:
        "eth_call cfx_call eth_estimateGas cfx_estimateGasAndCollateral eth_createAccessList eth_simulateV1",
    },
    { group: "logs", methods: "eth_getLogs cfx_getLogs" },
    {
      group: "traces",
      methods:
        "trace_transaction trace_block trace_call debug_traceTransaction debug_traceBlockByNumber",
    },
    { group: "submission", methods: "eth_sendRawTransaction cfx_sendRawTransaction" },
    { group: "other", methods: "eth_getFilterChanges txpool_status m" },
  ])("is $group for $methods", ({ group, methods }) => {
    for (const method of methods.split(" "))
      expect(`${method} ${traitsOf(method).group}`).toBe(`${method} ${group}`);
  });
});

describe("what is done by asking", () => {
  it.each([
    {
      is: "may be asked twice",
      methods:
        "eth_call eth_getLogs eth_blockNumber trace_block eth_sendRawTransaction cfx_sendRawTransaction debug_storageRangeAt eth_mining",
      isRepeatable: true,
      isStateful: false,
    },
    {
      is: "is on one node, and moved by asking",
      methods:
        "eth_newFilter eth_newBlockFilter eth_newPendingTransactionFilter eth_getFilterChanges eth_getFilterLogs eth_uninstallFilter cfx_getFilterChanges",
      isRepeatable: false,
      isStateful: true,
    },
    {
      is: "acts",
      methods:
        "evm_mine evm_revert anvil_setBalance hardhat_impersonateAccount debug_setHead eth_submitWork eth_subscribe eth_unsubscribe",
      isRepeatable: false,
      isStateful: false,
    },
  ])("$methods $is", ({ methods, isRepeatable, isStateful }) => {
    for (const method of methods.split(" "))
      expect({ method, ...traitsOf(method) }).toMatchObject({ method, isRepeatable, isStateful });
  });

  it("is known of any name, however many are invented", () => {
    for (let index = 0; index < 2_500; index += 1)
      expect(traitsOf(`eth_getLogs${index}`).group).toBe("other");
    expect(traitsOf("eth_getLogs").group).toBe("logs");
  });
});
