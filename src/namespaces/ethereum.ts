// What clients of block networks document in the namespaces that everybody has: eth, net, web3, rpc, trace, txpool.
// What is declared in src/methods is not listed again.
import { controls, reads, signs, subscribes, writes } from "./known-method.ts";

const FREE = { cost: 1, reads: "nothing" } as const;
const CHAIN = { reads: "nothing" } as const;
const ACCOUNT = { reads: "account" } as const;
const EXECUTION = { cost: 5 } as const;
const TRACE = { cost: 25 } as const;

export const ethereum = [
  ...reads(
    "eth",
    `baseFee capabilities coinbase config getCompilers getHeaderByHash getHeaderByNumber
     getMinerDataByBlockHash getMinerDataByBlockNumber getRawTransactionByBlockHashAndIndex
     getRawTransactionByBlockNumberAndIndex getRawTransactionByHash getTransactionBySenderAndNonce
     hashrate mining networkId protocolVersion`,
    CHAIN,
  ),
  ...reads("eth", "getAccount getAccountInfo", ACCOUNT),
  ...reads(
    "eth",
    `getAccountPendingTransactions getBlockAccessListByBlockHash getBlockAccessListByBlockNumber
     getStorageValues getTxWitness getWitness pendingTransactions`,
  ),
  ...reads("eth", "callBundle callMany estimateGasBundle fillTransaction simulateV1", EXECUTION),
  // ERC-4337 bundlers.
  ...reads("eth", "getUserOperationByHash getUserOperationReceipt supportedEntryPoints", CHAIN),
  ...reads("eth", "estimateUserOperationGas", EXECUTION),
  ...writes("eth", "sendUserOperation", CHAIN),
  ...writes(
    "eth",
    `sendRawTransactionSync sendRawTransactionConditional sendPrivateRawTransaction
     sendPrivateTransaction cancelPrivateTransaction`,
    CHAIN,
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
    `getRootHash getFinalizedBlock getFinalizedHeader getBlobSidecars getBlobSidecarByTxHash health
     getChainConfig getActiveRulesAt getActivePrecompilesAt suggestPriceOptions feeConfig`,
    CHAIN,
  ),
  ...reads("eth", "getBorBlockReceipt getTransactionDataAndReceipt", CHAIN),
  ...reads("eth", "callDetailed getAssetBalance", EXECUTION),

  ...reads("net", "listening peerCount", FREE),
  ...controls("net", "services enode localAddress localEnode"),
  ...reads("web3", "clientVersion", CHAIN),
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
