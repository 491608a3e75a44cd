// Namespaces that single clients of block networks have, and those in which every client is administered.
import { controls, reads, signs, subscribes, writes } from "./known-method.ts";
import { contractAt, contractsOfLogs, noContract } from "./read-contracts.ts";

const CHAIN = { contractsOf: noContract } as const;
const BLOCKS = { contractsOf: noContract, group: "blocks" } as const;
const ACCOUNT = { contractsOf: contractAt(0), group: "state" } as const;
const TRACE = { cost: 25, group: "traces" } as const;

export const clients = [
  ...reads("erigon", "blockNumber forks watchTheBurn", CHAIN),
  ...reads("erigon", "getBlockByTimestamp getHeaderByHash getHeaderByNumber", BLOCKS),
  ...reads("erigon", "getLogs getLatestLogs", {
    cost: 10,
    contractsOf: contractsOfLogs,
    group: "logs",
  }),
  ...reads("erigon", "getLogsByHash", { cost: 10, group: "logs" }),
  ...reads("erigon", "getBlockReceiptsByBlockHash", { cost: 10, group: "blocks" }),
  ...controls("erigon", "cacheCheck nodeInfo"),
  ...reads("ots", "getApiLevel", CHAIN),
  ...reads(
    "ots",
    `getBlockDetails getBlockDetailsByHash getBlockTransactions getTransactionBySenderAndNonce
     getTransactionError`,
    BLOCKS,
  ),
  ...reads("ots", "hasCode getContractCreator", ACCOUNT),
  ...reads("ots", "searchTransactionsAfter searchTransactionsBefore", {
    cost: 10,
    group: "blocks",
  }),
  ...reads("ots", "getInternalOperations traceTransaction", TRACE),
  ...reads("parity", "pendingTransactions getBlockReceipts", { group: "blocks" }),
  ...reads("parity", "listStorageKeys", { group: "state" }),
  ...controls("parity", "clearEngineSigner enode netPeers setEngineSigner setEngineSignerSecret"),
  ...reads("proof", "call", { cost: 5, group: "execution" }),
  ...reads("proof", "getTransactionByHash getTransactionReceipt", { cost: 5, group: "blocks" }),
  ...reads("reth", "getBalanceChangesInBlock", { group: "blocks" }),
  ...subscribes("reth", "subscribeChainNotifications unsubscribeChainNotifications"),
  ...reads(
    "clique",
    "getSigner getSignerMetrics getSigners getSignersAtHash getSnapshot getSnapshotAtHash proposals status",
    CHAIN,
  ),
  ...controls("clique", "discard produceBlock propose"),
  ...["ibft", "qbft"].flatMap((namespace) => [
    ...reads(
      namespace,
      "getPendingVotes getSignerMetrics getValidatorsByBlockHash getValidatorsByBlockNumber",
      CHAIN,
    ),
    ...controls(namespace, "discardValidatorVote proposeValidatorVote"),
  ]),
  ...controls("ethash", "getHashrate getWork submitHashrate submitWork"),
  ...controls(
    "perm",
    `addAccountsToAllowlist addNodesToAllowlist getAccountsAllowlist getNodesAllowlist
     reloadPermissionsFromFile removeAccountsFromAllowlist removeNodesFromAllowlist`,
  ),
  ...controls("plugins", "reloadPluginConfig"),
  ...writes("eea", "sendRawTransaction"),
  ...controls("les", "addBalance clientInfo priorityClientInfo serverInfo setClientParams"),

  ...controls(
    "admin",
    `addPeer addTrustedPeer changeLogLevel clearCache datadir exportChain generateLogBloomCache
     importChain logsRemoveCache logsRepairCache nodeInfo peerEvents peers prune removePeer
     removeTrustedPeer sleepBlocks startHTTP startRPC startWS stopHTTP stopRPC stopWS verifyTrie`,
  ),
  ...controls(
    "miner",
    `changeTargetGasLimit getHashrate getMinGasPrice getMinPriorityFee setCoinbase setEtherbase
     setExtra setGasLimit setGasPrice setMaxDASize setMinGasPrice setMinPriorityFee
     setRecommitInterval start stop`,
  ),
  ...controls(
    "engine",
    `exchangeCapabilities exchangeTransitionConfigurationV1 forkchoiceUpdatedV1 forkchoiceUpdatedV2
     forkchoiceUpdatedV3 forkchoiceUpdatedV4 getBlobsV1 getBlobsV2 getBlobsV3 getClientVersionV1
     getPayloadBodiesByHashV1 getPayloadBodiesByHashV2 getPayloadBodiesByRangeV1
     getPayloadBodiesByRangeV2 getPayloadV1 getPayloadV2 getPayloadV3 getPayloadV4 getPayloadV5
     getPayloadV6 newPayloadV1 newPayloadV2 newPayloadV3 newPayloadV4 newPayloadV5`,
  ),
  ...signs(
    "personal",
    `deriveAccount ecRecover importRawKey initializeWallet listAccounts listWallets lockAccount
     newAccount openWallet sendTransaction sign signAndSendTransaction signTransaction signTypedData
     unlockAccount unpair`,
  ),
  ...signs("wallet", "sendTransaction sendCalls sign"),
];
