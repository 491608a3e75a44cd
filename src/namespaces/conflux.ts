// What conflux-rust documents for its core space, of all generations. What is declared in src/methods is not
// listed again.
import {
  ACCOUNT,
  BLOCKS,
  CHAIN,
  controls,
  type KnownMethod,
  reads,
  signs,
  subscribes,
  TRACE,
} from "./known-method.ts";
import { noContract } from "./read-contracts.ts";

const STATE = { contractsOf: noContract, workKind: "state" } as const;

const methods = [
  ...reads("cfx", "clientVersion getBestBlockHash getConfirmationRiskByHash", CHAIN),
  ...reads("cfx", "feeHistory maxPriorityFeePerGas", { ...CHAIN, workKind: "chain" }),
  ...reads(
    "cfx",
    `getBlockByBlockNumber getBlockByHashWithPivotAssumption getBlockRewardInfo getPoSRewardByEpoch
     getSkippedBlocksByEpoch`,
    BLOCKS,
  ),
  ...reads(
    "cfx",
    `checkBalanceAgainstTransaction getAccumulateInterestRate getCollateralInfo getFeeBurnt
     getInterestRate getParamsFromVote getPoSEconomics getSupplyInfo`,
    STATE,
  ),
  ...reads(
    "cfx",
    `getAccount getAccountPendingInfo getAdmin getCollateralForStorage getDepositList getSponsorInfo
     getStakingBalance getStorageAt getStorageRoot getVoteList`,
    ACCOUNT,
  ),
  ...reads("cfx", "getAccountPendingTransactions", { workKind: "state" }),
  ...reads("cfx", "getEpochReceipts", { cost: 10, workKind: "blocks", isNullNoBlock: true }),
  ...reads("cfx", "getTransactionsByBlock getTransactionsByEpoch", {
    cost: 10,
    workKind: "blocks",
  }),
  ...signs("cfx", "sendTransaction sign signTransaction signTypedData_v4 accounts requestAccounts"),
  ...subscribes("cfx", "subscribe unsubscribe"),

  ...reads(
    "pos",
    `getBlockByHash getBlockByNumber getConsensusBlocks getEpochState getLedgerInfoByBlockNumber
     getLedgerInfoByEpoch getLedgerInfoByEpochAndRound getLedgerInfosByEpoch getRewardsByEpoch
     getTransactionByNumber`,
    BLOCKS,
  ),
  ...reads("pos", "getAccount getAccountByPowAddress getCommittee", STATE),
  ...reads("pos", "getStatus", CHAIN),
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
  ...reads("net", "version", { ...CHAIN, cost: 1, workKind: "chain" }),
  ...controls("net", "disconnect_node node sessions throttling"),
  ...reads("txpool", "status nextNonce", CHAIN),
  ...reads(
    "txpool",
    `accountPendingInfo accountPendingTransactions accountTransactions content inspect
     pendingNonceRange transactionByAddressAndNonce txWithPoolInfo`,
  ),
  ...controls("txpool", "clear"),
  ...reads("trace", "transaction", { ...TRACE, contractsOf: noContract }),
  ...reads("trace", "block", { ...TRACE, isNullNoBlock: true }),
  ...reads("trace", "epoch filter", TRACE),
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
