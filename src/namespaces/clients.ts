// Namespaces that single clients of block networks have, those in which every client is administered, and those of
// rollups and of development chains.
import {
  ACCOUNT,
  BLOCKS,
  CHAIN,
  controls,
  EXECUTION,
  reads,
  signs,
  subscribes,
  TRACE,
  writes,
} from "./known-method.ts";
import {
  calledWithoutOverrides,
  contractAt,
  contractsOfLogs,
  noContract,
} from "./read-contracts.ts";

const SENT = { contractsOf: noContract } as const;

/** What anvil and Hardhat have in common. */
const SHARED = `autoImpersonateAccount dropAllTransactions dropTransaction getAutomine
  impersonateAccount metadata mine reset setBalance setCode setCoinbase setLoggingEnabled
  setMinGasPrice setNextBlockBaseFeePerGas setNonce setPrevRandao setStorageAt
  stopImpersonatingAccount`;

export const clients = [
  ...reads("erigon", "blockNumber forks watchTheBurn", CHAIN),
  ...reads("erigon", "getBlockByTimestamp getHeaderByHash getHeaderByNumber", BLOCKS),
  ...reads("erigon", "getLogs getLatestLogs", {
    cost: 10,
    contractsOf: contractsOfLogs,
    workKind: "logs",
  }),
  ...reads("erigon", "getLogsByHash", { cost: 10, workKind: "logs" }),
  ...reads("erigon", "getBlockReceiptsByBlockHash", { cost: 10, workKind: "blocks" }),
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
    workKind: "blocks",
  }),
  ...reads("ots", "getInternalOperations traceTransaction", TRACE),
  ...reads("parity", "pendingTransactions getBlockReceipts", { workKind: "blocks" }),
  ...reads("parity", "listStorageKeys", { workKind: "state" }),
  ...controls("parity", "clearEngineSigner enode netPeers setEngineSigner setEngineSignerSecret"),
  ...reads("proof", "call", { cost: 5, workKind: "execution" }),
  ...reads("proof", "getTransactionByHash getTransactionReceipt", { cost: 5, workKind: "blocks" }),
  ...reads("reth", "getBalanceChangesInBlock", { workKind: "blocks" }),
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

  // Rollups.
  // OP Stack: its rollup node, and the gateway's own of old.
  ...reads("optimism", "rollupConfig syncStatus version", CHAIN),
  ...reads("optimism", "outputAtBlock safeHeadAtL1Block", BLOCKS),
  ...reads("rollup", "gasPrices getInfo", CHAIN),
  ...controls(
    "opp2p",
    "blockAddr blockPeer blockSubnet connectPeer disconnectPeer peers protectPeer self unblockAddr unblockPeer unblockSubnet unprotectPeer",
  ),
  // Arbitrum.
  ...reads(
    "arbtrace",
    "block call callMany filter get replayBlockTransactions replayTransaction transaction",
    { cost: 25, workKind: "traces" },
  ),
  ...reads("arb", "getRawBlockMetadata getL1Confirmations findBatchContainingBlock", BLOCKS),
  ...writes("timeboost", "sendExpressLaneTransaction", SENT),
  ...controls("arb", "checkPublisherHealth latestValidated maintenanceStatus triggerMaintenance"),
  ...controls(
    "arbdebug",
    "evictedRequests pricingModel timeoutQueue timeoutQueueHistory validateMessageNumber",
  ),
  // ZKsync.
  ...reads(
    "zks",
    `L1BatchNumber L1ChainId gasPerPubdata getBaseTokenL1Address getBatchFeeInput
     getBridgeContracts getBridgehubContract getConfirmedTokens getFeeParams getL1GasPrice
     getL2Multicall3 getMainContract getProtocolVersion getTestnetPaymaster getTimestampAsserter`,
    CHAIN,
  ),
  ...reads(
    "zks",
    `getBlockDetails getL1BatchBlockRange getL1BatchDetails getL2ToL1LogProof getL2ToL1MsgProof
     getTransactionDetails`,
    BLOCKS,
  ),
  ...reads("zks", "getProof getAllAccountBalances", {
    contractsOf: contractAt(0),
    workKind: "state",
  }),
  ...reads("zks", "getBytecodeByHash", { workKind: "state" }),
  ...reads("zks", "getRawBlockTransactions", { workKind: "blocks" }),
  ...reads("zks", "estimateFee estimateGasL1ToL2", {
    ...EXECUTION,
    contractsOf: calledWithoutOverrides,
  }),
  ...writes("zks", "sendRawTransactionWithDetailedOutput", SENT),
  // Linea.
  ...reads("linea", "estimateGas", { ...EXECUTION, contractsOf: calledWithoutOverrides }),
  ...reads("linea", "getProof", { contractsOf: contractAt(0), workKind: "state" }),
  ...reads("linea", "getTransactionExclusionStatusV1", BLOCKS),
  // Polygon zkEVM and PoS.
  ...reads(
    "zkevm",
    `batchNumber consolidatedBlockNumber estimateFee estimateGasPrice getLatestGlobalExitRoot
     verifiedBatchNumber virtualBatchNumber`,
    CHAIN,
  ),
  ...reads(
    "zkevm",
    `batchNumberByBlockNumber getBatchByNumber getExitRootsByGER getFullBlockByHash
     getFullBlockByNumber getNativeBlockHashesInRange getTransactionByL2Hash
     getTransactionReceiptByL2Hash isBlockConsolidated isBlockVirtualized`,
    BLOCKS,
  ),
  ...reads("zkevm", "estimateCounters", EXECUTION),
  ...reads(
    "bor",
    `getAuthor getCurrentProposer getCurrentValidators getRootHash getSigners getSignersAtHash
     getSnapshot getSnapshotAtHash getSnapshotProposer getSnapshotProposerSequence`,
    CHAIN,
  ),
  // Scroll, Taiko.
  ...reads(
    "scroll",
    `getBlockByHash getBlockByNumber getFirstQueueIndexNotInL2Block getL1MessageByIndex
     getNumSkippedTransactions getSkippedTransaction getSkippedTransactionHashes`,
    BLOCKS,
  ),
  ...reads("scroll", "getLatestRelayedQueueIndex syncStatus", CHAIN),
  ...reads("scroll", "estimateL1DataFee", EXECUTION),
  ...reads("taiko", "headL1Origin l1OriginByID", CHAIN),

  // Development chains: anvil, Hardhat, Ganache. They do what these methods say, so a caller of them rules the chain.
  ...controls(
    "anvil",
    `${SHARED} addBalance dealERC20 dumpState enableTraces getGenesisTime getIntervalMining
     impersonateSignature increaseTime loadState nodeInfo removeBlockTimestampInterval
     removePoolTransactions reorg revert rollback setAutomine setBlock setBlockGasLimit
     setBlockTimestampInterval setChainId setERC20Allowance setIntervalMining
     setNextBlockTimestamp setRpcUrl setTime snapshot`,
  ),
  ...controls("hardhat", `${SHARED} addCompilationResult intervalMine`),
  ...controls(
    "evm",
    `addAccount increaseTime mine mineDetailed removeAccount revert setAccountBalance setAccountCode
     setAccountNonce setAccountStorageAt setAutomine setBlockGasLimit setIntervalMining
     setNextBlockTimestamp setTime snapshot`,
  ),
];
