// What headers cover beside transactions and receipts: withdrawals and uncles.
import { keccak256 } from "../evm/keccak.ts";
import { eachInSteps, type Work } from "../lib/turns.ts";
import { encodingOfHash } from "./header.ts";
import { isJson, type Json, sameHex } from "./json.ts";
import { hashTrie } from "./ordered-trie.ts";
import { RlpWriter } from "./rlp-writer.ts";

/** Undefined when it is no list of withdrawals (EIP-4895). */
export function* withdrawalsRootOf(withdrawals: unknown): Work<string | undefined> {
  if (!Array.isArray(withdrawals)) return undefined;
  const encoded: Uint8Array[] = [];
  yield* eachInSteps(withdrawals, (withdrawal: unknown) => {
    const bytes = encodeWithdrawal(withdrawal);
    if (bytes) encoded.push(bytes);
  });
  return encoded.length === withdrawals.length ? yield* hashTrie(encoded) : undefined;
}

function encodeWithdrawal(withdrawal: unknown): Uint8Array | undefined {
  if (!isJson(withdrawal)) return undefined;
  const writer = new RlpWriter();
  writer.list(() => {
    writer.quantity(withdrawal["index"]);
    writer.quantity(withdrawal["validatorIndex"]);
    writer.data(withdrawal["address"], 20);
    writer.quantity(withdrawal["amount"]);
  });
  return writer.since(0);
}

/** Undefined when one of the headers does not have the hash that the block names. */
export function unclesHashOf(
  headers: readonly Json[],
  hashes: readonly unknown[],
): string | undefined {
  if (headers.length !== hashes.length) return undefined;
  const encoded = headers
    .map((header, index) => {
      const isThatOne = isJson(header) && sameHex(header["hash"], hashes[index]);
      return isThatOne ? encodingOfHash(header, hashes[index]) : undefined;
    })
    .filter((bytes) => bytes !== undefined);
  if (encoded.length !== headers.length) return undefined;
  const writer = new RlpWriter();
  writer.list(() => {
    for (const bytes of encoded) writer.raw(bytes);
  });
  const list = writer.since(0);
  return list && keccak256(list);
}
