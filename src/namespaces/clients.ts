// Namespaces that single clients of block networks have, those in which every client is administered, and those of
// rollups and of development chains.
import { listed } from "./known-method.ts";

export const clients = listed(
  "evm",
  `
erigon read (no contract): blockNumber forks watchTheBurn
erigon read (blocks, no contract): getBlockByTimestamp getHeaderByHash getHeaderByNumber
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
scroll read (blocks, no contract): getBlockByHash getBlockByNumber getFirstQueueIndexNotInL2Block getL1MessageByIndex
  getNumSkippedTransactions getSkippedTransaction getSkippedTransactionHashes
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
