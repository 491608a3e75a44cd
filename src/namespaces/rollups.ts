// What rollups add to the methods of Ethereum.
import { controls, reads, writes } from "./known-method.ts";
import { calledWithoutOverrides, contractAt, noContract } from "./read-contracts.ts";

const CHAIN = { contractsOf: noContract } as const;
const BLOCKS = { contractsOf: noContract, group: "blocks" } as const;
const EXECUTION = { cost: 5, group: "execution" } as const;
const SENT = { contractsOf: noContract } as const;

export const rollups = [
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
    { cost: 25, group: "traces" },
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
  ...reads("zks", "getProof getAllAccountBalances", { contractsOf: contractAt(0), group: "state" }),
  ...reads("zks", "getBytecodeByHash", { group: "state" }),
  ...reads("zks", "getRawBlockTransactions", { group: "blocks" }),
  ...reads("zks", "estimateFee estimateGasL1ToL2", {
    ...EXECUTION,
    contractsOf: calledWithoutOverrides,
  }),
  ...writes("zks", "sendRawTransactionWithDetailedOutput", SENT),
  // Linea.
  ...reads("linea", "estimateGas", { ...EXECUTION, contractsOf: calledWithoutOverrides }),
  ...reads("linea", "getProof", { contractsOf: contractAt(0), group: "state" }),
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
];
