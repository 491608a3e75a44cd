// What clients of block networks document in the namespaces that everybody has: eth, net, web3, rpc, trace, txpool.
// What is declared in src/methods is not listed again.
import { controls, reads, signs, subscribes, writes } from "./known-method.ts";
import { contractAt, noContract } from "./read-contracts.ts";

const CHAIN = { contractsOf: noContract } as const;
const FREE = { contractsOf: noContract, group: "chain", cost: 1 } as const;
const BLOCKS = { contractsOf: noContract, group: "blocks" } as const;
const ACCOUNT = { contractsOf: contractAt(0), group: "state" } as const;
const EXECUTION = { cost: 5, group: "execution" } as const;
const TRACE = { cost: 25, group: "traces" } as const;

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
    { group: "blocks" },
  ),
  ...reads("eth", "getAccountPendingTransactions getStorageValues getTxWitness getWitness", {
    group: "state",
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
  ...reads("web3", "clientVersion", { ...CHAIN, group: "chain" }),
  ...reads("rpc", "modules", FREE),

  ...reads(
    "trace",
    "blockOpcodeGas transactionOpcodeGas transactionStorageAccess storageAccess simulateV1",
    TRACE,
  ),
  ...subscribes("trace", "subscribe unsubscribe"),

  ...reads("txpool", "status besuStatistics", CHAIN),
  ...reads("txpool", "content contentFrom inspect besuTransactions besuPendingTransactions"),
];
