// The methods that the gateway knows by name, and those among them that a setting may open. Pure.

import { isWild, matcherOf } from "../lib/pattern.ts";
import {
  type Family,
  type KnownMethod,
  listed,
  type MethodKind,
  opensByPattern,
  speaksOfChain,
  traitsFor,
  type WorkKind,
} from "./known-method.ts";
import { anyContract } from "./read-contracts.ts";

// The namespaces that only some clients of block networks have, those for node administration, and those of rollups and
// development chains.
const clients = listed(
  "evm",
  `
erigon read (no contract): blockNumber forks watchTheBurn
erigon read (blocks, no contract): getHeaderByHash getHeaderByNumber
erigon read (blocks, no contract with a flag): getBlockByTimestamp
erigon read (logs, contract of the filter): getLogs getLatestLogs
erigon read (logs): getLogsByHash
erigon read (blocks, cost 10): getBlockReceiptsByBlockHash
erigon node control: cacheCheck nodeInfo
ots read (no contract): getApiLevel
ots read (blocks, no contract): getBlockDetails getBlockDetailsByHash getBlockTransactions
  getTransactionBySenderAndNonce getTransactionError
ots read (state, contract first): hasCode getContractCreator
ots read (blocks, cost 10): searchTransactionsAfter searchTransactionsBefore
ots read (traces): getInternalOperations traceTransaction
parity read (blocks): pendingTransactions getBlockReceipts
parity read (state): listStorageKeys
parity node control: clearEngineSigner enode netPeers setEngineSigner setEngineSignerSecret
proof read (execution): call
proof read (blocks, cost 5): getTransactionByHash getTransactionReceipt
reth read (blocks): getBalanceChangesInBlock
reth subscription: subscribeChainNotifications unsubscribeChainNotifications
clique read (no contract): getSigner getSignerMetrics getSigners getSignersAtHash getSnapshot getSnapshotAtHash
  proposals status
clique node control: discard produceBlock propose
ibft/qbft read (no contract): getPendingVotes getSignerMetrics getValidatorsByBlockHash getValidatorsByBlockNumber
ibft/qbft node control: discardValidatorVote proposeValidatorVote
ethash node control: getHashrate getWork submitHashrate submitWork
perm node control: addAccountsToAllowlist addNodesToAllowlist getAccountsAllowlist getNodesAllowlist
  reloadPermissionsFromFile removeAccountsFromAllowlist removeNodesFromAllowlist
plugins node control: reloadPluginConfig
eea write: sendRawTransaction
les node control: addBalance clientInfo priorityClientInfo serverInfo setClientParams

admin node control: addPeer addTrustedPeer changeLogLevel clearCache datadir exportChain generateLogBloomCache
  importChain logsRemoveCache logsRepairCache nodeInfo peerEvents peers prune removePeer removeTrustedPeer sleepBlocks
  startHTTP startRPC startWS stopHTTP stopRPC stopWS verifyTrie
miner node control: changeTargetGasLimit getHashrate getMinGasPrice getMinPriorityFee setCoinbase setEtherbase
  setExtra setGasLimit setGasPrice setMaxDASize setMinGasPrice setMinPriorityFee setRecommitInterval start stop
engine node control: exchangeCapabilities exchangeTransitionConfigurationV1 forkchoiceUpdatedV1 forkchoiceUpdatedV2
  forkchoiceUpdatedV3 forkchoiceUpdatedV4 getBlobsV1 getBlobsV2 getBlobsV3 getClientVersionV1 getPayloadBodiesByHashV1
  getPayloadBodiesByHashV2 getPayloadBodiesByRangeV1 getPayloadBodiesByRangeV2 getPayloadV1 getPayloadV2 getPayloadV3
  getPayloadV4 getPayloadV5 getPayloadV6 newPayloadV1 newPayloadV2 newPayloadV3 newPayloadV4 newPayloadV5
personal signing: deriveAccount ecRecover importRawKey initializeWallet listAccounts listWallets lockAccount
  newAccount openWallet sendTransaction sign signAndSendTransaction signTransaction signTypedData unlockAccount unpair
wallet signing: sendTransaction sendCalls sign

# OP Stack: its rollup node, and the gateway's own of old.
optimism read (no contract): rollupConfig syncStatus version
optimism read (blocks, no contract): outputAtBlock safeHeadAtL1Block
rollup read (no contract): gasPrices getInfo
opp2p node control: blockAddr blockPeer blockSubnet connectPeer disconnectPeer peers protectPeer self unblockAddr
  unblockPeer unblockSubnet unprotectPeer
# Arbitrum.
arbtrace read (traces): block call callMany filter get replayBlockTransactions replayTransaction transaction
arb read (blocks, no contract): getRawBlockMetadata getL1Confirmations findBatchContainingBlock
timeboost write (no contract): sendExpressLaneTransaction
arb node control: checkPublisherHealth latestValidated maintenanceStatus triggerMaintenance
arbdebug node control: evictedRequests pricingModel timeoutQueue timeoutQueueHistory validateMessageNumber
# ZKsync.
zks read (no contract): L1BatchNumber L1ChainId gasPerPubdata getBaseTokenL1Address getBatchFeeInput
  getBridgeContracts getBridgehubContract getConfirmedTokens getFeeParams getL1GasPrice getL2Multicall3
  getMainContract getProtocolVersion getTestnetPaymaster getTimestampAsserter
zks read (blocks, no contract): getBlockDetails getL1BatchBlockRange getL1BatchDetails getL2ToL1LogProof
  getL2ToL1MsgProof getTransactionDetails
zks read (state, contract first): getProof getAllAccountBalances
zks read (state): getBytecodeByHash
zks read (blocks): getRawBlockTransactions
zks read (execution, called contract): estimateFee estimateGasL1ToL2
zks write (no contract): sendRawTransactionWithDetailedOutput
# Linea.
linea read (execution, called contract): estimateGas
linea read (state, contract first): getProof
linea read (blocks, no contract): getTransactionExclusionStatusV1
# Polygon zkEVM and PoS.
zkevm read (no contract): batchNumber consolidatedBlockNumber estimateFee estimateGasPrice getLatestGlobalExitRoot
  verifiedBatchNumber virtualBatchNumber
zkevm read (blocks, no contract): batchNumberByBlockNumber getBatchByNumber getExitRootsByGER getFullBlockByHash
  getFullBlockByNumber getNativeBlockHashesInRange getTransactionByL2Hash getTransactionReceiptByL2Hash
  isBlockConsolidated isBlockVirtualized
zkevm read (execution): estimateCounters
bor read (no contract): getAuthor getCurrentProposer getCurrentValidators getRootHash getSigners getSignersAtHash
  getSnapshot getSnapshotAtHash getSnapshotProposer getSnapshotProposerSequence
# Scroll, Taiko.
scroll read (blocks, no contract with a flag): getBlockByHash getBlockByNumber
scroll read (blocks, no contract): getFirstQueueIndexNotInL2Block getL1MessageByIndex getNumSkippedTransactions
  getSkippedTransaction getSkippedTransactionHashes
scroll read (no contract): getLatestRelayedQueueIndex syncStatus
scroll read (execution): estimateL1DataFee
taiko read (no contract): headL1Origin l1OriginByID

# anvil, Hardhat, Ganache do what these methods say: a caller of them rules the chain.
anvil node control: autoImpersonateAccount dropAllTransactions dropTransaction getAutomine impersonateAccount metadata
  mine reset setBalance setCode setCoinbase setLoggingEnabled setMinGasPrice setNextBlockBaseFeePerGas setNonce
  setPrevRandao setStorageAt stopImpersonatingAccount addBalance dealERC20 dumpState enableTraces getGenesisTime
  getIntervalMining impersonateSignature increaseTime loadState nodeInfo removeBlockTimestampInterval
  removePoolTransactions reorg revert rollback setAutomine setBlock setBlockGasLimit setBlockTimestampInterval
  setChainId setERC20Allowance setIntervalMining setNextBlockTimestamp setRpcUrl setTime snapshot
hardhat node control: autoImpersonateAccount dropAllTransactions dropTransaction getAutomine impersonateAccount
  metadata mine reset setBalance setCode setCoinbase setLoggingEnabled setMinGasPrice setNextBlockBaseFeePerGas
  setNonce setPrevRandao setStorageAt stopImpersonatingAccount addCompilationResult intervalMine
evm node control: addAccount increaseTime mine mineDetailed removeAccount revert setAccountBalance setAccountCode
  setAccountNonce setAccountStorageAt setAutomine setBlockGasLimit setIntervalMining setNextBlockTimestamp setTime
  snapshot
`,
);

// The methods that clients of block networks document in their common namespaces (eth, net, web3, rpc, trace, txpool,
// debug), except those that src/methods declares.
const ethereum = listed(
  "evm",
  `
eth read (no contract): baseFee capabilities coinbase config getCompilers hashrate mining networkId protocolVersion
eth read (blocks, no contract): getHeaderByHash getHeaderByNumber getMinerDataByBlockHash getMinerDataByBlockNumber
  getRawTransactionByBlockHashAndIndex getRawTransactionByBlockNumberAndIndex getRawTransactionByHash
  getTransactionBySenderAndNonce
eth read (state, contract first): getAccount getAccountInfo
eth read (blocks): getBlockAccessListByBlockHash getBlockAccessListByBlockNumber pendingTransactions
eth read (state): getAccountPendingTransactions getStorageValues getTxWitness getWitness
eth read (execution): callMany fillTransaction simulateV1
eth read (execution, signed): callBundle estimateGasBundle
# ERC-4337 bundlers.
eth read (blocks, no contract): getUserOperationByHash getUserOperationReceipt
eth read (no contract): supportedEntryPoints
eth read (execution): estimateUserOperationGas
eth write (no contract): sendUserOperation
eth write (no contract): sendPrivateRawTransaction sendPrivateTransaction cancelPrivateTransaction
# Bundles.
eth write: sendBundle sendMegabundle sendEndOfBlockBundle cancelBundle
mev write: sendBundle
mev read (execution, signed): simBundle
# The node's own mining and keys.
eth node control: getWork submitWork submitHashrate submitTransaction
eth signing: sign signTransaction signTypedData signTypedData_v3 signTypedData_v4 sendTransaction sendTransactionSync
  sendUnsignedTransaction resend requestAccounts
# Of single chains: Polygon, BNB Smart Chain, Avalanche.
eth read (no contract): health getChainConfig getActiveRulesAt getActivePrecompilesAt suggestPriceOptions feeConfig
eth read (blocks, no contract): getRootHash getFinalizedHeader getBorBlockReceipt getTransactionDataAndReceipt
eth read (blocks, no contract with a flag): getFinalizedBlock getBlobSidecars getBlobSidecarByTxHash
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
# The parameter is a whole block with its transactions, which may not be published yet.
debug read (traces, signed): traceBlock
debug read (traces): traceBadBlock traceBlockByHash traceBlockByNumber traceCallMany
  traceTransactionByBlockAndIndex traceTransactionByBlockhashAndIndex traceTransactionInBlockByHash
  traceTransactionInBlockByIndex
debug read (traces, no contract): getRawHeader getRawTransaction
debug read (traces): getRawBlock getRawReceipts getRawTransactions
debug read (traces): accountAt accountRange codeByHash executionWitness executionWitnessByBlockHash
  executionWitnessCall getAccessibleState getBadBlocks getBlockRlp getBlockRlpByHash getChainLevel getHeaderRlp
  getModifiedAccountsByHash getModifiedAccountsByNumber intermediateRoots preimage printBlock seedHash simulateV1
  stateRootWithUpdates storageRangeAt
debug write: batchSendRawTransaction
# Methods that can take a node down are node control, too: dumpBlock answers with the whole state.
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

// The methods that conflux-rust documents for its core space, in any generation, except those that src/methods declares.
const conflux = listed(
  "conflux",
  `
cfx read (no contract): clientVersion getBestBlockHash getConfirmationRiskByHash
cfx read (chain, no contract): feeHistory maxPriorityFeePerGas
cfx read (blocks, no contract with a flag): getBlockByBlockNumber
cfx read (blocks, no contract): getBlockByHashWithPivotAssumption getBlockRewardInfo
  getPoSRewardByEpoch getSkippedBlocksByEpoch
cfx read (state, no contract): checkBalanceAgainstTransaction getAccumulateInterestRate getCollateralInfo getFeeBurnt
  getInterestRate getParamsFromVote getPoSEconomics getSupplyInfo
cfx read (state, contract first): getAccount getAccountPendingInfo getAdmin getCollateralForStorage getDepositList
  getSponsorInfo getStakingBalance getStorageAt getStorageRoot getVoteList
cfx read (state): getAccountPendingTransactions
cfx read (blocks, cost 10, null is no block): getEpochReceipts
cfx read (blocks, cost 10): getTransactionsByBlock getTransactionsByEpoch
cfx signing: sendTransaction sign signTransaction signTypedData_v4 accounts requestAccounts

pos read (blocks, no contract): getBlockByHash getBlockByNumber getConsensusBlocks getEpochState
  getLedgerInfoByBlockNumber getLedgerInfoByEpoch getLedgerInfoByEpochAndRound getLedgerInfosByEpoch getRewardsByEpoch
  getTransactionByNumber
pos read (state, no contract): getAccount getAccountByPowAddress getCommittee
pos read (no contract): getStatus
pos node control: force_propose force_sign_pivot_decision force_vote_proposal get_chosen_proposal register start
  start_voting stop_election stop_voting trigger_timeout update_voting_power voting_status forcePropose
  forceSignPivotDecision forceVoteProposal getChosenProposal startVoting stopElection stopVoting triggerTimeout
  updateVotingPower votingStatus
test node control: addLatency addNode expireBlockGc generateBlockWithBlameInfo generateBlockWithFakeTxs
  generateBlockWithNonceAndTimestamp generateCustomBlock generateEmptyBlocks generateFixedBlock generateOneBlock
  generateOneBlockWithDirectTxGen getBlockCount getBlockStatus getChain getExecutedInfo getGoodPut getNodeId
  getPeerInfo getPivotChainAndWeight posForcePropose posForceSignPivotDecision posForceVoteProposal
  posGetChosenProposal posRegister posStart posStartVoting posStopElection posStopVoting posTriggerTimeout
  posUpdateVotingPower posVotingStatus removeNode saveNodeDb sayHello sendUsableGenesisAccounts setDbCrash stop

gasstation read (no contract): price
net read (chain, cost 1, no contract): version
net node control: disconnect_node node sessions throttling
txpool read (no contract): status nextNonce
txpool read: accountPendingInfo accountPendingTransactions accountTransactions content inspect pendingNonceRange
  transactionByAddressAndNonce txWithPoolInfo
txpool node control: clear
trace read (traces, no contract): transaction
trace read (traces, null is no block): block
trace read (traces): epoch filter
debug read (traces): getEpochReceiptProofByTransaction getTransactionsByBlock getTransactionsByEpoch
debug node control: statOnGasLoad

# Of the port for the machine itself; they have no namespace.
- node control: consensus_graph_state current_sync_phase earlystop getexec sync_graph_state
- signing: accounts lock_account new_account sign unlock_account
`,
);

/** All known methods except those that src/methods declares, which are all read or write. */
export const knownMethods: readonly KnownMethod[] = [...ethereum, ...clients, ...conflux];

/** By name; of several methods with the same name, that of the first family counts. */
const kinds = new Map(knownMethods.toReversed().map(({ name, kind }) => [name, kind]));

/** The patterns of reads that one word of `methods.groups` opens. */
export const GROUPS = {
  debugTrace: "debug_trace*",
  debugRaw: "debug_getRaw*",
  txpool: "txpool_*",
} as const;

export type MethodGroupName = keyof typeof GROUPS;

/**
 * Whether no setting opens the method, not even by its name: node administration, signing with the keys that the node
 * holds, and subscriptions that nodes make, which end with their connection. The nodes belong to the gateway's operator,
 * not to the holders of API keys. Patterns judge unknown names, too, in any case of letters.
 */
export function isNeverServed(name: string): boolean {
  return (
    kindOf(name) === "signing" ||
    needsPush(name) ||
    NEVER_NAMESPACE.test(name) ||
    NEVER_NAME.test(name)
  );
}

/** Whether the method is a subscription that only a node could make. */
const needsPush = (name: string): boolean =>
  !PUSHED.test(name) && (kindOf(name) === "subscription" || SUBSCRIPTION.test(name));

/** The gateway's own methods for subscriptions over a WebSocket. */
const PUSHED = /^(eth|cfx)_(un)?subscribe$/;

const kindOf = (name: string): MethodKind | undefined => kinds.get(name);

const NEVER_NAMESPACE = /^(admin|personal|miner|engine)_/i;
const NEVER_NAME = /^(eth|cfx)_sign|_(re)?send(unsigned)?(transaction)?(sync)?$/i;
const SUBSCRIPTION = /_(un)?subscribe$/i;

const NEVER =
  "is never served (node administration, signing with the node's keys, subscriptions of nodes)";

/** The namespaces of the declared methods, one of which a pattern may mean. */
const DECLARED = /^(\*|eth_|net_|web3_|trace_|cfx_|headgate_|rpc\.)/;
/** Names in the namespaces whose methods no node has: a pattern that fits them opens the gateway's own methods. */
const OWN_NAMES = ["headgate_any", "rpc.any"];

/**
 * Why an entry of an allow list is a mistake; undefined for an entry that may open something.
 * @param named The methods that are open by their full names, known or not.
 */
export function whyItOpensNothing(
  entry: string,
  named: readonly string[] = [],
): string | undefined {
  if (!isWild(entry)) return isNeverServed(entry) ? `this ${NEVER}` : undefined;
  const fits = matcherOf([entry]);
  if (OWN_NAMES.some(fits)) return undefined;
  if (named.some((name) => isOpenByName(name) && fits(name))) return undefined;
  const found = knownMethods.filter(({ name }) => fits(name));
  if (found.some(({ kind }) => opensByPattern(kind))) return undefined;
  const control = found.find(({ name }) => !isNeverServed(name));
  if (control)
    return `this pattern fits only methods that control a node: such open by their full names alone, as ${control.name}`;
  if (found.length > 0 || NEVER_NAMESPACE.test(entry)) return `what this pattern fits ${NEVER}`;
  return DECLARED.test(entry)
    ? undefined
    : "this pattern fits no method that is known here: write the full names";
}

/** Whether the name is an unknown method's. Such a method counts as a write, which the patterns of keys open. */
const isOpenByName = (name: string): boolean =>
  !isWild(name) && !isNeverServed(name) && kindOf(name) === undefined;

/** An unknown method that an operator opened by its name: it counts as a write, and may read any contract. */
export function unknownMethod(name: string, family: Family): KnownMethod {
  const workKind = WORK_KINDS_BY_NAME.find(([words]) => words.test(name))?.[1] ?? "other";
  const isRepeatable = !ACTS.test(name);
  const isBatchable = isRepeatable && workKind !== "submission";
  const [namespace = ""] = name.split("_");
  const carriesSigned = workKind === "submission" || SIGNED.test(name);
  const isOfChain = speaksOfChain(namespace);
  const declared = {
    ...{ workKind, carriesSigned, isRepeatable, isBatchable, isOfChain },
    quotesCaller: true,
  };
  const cost = workKind === "traces" ? 25 : 3; // as for known methods: traces replay transactions, which is expensive
  const traits = traitsFor("write", declared);
  return { name, family, kind: "write", cost, contractsOf: anyContract, ...traits };
}

/** The first row that matches a method's name gives its kind of work. */
const WORK_KINDS_BY_NAME: readonly (readonly [RegExp, WorkKind])[] = [
  [/_send/i, "submission"],
  [/^(trace|debug)_/, "traces"],
  [/_get(Latest)?Logs$/, "logs"],
  [/_(call|estimate)/, "execution"],
  [/_get(Balance|Code|Storage|Account|Proof|Nonce|TransactionCount)/, "state"],
  [/Block|Transaction|Receipt|Epoch/, "blocks"],
];

/** Names of methods that take signed transactions, to execute or to decode them. */
const SIGNED = /^(?!.*_get).*(raw_?(signed)?transaction|signed_?transaction|bundle)/i;

/** Verbs of methods that must not be repeated. A signed transaction may be sent twice: it is executed once. */
const ACTS =
  /^(evm|anvil|hardhat)_|_(submit|set|import|start|stop|mine|add|remove|increase|impersonate|reset|drop|revert|snapshot|write)/i;
