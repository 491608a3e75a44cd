import { describe, expect, it } from "vitest";
import { call, refusing, type Script } from "../../test/support/scripted-context.ts";
import { keccak256OfData } from "../evm/keccak.ts";
import { errors } from "../jsonrpc/rpc-error.ts";
import { meaningOf } from "./submission.ts";

/** Transactions: without a type, of EIP-1559, and of a type that only some network knows. */
const raw = "0xc20102";
const typed = "0x02c20102";
const foreign = "0x7bc20102";
const node = { hash: keccak256OfData(raw), blockHash: null };
const used = { code: -32000, message: "nonce too low: next nonce 12, tx nonce 11", data: 1 };
const known = { code: -32000, message: "already known" };
const notFound = { code: -32001, message: "Resource not found" };
const unanswered = () => {
  throw errors.upstreamsFailed();
};

type Case = { sent: unknown; found: unknown; transaction?: string };

const outcome = async (family: "eth" | "cfx", { sent, found, transaction = raw }: Case) => {
  const script: Script = {
    [`${family}_sendRawTransaction`]: sent,
    [`${family}_getTransactionByHash`]: found,
  };
  return call(`${family}_sendRawTransaction`, [transaction], script).then(
    ({ result, asked }) => ({ result, asked: asked.map(([method]) => method) }),
    ({ code, message, json }) => ({ code, message, json }),
  );
};

describe.each(["eth", "cfx"] as const)("%s_sendRawTransaction", (family) => {
  const lookedUp = [`${family}_sendRawTransaction`, `${family}_getTransactionByHash`];
  const hash = keccak256OfData(raw);

  it.each([hash, hash.toUpperCase().replace("0X", "0x")])(
    "answers the hash when a node says %s, and asks nothing else",
    async (sent) => {
      const told = await outcome(family, { sent, found: unanswered });
      expect(told).toEqual({ result: hash, asked: lookedUp.slice(0, 1) });
    },
  );

  it.each([`0x${"ab".repeat(32)}`, true, null, [hash], { hash }])(
    "does not believe a node that says %j",
    async (sent) => {
      const told = await outcome(family, { sent, found: null });
      expect(told).toMatchObject({ message: "no upstream could answer" });
      expect(await outcome(family, { sent, found: node })).toMatchObject({ result: hash });
    },
  );

  it.each([
    ["a node has it already", refusing(known)],
    ["its nonce is used by itself", refusing(used)],
    ["all nodes failed after one had taken it", unanswered],
    ["nodes ran out of time after one had taken it", throwing(errors.upstreamTimeout())],
    ["no node is there that could have taken it again", throwing(errors.noUpstream())],
  ])("answers the hash when %s", async (_, sent) => {
    const told = await outcome(family, { sent, found: node });
    expect(told).toEqual({ result: hash, asked: lookedUp });
  });

  it.each([
    ["its nonce is used by another", used, null],
    ["its nonce is used and nobody can be asked by what", used, unanswered],
    ["its nonce is used and nodes refuse to find it", used, refusing(notFound)],
    ["a node only knows that it refused it before", known, null],
  ])("passes the refusal on as it came when %s", async (_, error, found) => {
    const { code, message } = error;
    const told = await outcome(family, { sent: refusing(error), found });
    expect(told).toEqual({ code, message, json: JSON.stringify(error) });
  });

  it("passes on that no node answered when none has it", async () => {
    for (const error of [errors.upstreamsFailed(), errors.upstreamTimeout()]) {
      const told = await outcome(family, { sent: throwing(error), found: null });
      expect(told).toMatchObject({ code: error.code, message: error.message });
    }
  });

  it("takes a node's word that it has it where nodes only take transactions", async () => {
    const told = await outcome(family, { sent: refusing(known), found: unanswered });
    expect(told).toMatchObject({ result: hash });
  });

  it.each(["intrinsic gas too low", "invalid sender", "unknown transaction type"])(
    "does not look for what is refused with %s",
    async (message) => {
      const sent = refusing({ code: -32000, message });
      expect(await outcome(family, { sent, found: node })).toMatchObject({ message });
    },
  );
});

describe("a transaction whose hash is not certain", () => {
  it("is what the node says", async () => {
    const sent = `0x${"ab".repeat(32)}`;
    expect(await outcome("eth", { sent, found: null, transaction: foreign })).toMatchObject({
      result: sent,
    });
  });

  it.each([
    [typed, unanswered, { result: keccak256OfData(typed) }],
    [foreign, { hash: keccak256OfData(foreign) }, { result: keccak256OfData(foreign) }],
    [foreign, unanswered, { message: known.message }],
    ["0x", unanswered, { message: known.message }],
  ])("is only answered with a hash that a node knows: %s", async (transaction, found, want) => {
    const told = await outcome("eth", { sent: refusing(known), found, transaction });
    expect(told).toMatchObject(want);
  });
});

it("a submission that fails otherwise is a bug, and no answer", async () => {
  const sent = throwing(new TypeError("x is undefined"));
  expect(await outcome("eth", { sent, found: node })).toMatchObject({ message: "x is undefined" });
});

function throwing(error: Error): () => never {
  return () => {
    throw error;
  };
}

const HASH = `0x${"7f".repeat(32)}`;
const errorJson = (code: number, message: string, data?: string): string =>
  JSON.stringify({ code, message, data });

describe("a node has the transaction already when it says", () => {
  it.each([
    ["geth, Erigon, reth, Nethermind", -32000, "already known"],
    ["older geth", -32000, `known transaction: ${HASH.slice(2)}`],
    ["geth's light client", -32603, "Known transaction (3b7baba5)"],
    ["Erigon's pool", -32000, "ALREADY_EXISTS: already known"],
    ["Erigon's pool", -32000, "INTERNAL_ERROR: existing tx with same hash"],
    ["Besu, Klaytn", -32000, "Known transaction"],
    ["Hardhat", -32603, `Known transaction: ${HASH}`],
    ["older Nethermind", -32010, "AlreadyKnown"],
    ["OpenEthereum", -32010, "Transaction with the same hash was already imported."],
    ["anvil", -32003, "transaction already imported"],
    ["Frontier", -32603, "submit transaction to pool failed: Pool(AlreadyImported)"],
    ["Acala", -32603, "1013: Transaction Already Imported: Any { .. }"],
    ["zkSync", 3, `known transaction. transaction with hash ${HASH} is already in the system`],
    ["Ethermint", -32000, "tx already in mempool"],
    ["Tendermint", -32603, "tx already exists in cache"],
  ])("%s: %i %s", (_, code, message) => {
    expect(meaningOf(errorJson(code, message))).toBe("known");
  });

  it.each([
    ["2.4", "Invalid parameters: tx"],
    ["3.0", 'Invalid parameters: tx "tx already exist"'],
  ])("conflux-rust %s, in its data", (_, message) => {
    expect(meaningOf(errorJson(-32602, message, '"tx already exist"'))).toBe("known");
  });
});

describe("the transaction may be mined, waiting or elsewhere when a node says", () => {
  it.each([
    ["geth, Erigon, anvil", "nonce too low"],
    ["geth", `nonce too low: address ${HASH.slice(0, 42)}, tx: 8089 state: 8090`],
    ["geth", "nonce too low: next nonce 12, tx nonce 11"],
    ["Besu", "Nonce too low"],
    ["Nethermind", "OldNonce, Current nonce: 22, nonce of rejected tx: 17"],
    ["Nethermind", "OwnNonceAlreadyUsed"],
    ["OpenEthereum", "Transaction nonce is too low. Try incrementing the nonce."],
    ["zkSync", "nonce too low. allowed nonce range: 427 - 447, actual: 426"],
    ["Arbitrum", "invalid transaction nonce"],
    [
      "Ganache",
      "the tx doesn't have the correct nonce. account has nonce of: 1 tx has nonce of: 0",
    ],
    ["Hardhat", "Nonce too low. Expected nonce to be 1 but got 0."],
    ["Ethermint", "invalid nonce; got 0, expected 1: invalid sequence"],
    ["Filecoin", "message nonce too low"],
    ["Frontier", "submit transaction to pool failed: Pool(Stale)"],
    ["Polkadot", "1010: Invalid Transaction: Transaction is outdated"],
    ["Harmony", "transaction already finalized"],
    ["geth, Erigon, reth, anvil", "replacement transaction underpriced"],
    ["Erigon's pool", "INTERNAL_ERROR: could not replace existing tx"],
    ["Klaytn", "there is another tx which has the same nonce in the tx pool"],
    [
      "OpenEthereum",
      "Transaction gas price 100wei is too low. There is another transaction with same nonce in the queue with gas price 150wei. Try increasing the gas price or incrementing the nonce.",
    ],
    [
      "geth",
      "insufficient funds for gas * price + value: balance 0, tx cost 21000, overshot 21000",
    ],
    ["Nethermind", "InsufficientFunds, Account balance: 0, cumulative cost: 21000"],
    ["Besu", "Upfront cost exceeds account balance"],
    ["geth", "transaction underpriced: gas tip cap 1, minimum needed 2"],
    ["Nethermind", "FeeTooLow, EffectivePriorityFeePerGas too low 10 < 20, BaseFee: 30"],
    ["Nethermind", "FeeTooLowToCompete"],
    ["Besu", "Gas price below configured minimum gas price"],
    ["geth", "max fee per gas less than block base fee: address 0x11, maxFeePerGas: 1, baseFee: 7"],
    ["geth", "txpool is full"],
  ])("%s: %s", (_, message) => {
    expect(meaningOf(errorJson(-32000, message))).toBe("perhaps");
  });

  it.each([
    `Transaction ${HASH} is discarded due to a too stale nonce`,
    `Transaction ${HASH} is discarded due to out of balance, needs 9 but account balance is 8`,
    "Tx with same nonce already inserted. To replace it, you need to specify a gas price > 20400000000",
    "Failed imported to deferred pool: Tx with same nonce already inserted, try to replace it with a higher gas price",
    "transaction gas price 1 less than the minimum value 20000000000",
    "txpool is full",
  ])("conflux-rust: %s", (words) => {
    expect(meaningOf(errorJson(-32602, "Invalid parameters: tx", `"${words}"`))).toBe("perhaps");
  });
});

describe("the transaction is nowhere when a node says", () => {
  it.each([
    "unknown transaction type",
    "transaction type not supported",
    "nonce too high",
    "nonce too high: address 0x11, tx: 9 state: 2",
    "NonceGap, Future nonce. Expected nonce: 10",
    "invalid sender",
    "invalid signature",
    "invalid chain id for signer: have 2 want 1",
    "intrinsic gas too low: gas 20000, minimum needed 21000",
    "exceeds block gas limit",
    "oversized data: transaction size 200000, limit 131072",
    "rlp: value size exceeds available input length",
    "Failed to decode transaction",
    "only replay-protected (EIP-155) transactions allowed over RPC",
    "tx fee (1.10 ether) exceeds the configured cap (1.00 ether)",
    'RlpInvalidLength"',
    "is discarded due to in too distant future",
    "", // no words at all
  ])("%s", (message) => {
    expect(meaningOf(errorJson(-32000, message))).toBe("refused");
  });

  it("that a contract reverted with words like these", () => {
    expect(meaningOf(errorJson(3, "execution reverted: already known"))).toBe("refused");
    expect(meaningOf(errorJson(-32000, "nonce too low", "Reverted 0x"))).toBe("refused");
  });
});
