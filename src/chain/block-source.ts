// Fetches proven blocks: asks one node after another until a node gives the block in a form that can be proven.

import type { Logger } from "pino";
import { toQuantity } from "../evm/values.ts";
import type { Signal } from "../lib/cancellation.ts";
import type { Clock } from "../lib/clock.ts";
import { RecentNames } from "../lib/keep-newest.ts";
import { deadline, within } from "../lib/waiting.ts";
import type { Metrics } from "../observe/metrics.ts";
import { Confirmation } from "./confirmation.ts";
import type { AskedUpstream, BlockLimits, ReceiptTerms, Reference } from "./dialect.ts";
import { type OddPart, OddParts } from "./odd-parts.ts";
import type { Prover } from "./prover.ts";
import type { IngestBlock, IngestedBlock, IngestOutcome, ProvenSoFar } from "./writing.ts";

export type BlockSourceParts = {
  readonly ingest: IngestBlock;
  readonly prover: Pick<Prover, "rules" | "judge" | "isStrict" | "acceptForeignHeaders">;
  /** All nodes that may be asked; undefined while the pool still tries some for the first time. */
  readonly allNodes: () => readonly AskedUpstream[] | undefined;
  readonly clock: Pick<Clock, "now" | "sleep" | "after">;
  readonly log: Logger;
  readonly metrics: Pick<Metrics, "proofFailed" | "blockTooLarge" | "blockPartOdd">;
  /** A callback with the name of an upstream whose block failed its proof. */
  readonly onLie?: (upstream: string) => void;
};

export type Found =
  | { readonly kind: "found"; readonly record: IngestedBlock }
  /** No node that replied knows the block. */
  | { readonly kind: "unknown" }
  /** Nodes have the block, and none of them its receipts. */
  | { readonly kind: "no receipts" }
  /** A node gave the block, but no node gave it in a form that can be taken in. */
  | {
      readonly kind: "unproven";
      readonly reason: string;
      /** Whether a proof refuted each block that nodes gave, or the mode `strict` refused it: such a block is not served. */
      readonly isRefused: boolean;
    }
  /** All nodes that were asked now or lately say that the block is larger than `limits.block` allows. */
  | { readonly kind: "too large" }
  | { readonly kind: "failed"; readonly reason: string };

/** The log gets one line in this time, in milliseconds, for each node and each part of a block that fails. */
const LOG_AGAIN_AFTER_MS = 60_000;
/** For this time, in milliseconds, a node is not asked again for a block whose proof failed. */
const TRY_AGAIN_AFTER_MS = 5_000;
/** For this time, in milliseconds, a node is not asked again for a block that is too large: each try costs much. */
const TRY_LARGE_AGAIN_AFTER_MS = 60_000;
/** How many other nodes are asked for a block that has an odd part, and for how long, in milliseconds. */
const MOST_ASKED_FOR_BETTER = 3;
const BETTER_WITHIN_MS = 1_000;
/** How often it is looked whether all nodes are known, in milliseconds. */
const LOOK_AGAIN_MS = 50;

export class BlockSource {
  /** Pairs of a node and a block of that node whose proof failed. */
  readonly #failed: RecentNames;
  /** The pairs of `#failed` whose block a proof or the mode `strict` refused. */
  readonly #refused: RecentNames;
  readonly #odd: OddParts;
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
    this.#refused = new RecentNames(TRY_AGAIN_AFTER_MS, parts.clock);
    this.#odd = new OddParts({ network }, parts);
    this.#tooLarge = new RecentNames(TRY_LARGE_AGAIN_AFTER_MS, parts.clock);
    this.#logged = new RecentNames(LOG_AGAIN_AFTER_MS, parts.clock);
  }

  /** Sets the limits for blocks that are fetched from now on. */
  setLimits(limits: BlockLimits): void {
    this.#limits = limits;
    this.#tooLarge.clear();
  }

  /** The odd parts of blocks that were taken in since the start. */
  get odd(): readonly OddPart[] {
    return this.#odd.all;
  }

  /**
   * Fetches the block from the first of the nodes that gives it in a form that can be proven.
   * @param receipts Whether a block without its receipts is of use.
   */
  fetch(
    reference: Reference,
    nodes: readonly AskedUpstream[],
    signal: Signal,
    receipts: ReceiptTerms = "needed",
  ): Promise<Found> {
    return this.#fetch(reference, nodes, { receipts, isOld: false, signal });
  }

  /**
   * As `fetch`, for a block below the window, whose header may have another form than new ones. The proof of such a
   * block is `none`: the caller has to see to it that the nodes agree on the block.
   */
  fetchOld(
    reference: Reference,
    nodes: readonly AskedUpstream[],
    signal: Signal,
    receipts: ReceiptTerms = "needed",
  ): Promise<Found> {
    return this.#fetch(reference, nodes, { receipts, isOld: true, signal });
  }

  async #fetch(
    reference: Reference,
    nodes: readonly AskedUpstream[],
    terms: FetchedUnder,
  ): Promise<Found> {
    const { isOld, signal } = terms;
    const foreign: ForeignBlock[] = [];
    const failure = new FetchFailures(nodes.length);
    const small = nodes.filter((node) => !this.#tooLarge.has(nameOf(node, reference)));
    const able = small.filter((node) => !this.#failed.has(nameOf(node, reference)));
    for (const node of small.filter((each) => !able.includes(each)))
      failure.unproven(this.#refused.has(nameOf(node, reference)), "it failed its proof lately");
    for (let left = nodes.length - small.length; left > 0; left -= 1) failure.tooLarge();
    const { clock } = this.#parts;
    const ask = (node: AskedUpstream, ending: Signal): Promise<IngestOutcome> =>
      this.#ingest(reference, node, { ...terms, signal: ending });
    const isWorthAsking = ({ kind }: IngestOutcome): boolean =>
      kind === "failed" || kind === "unknown" || kind === "no receipts";
    const parts = { ask, isWorthAsking, clock };
    const unasked = new Set(able);
    for await (const { node, answer } of hedgedAnswers(able, signal, parts)) {
      unasked.delete(node);
      if (signal.aborted) return { kind: "failed", reason: "aborted" };
      if (answer.kind === "failed") failure.failed(answer.reason);
      if (answer.kind === "no receipts") failure.noReceipts();
      if (answer.kind === "garbage") {
        this.#report(node, { part: "shape", reason: answer.reason });
        failure.unproven(false, answer.reason);
      }
      if (answer.kind === "too large") {
        failure.tooLarge();
        this.#refuse(node, reference, answer.reason);
      }
      if (answer.kind !== "ingested" && answer.kind !== "refuted") continue;
      const found = this.#check(reference, answer, { node, isOld });
      if (found.kind === "taken")
        return this.#best(found, () => this.#othersThan(nodes, [...unasked], signal), terms);
      if (found.part === "header hash") foreign.push({ hash: found.hash, node });
      failure.unproven(found.isRefused, `${found.part}: ${found.reason}`);
    }
    if (signal.aborted) return { kind: "failed", reason: "aborted" };
    const agreed = this.#agreedForeign(foreign, nodes);
    if (agreed) {
      // The prover accepts foreign headers now, so the block is judged again.
      const again = await this.#ingest({ hash: agreed.hash }, agreed.node, terms);
      if (again.kind === "ingested" || again.kind === "refuted") {
        const found = this.#check(reference, again, { node: agreed.node, isOld });
        if (found.kind === "taken") return this.#best(found, async () => [], terms);
      }
    }
    return failure.outcome;
  }

  #ingest(
    reference: Reference,
    node: AskedUpstream,
    { receipts, signal }: FetchedUnder,
  ): Promise<IngestOutcome> {
    const { ingest, prover } = this.#parts;
    return ingest(reference, node, {
      ...{ receipts, signal },
      ...{ limits: this.#limits, rules: prover.rules() },
    });
  }

  #check(
    reference: Reference,
    answer: Extract<IngestOutcome, { kind: "ingested" | "refuted" }>,
    { node, isOld }: { readonly node: AskedUpstream; readonly isOld: boolean },
  ): Taken | NotTaken {
    const { prover } = this.#parts;
    const verdict = answer.kind === "ingested" ? prover.judge(answer.proof, isOld) : answer;
    if (answer.kind === "ingested" && verdict === undefined)
      return { kind: "taken", record: answer.block, proof: answer.proof, node };
    const { part = "", reason = "" } = verdict ?? {};
    const { number, hash } = answer.kind === "ingested" ? saidOf(answer.block) : answer;
    const name = nameOf(node, reference);
    this.#failed.add(name);
    // A block in another form, or of a chain whose encoding is not known, contradicts nothing that is proven.
    const isRefused = prover.isStrict || (answer.kind === "refuted" && !UNREADABLE.has(part));
    if (isRefused) this.#refused.add(name);
    if (isRefused || answer.kind === "refuted")
      this.#report(node, { part, reason }, { number, hash });
    return { kind: "failed", part, reason, hash, isRefused };
  }

  /** The block as the node gave it, or as another node gives it with fewer odd parts. */
  async #best(
    taken: Taken,
    findOthers: () => Promise<readonly AskedUpstream[]>,
    terms: FetchedUnder,
  ): Promise<Found> {
    const odd = taken.proof?.odd ?? [];
    let best = taken;
    const mayBeBetter = odd.length > 0 && this.#odd.mayBeBetterElsewhere(odd);
    const others = mayBeBetter ? await findOthers() : [];
    if (others.length > 0) {
      const asked = others.slice(0, MOST_ASKED_FOR_BETTER);
      const given = await this.#givenBy(asked, taken.record.hash, terms);
      best = given.reduce((least, each) => (doubts(each) < doubts(least) ? each : least), taken);
      if (best !== taken) this.#odd.betterElsewhere(odd);
      else if (given.length > 0) this.#odd.noBetterElsewhere(odd);
    }
    const { node, record, proof } = best;
    const block = String(record.outline.number);
    this.#odd.note(proof?.odd ?? [], { block, upstream: node.name });
    return { kind: "found", record };
  }

  /** The nodes that may give a block better. Soon after a start some nodes are not known yet, so they are waited for. */
  async #othersThan(
    nodes: readonly AskedUpstream[],
    unasked: readonly AskedUpstream[],
    signal: Signal,
  ): Promise<readonly AskedUpstream[]> {
    const { allNodes, clock } = this.#parts;
    for (let waited = 0; !allNodes() && waited < BETTER_WITHIN_MS; waited += LOOK_AGAIN_MS) {
      await clock.sleep(LOOK_AGAIN_MS, signal).catch(() => undefined);
      if (signal.aborted) break;
    }
    const names = new Set(nodes.map(({ name }) => name));
    const later = (allNodes() ?? []).filter(({ name }) => !names.has(name));
    return [...unasked, ...later];
  }

  /** The block as each of the nodes gives it, of those that give it soon. */
  async #givenBy(
    nodes: readonly AskedUpstream[],
    hash: string,
    terms: FetchedUnder,
  ): Promise<readonly Taken[]> {
    const { signal, done } = deadline(BETTER_WITHIN_MS, terms.signal, this.#parts.clock);
    const given = nodes.map(async (node): Promise<Taken[]> => {
      const answer = await this.#ingest({ hash }, node, { ...terms, signal });
      if (answer.kind !== "ingested" && answer.kind !== "refuted") return [];
      const checked = this.#check({ hash }, answer, { node, isOld: terms.isOld });
      return checked.kind === "taken" ? [checked] : [];
    });
    // A node that takes no notice of the signal must not keep the chain waiting.
    const all = await Promise.all(
      given.map((each) => within(BETTER_WITHIN_MS, each, { clock: this.#parts.clock })),
    );
    done();
    return all.flatMap((each) => each ?? []);
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

/** The terms of one fetch, and the signal that ends it. */
type FetchedUnder = {
  readonly receipts: ReceiptTerms;
  readonly isOld: boolean;
  readonly signal: Signal;
};

/** A block that can be taken in, as one node gave it. */
type Taken = {
  readonly kind: "taken";
  readonly record: IngestedBlock;
  readonly proof: ProvenSoFar;
  readonly node: AskedUpstream;
};

type NotTaken = {
  readonly kind: "failed";
  readonly part: string;
  readonly reason: string;
  readonly hash: string;
  readonly isRefused: boolean;
};

/** The parts whose refutation says that the gateway cannot read the block, not that the block is false. */
const UNREADABLE: ReadonlySet<string> = new Set(["shape"]);

const doubts = ({ proof }: Taken): number =>
  (proof?.odd.length ?? 0) + (proof?.unproven.length ?? 0);

/** Collects why nodes did not give a block. */
class FetchFailures {
  #reason: string | undefined;
  #unproven: string | undefined;
  #isRefused = true;
  #tooLarge = 0;
  #lacksReceipts = false;
  readonly #asked: number;

  constructor(asked: number) {
    this.#asked = asked;
    if (asked === 0) this.#reason = "there is no node to ask";
  }

  failed(reason: string): void {
    this.#reason = reason;
  }

  noReceipts(): void {
    this.#lacksReceipts = true;
  }

  tooLarge(): void {
    this.#tooLarge += 1;
  }

  unproven(isRefused: boolean, reason: string): void {
    // One node whose block is only unreadable shows that a lie is not the only reason.
    if (this.#unproven === undefined || !isRefused) this.#unproven = reason;
    this.#isRefused &&= isRefused;
  }

  get outcome(): Found {
    if (this.#tooLarge > 0 && this.#tooLarge === this.#asked) return { kind: "too large" };
    const isRefused = this.#isRefused && this.#tooLarge === 0;
    if (this.#unproven !== undefined)
      return { kind: "unproven", reason: this.#unproven, isRefused };
    const reason = this.#reason ?? (this.#tooLarge > 0 ? "larger than limits.block" : undefined);
    if (reason !== undefined) return { kind: "failed", reason };
    return { kind: this.#lacksReceipts ? "no receipts" : "unknown" };
  }
}

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
        if (signal.aborted) return; // a node that takes no notice of the signal must not keep anybody waiting
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
