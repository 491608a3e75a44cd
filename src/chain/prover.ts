// Decides which blocks one network accepts: by its proof mode, and by whether its headers hash in a known way.
import type { Logger } from "pino";
import type { Metrics } from "../observe/metrics.ts";
import type { HeaderEncoding } from "../proofs/check-header.ts";
import type { NetworkRules } from "../proofs/prove-block.ts";
import type { BlockTables } from "./block-tables.ts";
import { levelOf, type ProvenSoFar, type StoreWriting } from "./writing.ts";

export type ProofMode = "strict" | "available" | "off";

/** The IDs of chains whose headers are known to hash: a header that does not hash is always a lie there. */
const KNOWN_CHAINS: ReadonlySet<number> = new Set([
  1, 10, 56, 100, 137, 1337, 8453, 31337, 42161, 17000, 560048, 11155111,
]);

/** Chain ID → the first block of Byzantium (EIP-658), for chains where nodes have receipts of older blocks. */
const BYZANTIUM: ReadonlyMap<number, number> = new Map([[1, 4_370_000]]);

const NOTE = "headers";

type ProverParts = {
  readonly store: Pick<StoreWriting, "setNote"> & { readonly tables: Pick<BlockTables, "note"> };
  readonly log: Logger;
  readonly metrics: Pick<Metrics, "blockProven">;
};

export class Prover {
  /** `unknown` until a first header is proven; `foreign` when all nodes agree on a hash that no known encoding gives. */
  #headers: HeaderEncoding;
  #isDistrusted = false;
  #mode: ProofMode;
  readonly #byzantium: number | undefined;
  readonly #isKnownChain: boolean;
  readonly #network: string;
  readonly #parts: ProverParts;

  constructor(options: { network: string; mode: ProofMode; chainId: number }, parts: ProverParts) {
    this.#network = options.network;
    this.#mode = options.mode;
    this.#byzantium = BYZANTIUM.get(options.chainId);
    this.#parts = parts;
    this.#isKnownChain = KNOWN_CHAINS.has(options.chainId);
    const noted = this.#isKnownChain ? "known" : parts.store.tables.note(NOTE);
    this.#headers = noted === "known" || noted === "foreign" ? noted : "unknown";
  }

  /** Whether blocks whose proof is not full are refused. */
  get isStrict(): boolean {
    return this.#mode === "strict";
  }

  /** Sets the mode for blocks that are ingested from now on. */
  setMode(mode: ProofMode): void {
    this.#mode = mode;
  }

  /**
   * The rules for a block below the window. On a chain that is not known by its ID, the first proven header says
   * nothing about old ones: they may have another encoding (the headers of Celo before it was an L2, for example).
   */
  rulesOfOld(): NetworkRules | undefined {
    const rules = this.rules();
    if (!rules || this.#isKnownChain || this.isStrict) return rules;
    return { ...rules, headers: "unknown" };
  }

  /** The rules of the proof of a block now; undefined when blocks are not proven. */
  rules(): NetworkRules | undefined {
    if (this.#mode === "off") return undefined;
    return { headers: this.#headers, byzantium: this.#byzantium };
  }

  /** Judges a block by its proof. @returns The part that is wrong, and why; undefined when the block is accepted. */
  judge(proof: ProvenSoFar): { readonly part: string; readonly reason: string } | undefined {
    if (!proof) return undefined;
    const isHeaderProven = !proof.unproven.includes("header hash");
    if (this.#headers !== "known" && isHeaderProven) this.#learn("known");
    // The network may have an encoding of its own. One node alone cannot show that: `BlockSource` asks all nodes.
    if (this.#headers === "unknown" && !isHeaderProven)
      return { part: "header hash", reason: "the hash follows no known encoding" };
    if (this.#mode === "strict" && levelOf(proof) !== "full") {
      const reason = "the part cannot be proven, and the network's proof is strict";
      const parts = new Set([...proof.unproven, ...proof.odd.map(({ part }) => part)]);
      return { part: [...parts].join(", "), reason };
    }
    this.#parts.metrics.blockProven(this.#network, levelOf(proof), proof.unproven);
    return undefined;
  }

  /**
   * Accepts headers that do not hash, after the nodes have agreed on a block with such a header.
   * @returns Whether such headers are accepted now: not in the mode `strict`, and not when a header was proven before.
   */
  acceptForeignHeaders(): boolean {
    if (this.#headers !== "unknown" || this.#mode !== "available") return false;
    this.#learn("foreign");
    this.#parts.log.warn(
      "the hashes of this network's block headers follow no known encoding: its blocks are followed by their parent hashes, without proof",
    );
    return true;
  }

  /** Whether a header was proven since the last call after blocks had been accepted without proof. */
  takeWasUnproven(): boolean {
    const isDistrusted = this.#isDistrusted;
    this.#isDistrusted = false;
    return isDistrusted;
  }

  #learn(headers: HeaderEncoding): void {
    if (this.#headers === "foreign") {
      this.#isDistrusted = true;
      this.#parts.log.warn(
        "a header of this network was proven after all: blocks that were stored without proof are dropped",
      );
    }
    this.#headers = headers;
    // If the disk refuses the note, the prover learns it again after the next start.
    this.#parts.store.setNote(NOTE, headers).catch(() => undefined);
  }
}
