// What conflux-rust documents for its core space, of all generations. What is declared in src/methods is not
// listed again.
import { controls, type KnownMethod, reads, signs, subscribes } from "./known-method.ts";

const CHAIN = { reads: "nothing" } as const;
const ACCOUNT = { reads: "account" } as const;
const TRACE = { cost: 25 } as const;

const methods = [
  ...reads(
    "cfx",
    `checkBalanceAgainstTransaction clientVersion feeHistory getAccumulateInterestRate
     getBestBlockHash getBlockByBlockNumber getBlockByHashWithPivotAssumption getBlockRewardInfo
     getCollateralInfo getConfirmationRiskByHash getFeeBurnt getInterestRate getParamsFromVote
     getPoSEconomics getPoSRewardByEpoch getSkippedBlocksByEpoch getSupplyInfo maxPriorityFeePerGas`,
    CHAIN,
  ),
  ...reads(
    "cfx",
    `getAccount getAccountPendingInfo getAdmin getCollateralForStorage getDepositList getSponsorInfo
     getStakingBalance getStorageAt getStorageRoot getVoteList`,
    ACCOUNT,
  ),
  ...reads("cfx", "getAccountPendingTransactions"),
  ...reads("cfx", "getEpochReceipts getTransactionsByBlock getTransactionsByEpoch", { cost: 10 }),
  ...signs("cfx", "sendTransaction sign signTransaction signTypedData_v4 accounts requestAccounts"),
  ...subscribes("cfx", "subscribe unsubscribe"),

  ...reads(
    "pos",
    `getAccount getAccountByPowAddress getBlockByHash getBlockByNumber getCommittee
     getConsensusBlocks getEpochState getLedgerInfoByBlockNumber getLedgerInfoByEpoch
     getLedgerInfoByEpochAndRound getLedgerInfosByEpoch getRewardsByEpoch getStatus
     getTransactionByNumber`,
    CHAIN,
  ),
  ...controls(
    "pos",
    `force_propose force_sign_pivot_decision force_vote_proposal get_chosen_proposal register start
     start_voting stop_election stop_voting trigger_timeout update_voting_power voting_status
     forcePropose forceSignPivotDecision forceVoteProposal getChosenProposal startVoting
     stopElection stopVoting triggerTimeout updateVotingPower votingStatus`,
  ),
  ...controls(
    "test",
    `addLatency addNode expireBlockGc generateBlockWithBlameInfo generateBlockWithFakeTxs
     generateBlockWithNonceAndTimestamp generateCustomBlock generateEmptyBlocks generateFixedBlock
     generateOneBlock generateOneBlockWithDirectTxGen getBlockCount getBlockStatus getChain
     getExecutedInfo getGoodPut getNodeId getPeerInfo getPivotChainAndWeight posForcePropose
     posForceSignPivotDecision posForceVoteProposal posGetChosenProposal posRegister posStart
     posStartVoting posStopElection posStopVoting posTriggerTimeout posUpdateVotingPower
     posVotingStatus removeNode saveNodeDb sayHello sendUsableGenesisAccounts setDbCrash stop`,
  ),

  ...reads("gasstation", "price", CHAIN),
  ...reads("net", "version", { ...CHAIN, cost: 1 }),
  ...controls("net", "disconnect_node node sessions throttling"),
  ...reads("txpool", "status nextNonce", CHAIN),
  ...reads(
    "txpool",
    `accountPendingInfo accountPendingTransactions accountTransactions content inspect
     pendingNonceRange transactionByAddressAndNonce txWithPoolInfo`,
  ),
  ...controls("txpool", "clear"),
  ...reads("trace", "transaction", { ...TRACE, ...CHAIN }),
  ...reads("trace", "block epoch filter", TRACE),
  ...reads(
    "debug",
    "getEpochReceiptProofByTransaction getTransactionsByBlock getTransactionsByEpoch",
    TRACE,
  ),
  ...controls("debug", "statOnGasLoad"),
];

/** Of the port for the machine itself; they have no namespace. */
const bare = [
  ...controls("", "consensus_graph_state current_sync_phase earlystop getexec sync_graph_state"),
  ...signs("", "accounts lock_account new_account sign unlock_account"),
].map((method) => ({ ...method, name: method.name.slice(1) }));

export const conflux: readonly KnownMethod[] = [...methods, ...bare].map((method) => ({
  ...method,
  family: "conflux",
}));
