// The answers of a node with a given part of the chain. State is computed from the question and the block's hash, so
// that an answer shows its block.
import { createHash } from "node:crypto";
import { answerOf } from "../support/generated-chain/answers.ts";
import { bytesOf, hexOf, keccak } from "../support/generated-chain/encoding.ts";
import type { GeneratedBlock, GeneratedChain } from "../support/generated-chain.ts";
import type { NodeView } from "./world-chain.ts";

/** Not Ethereum's chain id: receipts of such low Ethereum blocks cannot be proven without their state roots. */
export const CHAIN_ID = 1337;

/** A member of the envelope. */
export type Answer = `"result":${string}` | `"error":${string}`;

/** The methods whose answers depend on an account at a block. */
export const STATE_METHODS: ReadonlySet<string> = new Set([
  "eth_call",
  "eth_getBalance",
  "eth_getCode",
  "eth_getTransactionCount",
]);

export function nodeAnswer(view: NodeView, method: string, params: readonly unknown[]): Answer {
  if (STATE_METHODS.has(method)) {
    const block = blockAt(view, params[1] ?? "latest");
    return block ? `"result":"${stateOf(method, params[0], block.hash)}"` : HEADER_NOT_FOUND;
  }
  if (method === "eth_estimateGas") return quoted(params[0]);
  if (method === "eth_sendRawTransaction") return `"result":"${transactionHash(params[0])}"`;
  if (method === "eth_chainId") return `"result":"0x${CHAIN_ID.toString(16)}"`;
  const json = answerOf(view as GeneratedChain, method, params);
  return json === undefined ? MISSING : `"result":${json}`;
}

export const transactionHash = (raw: unknown): string => hexOf(keccak(bytesOf(String(raw))));

/** @param subject The address, or the call object. */
export function stateOf(method: string, subject: unknown, blockHash: string): string {
  const { to, data, input = data } = Object(subject) as Record<string, unknown>;
  const about = typeof subject === "string" ? subject : `${to} ${input}`;
  const digest = createHash("sha256").update(`${method} ${about} ${blockHash}`).digest("hex");
  const isQuantity = method === "eth_getBalance" || method === "eth_getTransactionCount";
  return isQuantity ? `0x1${digest.slice(0, 12)}` : `0x${digest}`;
}

/** A revert in the caller's own words, as contracts revert with a text that they were given. */
function quoted(call: unknown): Answer {
  const { data = "0x" } = Object(call) as { readonly data?: string };
  const message = `execution reverted: ${Buffer.from(String(data).slice(2), "hex")}`;
  return `"error":${JSON.stringify({ code: 3, message, data })}`;
}

const HEADER_NOT_FOUND: Answer = '"error":{"code":-32000,"message":"header not found"}';
const MISSING: Answer = '"error":{"code":-32601,"message":"the method does not exist"}';
export const NO_STATE: Answer =
  '"error":{"code":-32000,"message":"missing trie node 5b1e (path ) state 0x5b1e is not available"}';

/** Finds a block by number, tag, or EIP-1898 object. */
function blockAt(view: NodeView, reference: unknown): GeneratedBlock | undefined {
  const { blockHash, blockNumber = reference } = Object(reference) as Record<string, unknown>;
  if (blockHash !== undefined) return view.byHash(String(blockHash));
  const text = String(blockNumber);
  if (text.length === 66) return view.byHash(text);
  return text === "latest" || text === "pending" ? view.head : view.block(Number(text));
}

/** The answer with other content: hashes and positions stay the same. */
export function liedAbout(method: string, answer: Answer): Answer {
  if (STATE_METHODS.has(method)) return answer;
  return answer
    .replaceAll('"gasUsed":"0x', '"gasUsed":"0x1')
    .replaceAll('"value":"0x', '"value":"0x1')
    .replaceAll('"data":"0x', '"data":"0xff') as Answer;
}
