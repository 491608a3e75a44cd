// What is known of methods that nobody has declared, for keys that only read or are bound to contracts.
// What is not known here may read any contract.
import { matcherOf } from "../lib/pattern.ts";
import { anyContract, type ContractsOf, contractAt, tracedCall } from "./read-contracts.ts";

/** Methods that send transactions or bundles of them, and those that change a node, or its development chain. */
export const isWriting = (name: string): boolean =>
  /_(send|submit|cancel|post|set|mine|reset|revert|drop)/i.test(name) ||
  /^(anvil|evm|hardhat|ganache|tenderly|test)_/.test(name);

/** undefined: it reads no contract by its address. */
export function contractsReadBy(name: string): ContractsOf | undefined {
  if (name === "debug_traceCall") return tracedCall;
  if (ofOneAccount.has(name)) return contractAt(0);
  return readsNone(name) ? undefined : anyContract;
}

/** The account is their first parameter. */
const ofOneAccount = new Set([
  "eth_getAccount",
  "eth_getAccountInfo",
  "cfx_getAccount",
  "cfx_getAdmin",
  "cfx_getCollateralForStorage",
  "cfx_getSponsorInfo",
  "cfx_getStorageAt",
  "cfx_getStorageRoot",
]);

/** About the chain, blocks without what was executed in them, or one transaction. */
const readsNone = matcherOf([
  "net_*",
  "web3_*",
  "eth_baseFee",
  "eth_config",
  "eth_getHeaderBy*",
  "eth_getRawTransactionBy*",
  "eth_getTransactionBySenderAndNonce",
  "eth_hashrate",
  "eth_mining",
  "eth_protocolVersion",
  "eth_sendRawTransaction*",
  "txpool_status",
  "debug_getRawHeader",
  "debug_getRawTransaction",
  "cfx_checkBalanceAgainstTransaction",
  "cfx_clientVersion",
  "cfx_feeHistory",
  "cfx_getAccumulateInterestRate",
  "cfx_getBestBlockHash",
  "cfx_getBlockByBlockNumber",
  "cfx_getBlockByHashWithPivotAssumption",
  "cfx_getBlockRewardInfo",
  "cfx_getConfirmationRiskByHash",
  "cfx_getFeeBurnt",
  "cfx_getInterestRate",
  "cfx_getPoSEconomics",
  "cfx_getSkippedBlocksByEpoch",
  "cfx_getSupplyInfo",
  "cfx_maxPriorityFeePerGas",
]);
