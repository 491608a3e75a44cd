// What conflux-rust documents for its core space, of all generations. What is declared in src/methods is not
// listed again.
import { listed } from "./known-method.ts";

export const conflux = listed(
  "conflux",
  `
cfx read (no contract): clientVersion getBestBlockHash getConfirmationRiskByHash
cfx read (chain, no contract): feeHistory maxPriorityFeePerGas
cfx read (blocks, no contract): getBlockByBlockNumber getBlockByHashWithPivotAssumption getBlockRewardInfo
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
