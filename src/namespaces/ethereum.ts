// What clients of block networks document in the namespaces that everybody has: eth, net, web3, rpc, trace, txpool,
// debug. What is declared in src/methods is not listed again.
import { listed } from "./known-method.ts";

export const ethereum = listed(
  "evm",
  `
eth read (no contract): baseFee capabilities coinbase config getCompilers hashrate mining networkId protocolVersion
eth read (blocks, no contract): getHeaderByHash getHeaderByNumber getMinerDataByBlockHash getMinerDataByBlockNumber
  getRawTransactionByBlockHashAndIndex getRawTransactionByBlockNumberAndIndex getRawTransactionByHash
  getTransactionBySenderAndNonce
eth read (state, contract first): getAccount getAccountInfo
eth read (blocks): getBlockAccessListByBlockHash getBlockAccessListByBlockNumber pendingTransactions
eth read (state): getAccountPendingTransactions getStorageValues getTxWitness getWitness
eth read (execution): callBundle callMany estimateGasBundle fillTransaction simulateV1
# ERC-4337 bundlers.
eth read (blocks, no contract): getUserOperationByHash getUserOperationReceipt
eth read (no contract): supportedEntryPoints
eth read (execution): estimateUserOperationGas
eth write (no contract): sendUserOperation
eth write (no contract): sendRawTransactionSync sendRawTransactionConditional sendPrivateRawTransaction
  sendPrivateTransaction cancelPrivateTransaction
# Bundles.
eth write: sendBundle sendMegabundle sendEndOfBlockBundle cancelBundle
mev write: sendBundle
mev read (execution): simBundle
# What is the node's own.
eth node control: getWork submitWork submitHashrate submitTransaction
eth signing: sign signTransaction signTypedData signTypedData_v3 signTypedData_v4 sendTransaction sendTransactionSync
  sendUnsignedTransaction resend requestAccounts
# Of single chains: Polygon, BNB Smart Chain, Avalanche.
eth read (no contract): health getChainConfig getActiveRulesAt getActivePrecompilesAt suggestPriceOptions feeConfig
eth read (blocks, no contract): getRootHash getFinalizedBlock getFinalizedHeader getBlobSidecars
  getBlobSidecarByTxHash getBorBlockReceipt getTransactionDataAndReceipt
eth read (execution): callDetailed getAssetBalance

net read (chain, cost 1, no contract): listening peerCount
net node control: services enode localAddress localEnode
web3 read (chain, no contract): clientVersion
rpc read (chain, cost 1, no contract): modules

trace read (traces): blockOpcodeGas transactionOpcodeGas transactionStorageAccess storageAccess simulateV1
trace subscription: subscribe unsubscribe

txpool read (no contract): status besuStatistics
txpool read: content contentFrom inspect besuTransactions besuPendingTransactions

# Questions, and levers that stop a node, wind it back, or write files beside it.
debug read (traces, traced transaction): traceTransaction
debug read (traces, traced call): traceCall
debug read (traces): traceBadBlock traceBlock traceBlockByHash traceBlockByNumber traceCallMany
  traceTransactionByBlockAndIndex traceTransactionByBlockhashAndIndex traceTransactionInBlockByHash
  traceTransactionInBlockByIndex
debug read (traces, no contract): getRawHeader getRawTransaction
debug read (traces): getRawBlock getRawReceipts getRawTransactions
debug read (traces): accountAt accountRange codeByHash executionWitness executionWitnessByBlockHash
  executionWitnessCall getAccessibleState getBadBlocks getBlockRlp getBlockRlpByHash getChainLevel getHeaderRlp
  getModifiedAccountsByHash getModifiedAccountsByNumber intermediateRoots preimage printBlock seedHash simulateV1
  stateRootWithUpdates storageRangeAt
debug write: batchSendRawTransaction
# What can take a node down is node control, too: dumpBlock answers with the whole state.
debug node control: backtraceAt blockProfile chaindbCompact chaindbProperty clearTxpool cpuProfile dbAncient
  dbAncients dbGet deleteChainSlice dumpBlock freeOSMemory freezeClient gcStats getConfigValue getFromDb getSyncStage
  getTrieFlushInterval goTrace insertReceipts memStats metrics migrateReceipts mutexProfile replayBlock resetHead
  resyncWorldState resyncWorldstate setBlockProfileRate setGCPercent setHead setMemoryLimit setMutexProfileFraction
  setTrieFlushInterval stacks standardTraceBadBlockToFile standardTraceBlockToFile startCPUProfile startGoTrace
  stopCPUProfile stopGoTrace sync traceBlockFromFile verbosity vmodule writeBlockProfile writeMemProfile
  writeMutexProfile writeMemoryProfile
debug signing: testSignCliqueBlock
debug subscription: subscribe unsubscribe traceChain
`,
);
