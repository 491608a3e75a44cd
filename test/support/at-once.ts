// Long work of the sources without pauses: in tests and benchmarks no caller waits meanwhile.
import { type BlockRecord, cutRecord } from "../../src/chain/block-record.ts";
import { findLogMistake } from "../../src/evm/log-validation.ts";
import { atOnce } from "../../src/lib/turns.ts";
import { hashTrie } from "../../src/proofs/ordered-trie.ts";
import { type Proof, proveInSteps } from "../../src/proofs/prove-block.ts";

export const recordOf = (...given: Parameters<typeof cutRecord>): BlockRecord | undefined =>
  atOnce(cutRecord(...given));

export const proveBlock = (...given: Parameters<typeof proveInSteps>): Proof =>
  atOnce(proveInSteps(...given));

export const whyFalse = (...given: Parameters<typeof findLogMistake>): string | undefined =>
  atOnce(findLogMistake(...given));

export const orderedTrieRoot = (...given: Parameters<typeof hashTrie>): string =>
  atOnce(hashTrie(...given));
