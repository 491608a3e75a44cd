// What nodes mean when they refuse a transaction: many refuse one that they have already.

/**
 * `known`: the node says that it has this very transaction. `perhaps`: it says what it would also say
 * of one that was mined, or that another node has. `refused`: no node took it, nor will any.
 */
export type Refusal = "known" | "perhaps" | "refused";

/** @param json The node's error object: some put their words into `data`. */
export function meaningOf(json: string): Refusal {
  const words = json.slice(0, LONGEST_WORDS);
  // Where a transaction is tried before it is taken, these may be a contract's words.
  if (/\brevert/i.test(words)) return "refused";
  if (KNOWN.test(words)) return "known";
  return PERHAPS.some((pattern) => pattern.test(words)) ? "perhaps" : "refused";
}

const LONGEST_WORDS = 2000;

/** "unknown transaction type" is none of them. */
const KNOWN =
  /\balready ?known\b|\bknown transaction\b|\bsame hash\b|already ?imported|\btx already exist|\btx already in |\balready in the (system|pool|mempool)/i;

const PERHAPS: readonly RegExp[] = [
  // The nonce is used: by this transaction, or by another.
  /nonce[ _](is |has )?(too[ _](low|small)|already)|\bold ?nonce|\bstale\b|\boutdated\b/i,
  /(invalid|incorrect|correct)[ _](transaction )?nonce|NonceAlreadyUsed|already (finalized|mined)/i,
  // A transaction with this nonce waits: this one, or another.
  /replacement|could not replace|same nonce|gas price \S* ?(supplied )?is too low/i,
  // Nethermind looks at fees and funds before it looks at the hash and the nonce, and what is mined
  // has spent its funds already.
  /insufficient ?(funds|balance)|out of balance|upfront cost|not enough funds/i,
  // One node's own limits, while another has it.
  /underpriced|fee ?too ?low|(fee|price|per gas) (\d+ )?(below|less than|too low)|(pool|queue) (is )?full/i,
];
