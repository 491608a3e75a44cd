// Blocks that may be believed: fetched from a node, proven, and from the next node when that fails.
import type { Logger } from "pino";
import { ambiguityIn } from "../jsonrpc/ambiguity.ts";
import type { Clock } from "../lib/clock.ts";
import type { Metrics } from "../observe/metrics.ts";
import { answersInTurn } from "./answers-in-turn.ts";
import { type BlockJson, type BlockRecord, recordOf } from "./block-record.ts";
import type { AskedNode, ChainDialect, Fetched, FetchedBlock, Reference } from "./dialect.ts";
import { Insistence } from "./insistence.ts";
import type { Prover, Verdict } from "./prover.ts";

export type SourceParts = {
  readonly dialect: Pick<ChainDialect, "fetchBlock">;
  readonly prover: Pick<Prover, "prove" | "acceptForeignHeaders">;
  /** All nodes that may be asked; undefined while some are still being looked for. */
  readonly allNodes: () => readonly AskedNode[] | undefined;
  readonly clock: Pick<Clock, "now" | "yield" | "sleep">;
  readonly log: Logger;
  readonly metrics: Pick<Metrics, "proofFailed">;
};

export type Found =
  | { readonly kind: "found"; readonly record: BlockRecord }
  /** All who answered do not know the block. */
  | { readonly kind: "unknown" }
  /** Somebody gave it, but nobody so that it could be proven. */
  | { readonly kind: "unproven" }
  | { readonly kind: "failed"; readonly reason: string };

/** One line in the log for each lie of a node, not one for each time it is told. */
const TELL_AGAIN_AFTER_MS = 60_000;
/** What a node gave wrong is not fetched from it again so soon. */
const TRY_AGAIN_AFTER_MS = 5_000;
const REMEMBERED = 1_000;

export class BlockSource {
  /** When a node last gave a block that failed, by node and block. Bounded. */
  readonly #failedAt = new Map<string, number>();
  readonly #toldAt = new Map<string, number>();
  /** Some nodes give blocks of no known encoding, and the others do not say. */
  readonly #strangeness: Insistence;
  readonly #network: string;
  readonly #parts: SourceParts;

  constructor(options: { network: string }, parts: SourceParts) {
    this.#network = options.network;
    this.#parts = parts;
    this.#strangeness = new Insistence(parts);
  }

  /** The block from the first of the nodes that gives it so that it can be proven. */
  async fetch(
    reference: Reference,
    nodes: readonly AskedNode[],
    signal: AbortSignal,
  ): Promise<Found> {
    const foreign: { fetched: FetchedBlock; node: AskedNode }[] = [];
    let isUnproven = false;
    let reason = nodes.length === 0 ? "there is no node to ask" : undefined;
    const able = nodes.filter((node) => !this.#failedLately(node, reference));
    if (able.length < nodes.length) isUnproven = true;
    const { dialect, clock } = this.#parts;
    const ask = (node: AskedNode, ending: AbortSignal): Promise<Fetched> =>
      dialect.fetchBlock(reference, node, ending);
    for await (const { node, answer } of answersInTurn(able, signal, { ask, clock })) {
      if (signal.aborted) return { kind: "failed", reason: "aborted" };
      if (answer.kind === "failed") reason = answer.reason;
      if (answer.kind === "garbage") {
        this.#report(node, { part: "shape", reason: answer.reason });
        isUnproven = true;
      }
      if (answer.kind !== "fetched") continue;
      await clock.yield(); // a large block was parsed, and will be proven: calls come in between
      const found = this.#check(reference, answer.fetched, node);
      if (found.kind === "found") return found;
      if (found.part === "header hash") foreign.push({ fetched: answer.fetched, node });
      isUnproven = true;
    }
    const agreed = this.#agreedForeign(foreign, nodes);
    if (agreed) {
      const found = this.#check(reference, agreed.fetched, agreed.node);
      if (found.kind === "found") return found;
    }
    if (isUnproven) return { kind: "unproven" };
    return reason === undefined ? { kind: "unknown" } : { kind: "failed", reason };
  }

  #check(
    reference: Reference,
    fetched: FetchedBlock,
    node: AskedNode,
  ): Extract<Found, { kind: "found" }> | { kind: "failed"; part: string } {
    const verdict = this.#judge(reference, fetched);
    const record =
      verdict.kind === "proven" ? recordOf(fetched.json, fetched, verdict.level) : undefined;
    if (record) return { kind: "found", record };
    const { part, reason } =
      verdict.kind === "failed"
        ? verdict
        : { part: "shape", reason: "not a block as nodes give it" };
    this.#report(node, { part, reason }, fetched);
    this.#remember(node, reference);
    return { kind: "failed", part };
  }

  #judge(reference: Reference, fetched: FetchedBlock): Verdict {
    if (!isTheOneAskedFor(reference, fetched))
      return { kind: "failed", part: "identity", reason: "another block than asked for" };
    // What is proven was parsed; what is stored and served are the node's bytes.
    const ambiguity = ambiguityOf(fetched.json);
    if (ambiguity !== undefined) return { kind: "failed", part: "shape", reason: ambiguity };
    return this.#parts.prover.prove(fetched);
  }

  /**
   * All nodes gave one and the same block whose header does not hash, or some did for a while and the
   * others gave none: this network may be like that.
   */
  #agreedForeign<Given extends { fetched: FetchedBlock }>(
    given: readonly Given[],
    asked: readonly AskedNode[],
  ): Given | undefined {
    const [first] = given;
    const isAgreed = given.every(({ fetched }) => fetched.block.hash === first?.fetched.block.hash);
    // A node that was not asked yet may prove it.
    const isAskedOfAll = this.#parts
      .allNodes()
      ?.every(({ name }) => asked.some((node) => node.name === name));
    if (!first || !isAgreed || !isAskedOfAll) return undefined;
    this.#strangeness.say();
    if (given.length < asked.length && !this.#strangeness.isLong) return undefined;
    return this.#parts.prover.acceptForeignHeaders() ? first : undefined;
  }

  #report(node: AskedNode, why: { part: string; reason: string }, fetched?: FetchedBlock): void {
    const { log, metrics, clock } = this.#parts;
    metrics.proofFailed(this.#network, node.name, why.part);
    const block = fetched?.block;
    const lie = `${node.name} ${why.part}`;
    const toldAt = this.#toldAt.get(lie);
    if (toldAt !== undefined && clock.now() - toldAt < TELL_AGAIN_AFTER_MS) return;
    this.#toldAt.set(lie, clock.now());
    log.error(
      { upstream: node.name, block: block?.number, hash: block?.hash, ...why },
      "a block failed its proof: it is not used",
    );
  }

  #remember(node: AskedNode, reference: Reference): void {
    if (this.#failedAt.size >= REMEMBERED) this.#failedAt.clear();
    this.#failedAt.set(nameOf(node, reference), this.#parts.clock.now());
  }

  #failedLately(node: AskedNode, reference: Reference): boolean {
    const failedAt = this.#failedAt.get(nameOf(node, reference));
    return failedAt !== undefined && this.#parts.clock.now() - failedAt < TRY_AGAIN_AFTER_MS;
  }
}

const nameOf = ({ name }: AskedNode, reference: Reference): string =>
  `${name} ${"hash" in reference ? reference.hash : reference.number}`;

const isTheOneAskedFor = (reference: Reference, { block }: FetchedBlock): boolean =>
  "hash" in reference
    ? block.hash.toLowerCase() === reference.hash.toLowerCase()
    : Number(block.number) === reference.number;

const ambiguityOf = ({ block, receipts, uncles }: BlockJson): string | undefined =>
  ambiguityIn(block) ?? ambiguityIn(receipts) ?? (uncles && ambiguityIn(uncles));
