// Long work of the sources without pauses: in tests and benchmarks no caller waits meanwhile.
import {
  type BlockJson,
  type BlockRecord,
  cutRecord,
  type ParsedBlock,
} from "../../src/chain/block-record.ts";
import type { ProofLevel } from "../../src/chain/stored-block.ts";
import { findLogMistake } from "../../src/evm/log-validation.ts";
import { atOnce } from "../../src/lib/turns.ts";
import { hashTrie } from "../../src/proofs/ordered-trie.ts";
import { type Proof, proveInSteps } from "../../src/proofs/prove-block.ts";

/** @param proof The level of the block, and of the block without its receipts. */
export const recordOf = (
  json: BlockJson,
  parsed: ParsedBlock,
  proof: ProofLevel,
): BlockRecord | undefined => atOnce(cutRecord(json, parsed, { proof, blockProof: proof }));

export const proveBlock = (...given: Parameters<typeof proveInSteps>): Proof =>
  atOnce(proveInSteps(...given));

export const whyFalse = (...given: Parameters<typeof findLogMistake>): string | undefined =>
  atOnce(findLogMistake(...given));

export const orderedTrieRoot = (...given: Parameters<typeof hashTrie>): string =>
  atOnce(hashTrie(...given));
