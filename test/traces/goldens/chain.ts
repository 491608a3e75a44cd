// A node's answers about blocks and transactions, as far as tracing asks for them.
import type { TypedTransaction } from "@ethereumjs/tx";
import { bytesToHex } from "@ethereumjs/util";
import type { Answer, Entry, Json } from "./golden.ts";

export type TransactionFields = Json & { readonly hash: string };

export type ChainBlock = {
  readonly number: number;
  readonly hash: string;
  readonly transactions: readonly TransactionFields[];
  /** Further members of the header. */
  readonly header?: Json;
};

export const hex = (value: number | bigint): string => `0x${value.toString(16)}`;

export const chainAnswers = (blocks: readonly ChainBlock[]): readonly Answer[] =>
  blocks.flatMap((block) => {
    const { number, hash, header } = block;
    const transactions = block.transactions.map((fields, index) => ({
      ...fields,
      ...{ blockHash: hash, blockNumber: hex(number), transactionIndex: hex(index) },
    }));
    const json = { number: hex(number), hash, ...header };
    const whole = { ...json, transactions };
    const outline = { ...json, transactions: transactions.map((one) => one.hash) };
    return [
      { method: "eth_getBlockByNumber", params: [hex(number), true], result: whole },
      { method: "eth_getBlockByHash", params: [hash, true], result: whole },
      { method: "eth_getBlockByNumber", params: [hex(number), false], result: outline },
      { method: "eth_getBlockByHash", params: [hash, false], result: outline },
      ...transactions.map((result) => ({
        method: "eth_getTransactionByHash",
        params: [result.hash],
        result,
      })),
    ];
  });

/** @param hash Given where the vectors use another hash than the signature gives. */
export function fieldsOf(transaction: TypedTransaction, hash?: string): TransactionFields {
  const { accessList } = transaction.toJSON();
  return {
    hash: hash ?? bytesToHex(transaction.hash()),
    from: transaction.getSenderAddress().toString(),
    to: transaction.to?.toString() ?? null,
    gas: hex(transaction.gasLimit),
    input: bytesToHex(transaction.data),
    value: hex(transaction.value),
    nonce: hex(transaction.nonce),
    type: hex(transaction.type),
    ...(accessList && { accessList }),
  };
}

/** The transaction as its first trace describes it, where nothing else is recorded. */
export function fieldsIn(
  top: Entry,
  hash: string,
  gas: unknown = top.action["gas"],
): TransactionFields {
  const { from, to = null, input, init, value } = top.action;
  return { hash, from, to, gas, input: input ?? init ?? "0x", value, nonce: "0x0", type: "0x0" };
}
