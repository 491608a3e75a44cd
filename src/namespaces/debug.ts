// debug_*: a namespace of questions, and of levers that stop a node, wind it back, or write files beside it.
import { controls, reads, signs, subscribes, writes } from "./known-method.ts";
import { noContract, tracedCall, tracedTransaction } from "./read-contracts.ts";

const COSTLY = { cost: 25, group: "traces" } as const;

export const debug = [
  ...reads("debug", "traceTransaction", { ...COSTLY, contractsOf: tracedTransaction }),
  ...reads("debug", "traceCall", { ...COSTLY, contractsOf: tracedCall }),
  ...reads(
    "debug",
    `traceBadBlock traceBlock traceBlockByHash traceBlockByNumber traceCallMany
     traceTransactionByBlockAndIndex traceTransactionByBlockhashAndIndex
     traceTransactionInBlockByHash traceTransactionInBlockByIndex`,
    COSTLY,
  ),
  ...reads("debug", "getRawHeader getRawTransaction", { ...COSTLY, contractsOf: noContract }),
  ...reads("debug", "getRawBlock getRawReceipts getRawTransactions", COSTLY),
  ...reads(
    "debug",
    `accountAt accountRange codeByHash executionWitness executionWitnessByBlockHash
     executionWitnessCall getAccessibleState getBadBlocks getBlockRlp getBlockRlpByHash
     getChainLevel getHeaderRlp getModifiedAccountsByHash getModifiedAccountsByNumber
     intermediateRoots preimage printBlock seedHash simulateV1 stateRootWithUpdates storageRangeAt`,
    COSTLY,
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
