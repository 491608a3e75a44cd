// What clients of block networks document in the namespaces that everybody has: eth, net, web3, rpc, trace, txpool,
// debug. What is declared in src/methods is not listed again.
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
import { noContract, tracedCall, tracedTransaction } from "./read-contracts.ts";

const FREE = { contractsOf: noContract, workKind: "chain", cost: 1 } as const;

export const ethereum = [
  ...reads(
    "eth",
    "baseFee capabilities coinbase config getCompilers hashrate mining networkId protocolVersion",
    CHAIN,
  ),
  ...reads(
    "eth",
    `getHeaderByHash getHeaderByNumber getMinerDataByBlockHash getMinerDataByBlockNumber
     getRawTransactionByBlockHashAndIndex getRawTransactionByBlockNumberAndIndex
     getRawTransactionByHash getTransactionBySenderAndNonce`,
    BLOCKS,
  ),
  ...reads("eth", "getAccount getAccountInfo", ACCOUNT),
  ...reads(
    "eth",
    "getBlockAccessListByBlockHash getBlockAccessListByBlockNumber pendingTransactions",
    { workKind: "blocks" },
  ),
  ...reads("eth", "getAccountPendingTransactions getStorageValues getTxWitness getWitness", {
    workKind: "state",
  }),
  ...reads("eth", "callBundle callMany estimateGasBundle fillTransaction simulateV1", EXECUTION),
  // ERC-4337 bundlers.
  ...reads("eth", "getUserOperationByHash getUserOperationReceipt", BLOCKS),
  ...reads("eth", "supportedEntryPoints", CHAIN),
  ...reads("eth", "estimateUserOperationGas", EXECUTION),
  ...writes("eth", "sendUserOperation", { contractsOf: noContract }),
  ...writes(
    "eth",
    `sendRawTransactionSync sendRawTransactionConditional sendPrivateRawTransaction
     sendPrivateTransaction cancelPrivateTransaction`,
    { contractsOf: noContract },
  ),
  ...writes("eth", "sendBundle sendMegabundle sendEndOfBlockBundle cancelBundle"),
  ...writes("mev", "sendBundle"),
  ...reads("mev", "simBundle", EXECUTION),
  ...controls("eth", "getWork submitWork submitHashrate submitTransaction"),
  ...signs(
    "eth",
    `sign signTransaction signTypedData signTypedData_v3 signTypedData_v4 sendTransaction
     sendTransactionSync sendUnsignedTransaction resend requestAccounts`,
  ),
  ...subscribes("eth", "subscribe unsubscribe"),
  // Of single chains: Polygon, BNB Smart Chain, Avalanche.
  ...reads(
    "eth",
    `health getChainConfig getActiveRulesAt getActivePrecompilesAt suggestPriceOptions feeConfig`,
    CHAIN,
  ),
  ...reads(
    "eth",
    `getRootHash getFinalizedBlock getFinalizedHeader getBlobSidecars getBlobSidecarByTxHash
     getBorBlockReceipt getTransactionDataAndReceipt`,
    BLOCKS,
  ),
  ...reads("eth", "callDetailed getAssetBalance", EXECUTION),

  ...reads("net", "listening peerCount", FREE),
  ...controls("net", "services enode localAddress localEnode"),
  ...reads("web3", "clientVersion", { ...CHAIN, workKind: "chain" }),
  ...reads("rpc", "modules", FREE),

  ...reads(
    "trace",
    "blockOpcodeGas transactionOpcodeGas transactionStorageAccess storageAccess simulateV1",
    TRACE,
  ),
  ...subscribes("trace", "subscribe unsubscribe"),

  ...reads("txpool", "status besuStatistics", CHAIN),
  ...reads("txpool", "content contentFrom inspect besuTransactions besuPendingTransactions"),

  // debug_*: questions, and levers that stop a node, wind it back, or write files beside it.
  ...reads("debug", "traceTransaction", { ...TRACE, contractsOf: tracedTransaction }),
  ...reads("debug", "traceCall", { ...TRACE, contractsOf: tracedCall }),
  ...reads(
    "debug",
    `traceBadBlock traceBlock traceBlockByHash traceBlockByNumber traceCallMany
     traceTransactionByBlockAndIndex traceTransactionByBlockhashAndIndex
     traceTransactionInBlockByHash traceTransactionInBlockByIndex`,
    TRACE,
  ),
  ...reads("debug", "getRawHeader getRawTransaction", { ...TRACE, contractsOf: noContract }),
  ...reads("debug", "getRawBlock getRawReceipts getRawTransactions", TRACE),
  ...reads(
    "debug",
    `accountAt accountRange codeByHash executionWitness executionWitnessByBlockHash
     executionWitnessCall getAccessibleState getBadBlocks getBlockRlp getBlockRlpByHash
     getChainLevel getHeaderRlp getModifiedAccountsByHash getModifiedAccountsByNumber
     intermediateRoots preimage printBlock seedHash simulateV1 stateRootWithUpdates storageRangeAt`,
    TRACE,
  ),
  ...writes("debug", "batchSendRawTransaction"),
  // What can take a node down is node control, too: dumpBlock answers with the whole state.
  ...controls(
    "debug",
    `backtraceAt blockProfile chaindbCompact chaindbProperty clearTxpool cpuProfile dbAncient
     dbAncients dbGet deleteChainSlice dumpBlock freeOSMemory freezeClient gcStats getConfigValue
     getFromDb getSyncStage getTrieFlushInterval goTrace insertReceipts memStats metrics
     migrateReceipts mutexProfile replayBlock resetHead resyncWorldState resyncWorldstate
     setBlockProfileRate setGCPercent setHead setMemoryLimit setMutexProfileFraction
     setTrieFlushInterval stacks standardTraceBadBlockToFile standardTraceBlockToFile
     startCPUProfile startGoTrace stopCPUProfile stopGoTrace sync traceBlockFromFile verbosity
     vmodule writeBlockProfile writeMemProfile writeMutexProfile writeMemoryProfile`,
  ),
  ...signs("debug", "testSignCliqueBlock"),
  ...subscribes("debug", "subscribe unsubscribe traceChain"),
];
