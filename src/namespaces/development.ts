// Development chains do as they are told: anvil, Hardhat, Ganache. Whoever may call these methods rules the chain.
import { controls } from "./known-method.ts";

const SHARED = `autoImpersonateAccount dropAllTransactions dropTransaction getAutomine
  impersonateAccount metadata mine reset setBalance setCode setCoinbase setLoggingEnabled
  setMinGasPrice setNextBlockBaseFeePerGas setNonce setPrevRandao setStorageAt
  stopImpersonatingAccount`;

export const development = [
  ...controls(
    "anvil",
    `${SHARED} addBalance dealERC20 dumpState enableTraces getGenesisTime getIntervalMining
     impersonateSignature increaseTime loadState nodeInfo removeBlockTimestampInterval
     removePoolTransactions reorg revert rollback setAutomine setBlock setBlockGasLimit
     setBlockTimestampInterval setChainId setERC20Allowance setIntervalMining
     setNextBlockTimestamp setRpcUrl setTime snapshot`,
  ),
  ...controls("hardhat", `${SHARED} addCompilationResult intervalMine`),
  ...controls(
    "evm",
    `addAccount increaseTime mine mineDetailed removeAccount revert setAccountBalance setAccountCode
     setAccountNonce setAccountStorageAt setAutomine setBlockGasLimit setIntervalMining
     setNextBlockTimestamp setTime snapshot`,
  ),
];
