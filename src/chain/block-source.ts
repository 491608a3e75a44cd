// Fetches proven blocks: asks one node after another until a node gives the block in a form that can be proven.

import type { Logger } from "pino";
import { toQuantity } from "../evm/values.ts";
import type { Signal } from "../lib/cancellation.ts";
import type { Clock } from "../lib/clock.ts";
import { RecentNames } from "../lib/keep-newest.ts";
import { within } from "../lib/waiting.ts";
import type { Metrics } from "../observe/metrics.ts";
import { Confirmation } from "./confirmation.ts";
import type { AskedUpstream, BlockLimits, ReceiptTerms, Reference } from "./dialect.ts";
import type { Prover } from "./prover.ts";
import type { IngestBlock, IngestedBlock, IngestOutcome } from "./writing.ts";

export type BlockSourceParts = {
  readonly ingest: IngestBlock;
  readonly prover: Pick<Prover, "rules" | "judge" | "acceptForeignHeaders">;
  /** All nodes that may be asked; undefined while the pool still tries some for the first time. */
  readonly allNodes: () => readonly AskedUpstream[] | undefined;
  readonly clock: Pick<Clock, "now" | "sleep">;
  readonly log: Logger;
  readonly metrics: Pick<Metrics, "proofFailed" | "blockTooLarge">;
  /** A callback with the name of an upstream whose block failed its proof. */
  readonly onLie?: (upstream: string) => void;
};

export type Found =
  | { readonly kind: "found"; readonly record: IngestedBlock }
  /** No node that replied knows the block. */
  | { readonly kind: "unknown" }
  /** Nodes have the block, and none of them its receipts. */
  | { readonly kind: "no receipts" }
  /** A node gave the block, but no node gave it in a form that can be proven. */
  | { readonly kind: "unproven" }
  /** All nodes that were asked now or lately say that the block is larger than `limits.block` allows. */
  | { readonly kind: "too large" }
  | { readonly kind: "failed"; readonly reason: string };

/** The log gets one line in this time, in milliseconds, for each node and each part of a block that fails. */
const LOG_AGAIN_AFTER_MS = 60_000;
/** For this time, in milliseconds, a node is not asked again for a block whose proof failed. */
const TRY_AGAIN_AFTER_MS = 5_000;
/** For this time, in milliseconds, a node is not asked again for a block that is too large: each try costs much. */
const TRY_LARGE_AGAIN_AFTER_MS = 60_000;

export class BlockSource {
  /** Pairs of a node and a block of that node whose proof failed. */
  readonly #failed: RecentNames;
  /** The failures that were logged lately. */
  readonly #logged: RecentNames;
  /** Pairs of a node and a block that is too large, as that node says. */
  readonly #tooLarge: RecentNames;
  /** The claim of some nodes that headers do not hash, while the others give no block. */
  readonly #strangeness: Confirmation;
  readonly #network: string;
  #limits: BlockLimits;
  readonly #parts: BlockSourceParts;

  constructor(
    { network, limits }: { network: string; limits: BlockLimits },
    parts: BlockSourceParts,
  ) {
    this.#network = network;
    this.#limits = limits;
    this.#parts = parts;
    this.#strangeness = new Confirmation(parts);
    this.#failed = new RecentNames(TRY_AGAIN_AFTER_MS, parts.clock);
    this.#tooLarge = new RecentNames(TRY_LARGE_AGAIN_AFTER_MS, parts.clock);
    this.#logged = new RecentNames(LOG_AGAIN_AFTER_MS, parts.clock);
  }

  /** Sets the limits for blocks that are fetched from now on. */
  setLimits(limits: BlockLimits): void {
    this.#limits = limits;
    this.#tooLarge.clear();
  }

  /** Fetches the block from the first of the nodes that gives it in a form that can be proven. */
  async fetch(
    reference: Reference,
    nodes: readonly AskedUpstream[],
    signal: Signal,
    receipts: ReceiptTerms = "needed",
  ): Promise<Found> {
    const foreign: ForeignBlock[] = [];
    let isUnproven = false;
    let lacksReceipts = false;
    let reason = nodes.length === 0 ? "there is no node to ask" : undefined;
    const small = nodes.filter((node) => !this.#tooLarge.has(nameOf(node, reference)));
    const able = small.filter((node) => !this.#failed.has(nameOf(node, reference)));
    if (able.length < small.length) isUnproven = true;
    let tooLarge = nodes.length - small.length;
    const { clock } = this.#parts;
    const ask = (node: AskedUpstream, ending: Signal): Promise<IngestOutcome> =>
      this.#ingest(reference, node, { receipts, signal: ending });
    const isWorthAsking = ({ kind }: IngestOutcome): boolean =>
      kind === "failed" || kind === "unknown" || kind === "no receipts";
    const parts = { ask, isWorthAsking, clock };
    for await (const { node, answer } of hedgedAnswers(able, signal, parts)) {
      if (signal.aborted) return { kind: "failed", reason: "aborted" };
      if (answer.kind === "failed") reason = answer.reason;
      if (answer.kind === "no receipts") lacksReceipts = true;
      if (answer.kind === "garbage") {
        this.#report(node, { part: "shape", reason: answer.reason });
        isUnproven = true;
      }
      if (answer.kind === "too large") {
        tooLarge += 1;
        this.#refuse(node, reference, answer.reason);
      }
      if (answer.kind !== "ingested" && answer.kind !== "refuted") continue;
      const found = this.#check(reference, answer, node);
      if (found.kind === "found") return found;
      if (found.part === "header hash") foreign.push({ hash: found.hash, node });
      isUnproven = true;
    }
    const agreed = this.#agreedForeign(foreign, nodes);
    if (agreed) {
      // The prover accepts foreign headers now, so the block is judged again.
      const again = await this.#ingest({ hash: agreed.hash }, agreed.node, { receipts, signal });
      if (again.kind === "ingested" || again.kind === "refuted") {
        const found = this.#check(reference, again, agreed.node);
        if (found.kind === "found") return found;
      }
    }
    if (tooLarge > 0 && tooLarge === nodes.length) return { kind: "too large" };
    if (isUnproven) return { kind: "unproven" };
    if (tooLarge > 0) reason ??= "larger than limits.block";
    if (reason !== undefined) return { kind: "failed", reason };
    return { kind: lacksReceipts ? "no receipts" : "unknown" };
  }

  #ingest(
    reference: Reference,
    node: AskedUpstream,
    terms: { readonly receipts: ReceiptTerms; readonly signal: Signal },
  ): Promise<IngestOutcome> {
    const { ingest, prover } = this.#parts;
    return ingest(reference, node, { ...terms, limits: this.#limits, rules: prover.rules() });
  }

  #check(
    reference: Reference,
    answer: Extract<IngestOutcome, { kind: "ingested" | "refuted" }>,
    node: AskedUpstream,
  ): Extract<Found, { kind: "found" }> | { kind: "failed"; part: string; hash: string } {
    const verdict = answer.kind === "ingested" ? this.#parts.prover.judge(answer.proof) : answer;
    if (answer.kind === "ingested" && verdict === undefined)
      return { kind: "found", record: answer.block };
    const { part = "", reason = "" } = verdict ?? {};
    const { number, hash } = answer.kind === "ingested" ? saidOf(answer.block) : answer;
    this.#report(node, { part, reason }, { number, hash });
    this.#failed.add(nameOf(node, reference));
    return { kind: "failed", part, hash };
  }

  /** Notes that the block is too large. This is no lie of the node: the block may really be that large. */
  #refuse(node: AskedUpstream, reference: Reference, reason: string): void {
    this.#parts.metrics.blockTooLarge(this.#network, node.name);
    this.#tooLarge.add(nameOf(node, reference));
    const block = "hash" in reference ? reference.hash : reference.number;
    this.#log(
      `${node.name} too large`,
      { upstream: node.name, block, reason },
      "a block is larger than limits.block allows: it is not taken in",
    );
  }

  /**
   * Decides that the network's headers hash in an unknown way: all nodes gave the same block whose header does not hash,
   * or some nodes did so for a while and the others gave no block.
   */
  #agreedForeign(
    given: readonly ForeignBlock[],
    asked: readonly AskedUpstream[],
  ): ForeignBlock | undefined {
    const [first] = given;
    const isAgreed = given.every(({ hash }) => hash === first?.hash);
    // A node that was not asked yet may give a block that can be proven.
    const isAskedOfAll = this.#parts
      .allNodes()
      ?.every(({ name }) => asked.some((node) => node.name === name));
    if (!first || !isAgreed || !isAskedOfAll) return undefined;
    this.#strangeness.say();
    if (given.length < asked.length && !this.#strangeness.isLong) return undefined;
    return this.#parts.prover.acceptForeignHeaders() ? first : undefined;
  }

  #report(
    node: AskedUpstream,
    why: { part: string; reason: string },
    { number: block, hash }: { number?: string; hash?: string } = {},
  ): void {
    const { metrics, onLie } = this.#parts;
    const about = [why.part, "of block", block, hash].filter(Boolean).join(" ");
    metrics.proofFailed(this.#network, node.name, why.part, { about, found: why.reason });
    onLie?.(node.name);
    this.#log(
      `${node.name} ${why.part}`,
      { upstream: node.name, block, hash, ...why },
      "a block failed its proof: it is not used",
    );
  }

  /** Writes a line to the log, at most once in `LOG_AGAIN_AFTER_MS`. */
  #log(what: string, fields: object, message: string): void {
    if (this.#logged.has(what)) return;
    this.#logged.add(what);
    this.#parts.log.error(fields, message);
  }
}

const nameOf = ({ name }: AskedUpstream, reference: Reference): string =>
  `${name} ${"hash" in reference ? reference.hash : reference.number}`;

/** A block whose header does not give the hash that the block claims. */
type ForeignBlock = { readonly hash: string; readonly node: AskedUpstream };

const saidOf = ({ hash, outline }: IngestedBlock) => ({ number: toQuantity(outline.number), hash });

// Asks several nodes the same question: one after the other, and the next one early when a node is slow. A silent node
// delays nobody: meanwhile, nodes that had nothing to give are asked again.

type NodeAnswer<Node, Answer> = { readonly node: Node; readonly answer: Answer };

/** After this time without an answer the next node is asked too, in milliseconds. */
const SLOW_MS = 500;
/** How often nodes that had nothing to give are asked again in all. */
const MOST_AGAIN = 3;
/** Made once, since an error costs a stack trace, and nobody reads this error. */
const UNWANTED = new Error("no more answers are wanted");

/**
 * Yields the answers as they come, until the caller wants no more. Then it aborts the questions that are still open.
 * @param parts.ask Never rejects.
 * @param parts.isWorthAsking Whether a node that gave this answer may give another one a moment later.
 */
export async function* hedgedAnswers<Node, Answer>(
  nodes: readonly Node[],
  signal: Signal,
  parts: {
    readonly ask: (node: Node, signal: Signal) => Promise<Answer>;
    readonly isWorthAsking: (answer: Answer) => boolean;
    readonly clock: Pick<Clock, "sleep">;
  },
): AsyncGenerator<NodeAnswer<Node, Answer>, void> {
  const ending = new AbortController();
  const end = (): void => ending.abort(signal.reason);
  signal.addEventListener("abort", end, { once: true });
  if (signal.aborted) end();
  const waiting = [...nodes];
  const answered: Node[] = [];
  let again = MOST_AGAIN;
  const running = new Map<Node, Promise<NodeAnswer<Node, Answer>>>();
  const askNext = (): void => {
    const node = waiting.shift();
    if (node !== undefined)
      running.set(
        node,
        parts.ask(node, ending.signal).then((answer) => ({ node, answer })),
      );
  };
  try {
    askNext();
    while (running.size > 0) {
      const first = await within(SLOW_MS, Promise.race(running.values()), parts);
      if (!first) {
        if (waiting.length === 0 && again-- > 0) waiting.push(...answered.splice(0, 1));
        askNext();
      } else {
        running.delete(first.node);
        yield first;
        if (parts.isWorthAsking(first.answer)) answered.push(first.node);
        if (running.size === 0) askNext();
      }
    }
  } finally {
    signal.removeEventListener("abort", end);
    ending.abort(UNWANTED);
  }
}
