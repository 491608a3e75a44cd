// Decides which blocks one network accepts: by its proof mode, and by whether nodes agreed on headers that do not hash.
import type { Logger } from "pino";
import type { Metrics } from "../observe/metrics.ts";
import type { NetworkRules, Oddity } from "../proofs/prove-block.ts";
import type { BlockTables } from "./block-tables.ts";
import { levelOf, type ProvenSoFar, type StoreWriting } from "./writing.ts";

export type ProofMode = "strict" | "available" | "off";

const NOTE = "headers";
const FOREIGN = "foreign";

type ProverParts = {
  readonly store: Pick<StoreWriting, "setNote"> & { readonly tables: Pick<BlockTables, "note"> };
  readonly log: Logger;
  readonly metrics: Pick<Metrics, "blockProven">;
};

export class Prover {
  /** Whether the nodes agreed on a header whose hash no form of header gives. Such headers are odd, and accepted since. */
  #acceptsOddHeaders: boolean;
  #mode: ProofMode;
  readonly #rules: NetworkRules;
  readonly #network: string;
  readonly #parts: ProverParts;

  constructor(
    { network, mode, chainId }: { network: string; mode: ProofMode; chainId: number },
    parts: ProverParts,
  ) {
    this.#network = network;
    this.#mode = mode;
    this.#rules = { chainId };
    this.#parts = parts;
    this.#acceptsOddHeaders = parts.store.tables.note(NOTE) === FOREIGN;
  }

  /** Whether blocks whose proof is not full are refused. */
  get isStrict(): boolean {
    return this.#mode === "strict";
  }

  /** Sets the mode for blocks that are ingested from now on. */
  setMode(mode: ProofMode): void {
    this.#mode = mode;
  }

  /** The rules of the proof of a block now; undefined when blocks are not proven. */
  rules(): NetworkRules | undefined {
    return this.#mode === "off" ? undefined : this.#rules;
  }

  /**
   * Judges a block by its proof.
   * @param isOld Whether the block is below the window: old headers of a chain may have another form than new ones, so
   * the caller has to see to it that the nodes agree on the block.
   * @returns The part that is not accepted, and why; undefined when the block is accepted.
   */
  judge(
    proof: ProvenSoFar,
    isOld = false,
  ): { readonly part: string; readonly reason: string } | undefined {
    if (!proof) return undefined;
    // The network may have an encoding of its own. One node alone cannot show that: `BlockSource` asks all nodes.
    const oddHeader: Oddity | undefined = proof.odd.find(({ part }) => part === "header hash");
    const isAccepted = this.#acceptsOddHeaders || (isOld && !this.isStrict);
    if (oddHeader && !isAccepted) return oddHeader;
    const parts = new Set([...proof.unproven, ...proof.odd.map(({ part }) => part)]);
    if (this.isStrict && parts.size > 0) {
      const reason = "the part cannot be proven, and the network's proof is strict";
      return { part: [...parts].join(", "), reason };
    }
    this.#parts.metrics.blockProven(this.#network, levelOf(proof), proof.unproven);
    return undefined;
  }

  /**
   * Accepts headers that do not hash, after the nodes have agreed on a block with such a header.
   * @returns Whether such headers are accepted now: only in the mode `available`.
   */
  acceptForeignHeaders(): boolean {
    if (this.#mode !== "available") return false;
    if (this.#acceptsOddHeaders) return true;
    this.#acceptsOddHeaders = true;
    this.#parts.log.warn(
      "the hashes of some block headers of this network follow no known encoding: such blocks are followed by their parent hashes, without proof",
    );
    // If the disk refuses the note, the prover learns it again after the next start.
    this.#parts.store.setNote(NOTE, FOREIGN).catch(() => undefined);
    return true;
  }
}
