// Checks a header against its hash, and the short lists that the header covers: withdrawals and uncles.

import type { BlockRules, Fit } from "../evm/chains/block-rules.ts";
import type { HeaderForm } from "../evm/chains/encoding.ts";
import { headerForms } from "../evm/chains/header-forms.ts";
import { keccak256 } from "../evm/keccak.ts";
import { isHash, numberIn } from "../evm/values.ts";
import { eachInSteps, type Work } from "../lib/turns.ts";
import {
  compare,
  differs,
  isAbsent,
  isJson,
  type Json,
  type PartProof,
  proven,
  sameHex,
  shown,
  softer,
  unproven,
} from "./json.ts";
import { EMPTY_ROOT, hashTrie } from "./ordered-trie.ts";
import { RlpWriter } from "./rlp-writer.ts";
import { writeForm } from "./write-fields.ts";

/** Checks the hash by the forms of headers that the chain has. */
export function checkHeader(
  block: Json,
  { headers, fit }: Pick<BlockRules, "headers" | "fit">,
): PartProof {
  const { hash } = block;
  if (encodingOfHash(block, hash, headers)) return proven;
  if (!isHash(hash)) return differs(`says ${shown(hash)}, which is no hash`, "must");
  // A header that lacks a member contradicts nothing.
  const canBeHashed = headers.some((form) => encodeHeader(block, form) !== undefined);
  const computed = headerHash(block) ?? "no header that can be hashed";
  const reason = `says ${shown(hash)}, is ${computed}`;
  return differs(reason, canBeHashed ? fit.header : softer(fit.header));
}

export function* checkWithdrawals(
  { block, withdrawals }: { block: Json; withdrawals: unknown },
  { rules, fit }: { rules: Pick<BlockRules, "withdrawals">; fit: Fit },
): Work<PartProof> {
  const { withdrawalsRoot } = block;
  const hasNone = isAbsent(withdrawals) || (Array.isArray(withdrawals) && withdrawals.length === 0);
  if (isAbsent(withdrawalsRoot) || (hasNone && rules.withdrawals === "storage root"))
    return hasNone ? proven : differs("withdrawals in a block without their root", fit);
  if (hasNone && sameHex(withdrawalsRoot, EMPTY_ROOT)) return proven;
  const computed = yield* withdrawalsRootOf(withdrawals);
  if (computed === undefined) return differs("a root without its withdrawals", fit);
  return compare(
    withdrawalsRoot,
    computed,
    hasNone && rules.withdrawals === "either" ? "may" : fit,
  );
}

export function checkUncles(
  { uncles, sha3Uncles }: Json,
  headers: readonly Json[] | undefined,
  { rules, fit }: { rules: Pick<BlockRules, "headers">; fit: Fit },
): PartProof {
  const hasNone = isAbsent(uncles) || (Array.isArray(uncles) && uncles.length === 0);
  // Headers without the field are proven by forms that do not have it.
  if (isAbsent(sha3Uncles) && hasNone) return proven;
  if (!Array.isArray(uncles)) return differs("no list of uncles", fit);
  if (uncles.length > 0 && headers === undefined)
    return sameHex(sha3Uncles, NO_UNCLES) ? differs("uncles where there are none", fit) : unproven;
  const computed = unclesHashOf(headers ?? [], uncles, rules.headers);
  if (computed === undefined) return differs("an uncle without its header", fit);
  return compare(sha3Uncles, computed, fit);
}

/** The keccak hash of the RLP of an empty list. */
const NO_UNCLES = "0x1dcc4de8dec75d7aab85b567b6ccd41ad312451b948a7413f0a142fd40d49347";

// The lists that a header covers besides transactions and receipts: withdrawals and uncles.

/** @returns undefined when the value is not a list of withdrawals (EIP-4895). */
function* withdrawalsRootOf(withdrawals: unknown): Work<string | undefined> {
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

/** @returns undefined unless each header has the hash that the block names. */
function unclesHashOf(
  headers: readonly Json[],
  hashes: readonly unknown[],
  forms: readonly HeaderForm[],
): string | undefined {
  if (headers.length !== hashes.length) return undefined;
  const encoded = headers
    .map((header, index) => {
      const isThatOne = isJson(header) && sameHex(header["hash"], hashes[index]);
      return isThatOne ? encodingOfHash(header, hashes[index], forms) : undefined;
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

// The hash of a header, from Frontier to the newest fork, and of headers with unknown fields.

/** The keccak hash of a header's RLP as on Ethereum; undefined when the header's fields cannot be encoded. */
export function headerHash(header: Json): string | undefined {
  const bytes = encodeHeader(header, headerForms.standard);
  return bytes && keccak256(bytes);
}

/** The encoding that has the hash: one of the forms, or an open one with unknown fields appended. */
function encodingOfHash(
  header: Json,
  hash: unknown,
  forms: readonly HeaderForm[],
): Uint8Array | undefined {
  const isOf = (bytes: Uint8Array | undefined): bytes is Uint8Array =>
    bytes !== undefined && sameHex(keccak256(bytes), hash);
  for (const form of forms) {
    const bytes = encodeHeader(header, form);
    if (isOf(bytes)) return bytes;
  }
  for (const form of forms)
    for (const bytes of variantsOf(header, form)) if (isOf(bytes)) return bytes;
  return undefined;
}

/** Further encodings by the form: with unknown members at its end, or with the milliseconds that nodes do not tell. */
function* variantsOf(header: Json, form: HeaderForm): Generator<Uint8Array | undefined> {
  if (form.isOpen)
    for (const appended of runsOf(unknownMembers(header, form)))
      yield encodeHeader(header, form, appended);
  // Nodes do not tell the mix hash of such a header: a thousand attempts for any other header would be wasted.
  const hidesTime = form.fields.some(([, kind]) => kind === "seconds");
  if (hidesTime && isAbsent(header["mixHash"])) yield* withMilliseconds(header, form);
}

/** Changes the time in one encoding, because writing the whole header a thousand times would take several times as long. */
function* withMilliseconds(header: Json, form: HeaderForm): Generator<Uint8Array> {
  const bytes = encodeHeader(header, form);
  const time = (numberIn(header["timestamp"]) ?? 0) * 1000;
  const digits = time.toString(16).padStart(2 * TIME_BYTES, "0");
  const at = bytes?.indexOf(`${(SHORT_STRING + TIME_BYTES).toString(16)}${digits}`, 0, "hex") ?? -1;
  if (!bytes || at < 0) return;
  for (let milliseconds = 1; milliseconds < 1000; milliseconds += 1) {
    bytes.writeUIntBE(time + milliseconds, at + 1, TIME_BYTES);
    yield bytes;
  }
}

/** The bytes of a time in milliseconds from the year 2004 to 10889. */
const TIME_BYTES = 6;
/** The prefix of an RLP string of no bytes. */
const SHORT_STRING = 0x80;

/** Members that are not header fields, and do not affect the hash. */
const derivedMembers = [
  "hash",
  "size",
  "totalDifficulty",
  "transactions",
  "uncles",
  "withdrawals",
  "l1BlockNumber", // Arbitrum: derived from mixHash and extraData
  "sendCount",
  "sendRoot",
  "milliTimestamp", // BNB Smart Chain: derived from mixHash
];

function encodeHeader(
  header: Json,
  form: HeaderForm,
  appended: readonly string[] = [],
): Buffer | undefined {
  const writer = new RlpWriter();
  writer.list(() => {
    writeForm(writer, header, form);
    // Only an odd number of digits shows that a text is a number, which has no leading zeros, and not bytes.
    for (const text of appended)
      if (text.length % 2 === 1) writer.quantity(text);
      else writer.data(text);
  });
  return writer.since(0);
}

/** The hex values of members that the form lacks; only the first six, to limit the attempts. */
function unknownMembers(header: Json, { fields, later = [] }: HeaderForm): string[] {
  const known = new Set([
    ...[...fields, ...later].flatMap(([name]) => name.split("|")),
    ...derivedMembers,
  ]);
  return Object.entries(header)
    .filter(([name]) => !known.has(name))
    .map(([, value]) => value)
    .filter((value) => typeof value === "string")
    .filter((value) => value.length < 4096 && /^0x[0-9a-f]*$/i.test(value))
    .slice(0, 6);
}

/** All runs of neighbours, at most 21, because derived members may stand among new fields. */
const runsOf = (texts: readonly string[]): string[][] =>
  texts.flatMap((_, from) =>
    texts.slice(from).map((_last, index) => texts.slice(from, from + index + 1)),
  );
