// What rollups add to the methods of Ethereum.
import { controls, reads, writes } from "./known-method.ts";

const CHAIN = { reads: "nothing" } as const;
const EXECUTION = { cost: 5 } as const;

export const rollups = [
  // OP Stack: its rollup node, and the gateway's own of old.
  ...reads("optimism", "outputAtBlock rollupConfig safeHeadAtL1Block syncStatus version", CHAIN),
  ...reads("rollup", "gasPrices getInfo", CHAIN),
  ...controls(
    "opp2p",
    "blockAddr blockPeer blockSubnet connectPeer disconnectPeer peers protectPeer self unblockAddr unblockPeer unblockSubnet unprotectPeer",
  ),
  // Arbitrum.
  ...reads(
    "arbtrace",
    "block call callMany filter get replayBlockTransactions replayTransaction transaction",
    { cost: 25 },
  ),
  ...reads("arb", "getRawBlockMetadata getL1Confirmations findBatchContainingBlock", CHAIN),
  ...writes("timeboost", "sendExpressLaneTransaction", CHAIN),
  ...controls("arb", "checkPublisherHealth latestValidated maintenanceStatus triggerMaintenance"),
  ...controls(
    "arbdebug",
    "evictedRequests pricingModel timeoutQueue timeoutQueueHistory validateMessageNumber",
  ),
  // ZKsync.
  ...reads(
    "zks",
    `L1BatchNumber L1ChainId gasPerPubdata getBaseTokenL1Address getBatchFeeInput getBlockDetails
     getBridgeContracts getBridgehubContract getConfirmedTokens getFeeParams getL1BatchBlockRange
     getL1BatchDetails getL1GasPrice getL2Multicall3 getL2ToL1LogProof getL2ToL1MsgProof
     getMainContract getProtocolVersion getTestnetPaymaster getTimestampAsserter
     getTransactionDetails`,
    CHAIN,
  ),
  ...reads("zks", "getProof getAllAccountBalances", { reads: "account" }),
  ...reads("zks", "getBytecodeByHash getRawBlockTransactions"),
  ...reads("zks", "estimateFee estimateGasL1ToL2", { ...EXECUTION, reads: "called" }),
  ...writes("zks", "sendRawTransactionWithDetailedOutput", CHAIN),
  // Linea.
  ...reads("linea", "estimateGas", { ...EXECUTION, reads: "called" }),
  ...reads("linea", "getProof", { reads: "account" }),
  ...reads("linea", "getTransactionExclusionStatusV1", CHAIN),
  // Polygon zkEVM and PoS.
  ...reads(
    "zkevm",
    `batchNumber batchNumberByBlockNumber consolidatedBlockNumber estimateFee estimateGasPrice
     getBatchByNumber getExitRootsByGER getFullBlockByHash getFullBlockByNumber
     getLatestGlobalExitRoot getNativeBlockHashesInRange getTransactionByL2Hash
     getTransactionReceiptByL2Hash isBlockConsolidated isBlockVirtualized verifiedBatchNumber
     virtualBatchNumber`,
    CHAIN,
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
     getLatestRelayedQueueIndex getNumSkippedTransactions getSkippedTransaction
     getSkippedTransactionHashes syncStatus`,
    CHAIN,
  ),
  ...reads("scroll", "estimateL1DataFee", EXECUTION),
  ...reads("taiko", "headL1Origin l1OriginByID", CHAIN),
];
