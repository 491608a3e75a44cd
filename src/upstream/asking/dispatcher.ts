// Puts a call to the nodes of a network: in which order, beside which others, and whose word counts.
import type { Logger } from "pino";
import { errors } from "../../jsonrpc/rpc-error.ts";
import type { Clock } from "../../lib/clock.ts";
import type { MethodTraits } from "../../namespaces/known-method.ts";
import type { Metrics } from "../../observe/metrics.ts";
import { headTold } from "../announcements.ts";
import { MethodTimes } from "../health/method-times.ts";
import type { Upstream } from "../upstream.ts";
import type { TraitsOf } from "../upstream-options.ts";
import { type AgreementRule, rulesByMethod } from "./agreement.ts";
import { Asking, type AskingParts, type Question } from "./asking.ts";
import { Broadcast } from "./broadcast.ts";
import type { CallOptions } from "./call-options.ts";
import { headOf, isBehind } from "./candidates.ts";
import { HedgeBudget, type HedgingOptions, hedgeDelayMs } from "./hedging.ts";
import { NodeOrder } from "./node-order.ts";
import { takersOf } from "./takers.ts";
import { type Ballot, Voting } from "./voting.ts";

export type DispatcherOptions = {
  readonly network: string;
  readonly hedging: HedgingOptions;
  /** A node so many blocks behind the best one is not taken to lag. */
  readonly toleratedLag: number;
  /** What several vendors must agree on, by method or pattern; the first that fits. */
  readonly agreement: Readonly<Record<string, AgreementRule>>;
  /** To how many nodes a transaction is sent at once; undefined: to one, or to private ones alone. */
  readonly broadcast: number | undefined;
};

export type DispatcherParts = {
  /** The nodes that may be asked now, in the order of the configuration. */
  readonly usable: () => readonly Upstream[];
  /** All nodes of the network. */
  readonly nodes: () => readonly Upstream[];
  readonly traitsOf: TraitsOf;
  readonly clock: Clock;
  readonly metrics: Pick<Metrics, "upstreamAskedAgain" | "upstreamDissented" | "callBounded">;
  readonly log: Pick<Logger, "warn">;
};

/** Calls that wait for a node, or for its budget. */
export const MOST_WAITING = 2_000;
const TELL_AGAIN_AFTER_MS = 60_000;
/** No upstream has an empty name. */
const ALL = "";

export class Dispatcher {
  readonly #times: MethodTimes;
  #policies: Policies;
  /** The head that a caller was told last: it falls only when no node knows better. */
  #toldHead = 0;
  /** Calls that wait for some node's budget. */
  #waiting = 0;
  /** When the log told of a node that dissents. */
  readonly #toldAt = new Map<string, number>();
  #options: DispatcherOptions;
  readonly #parts: DispatcherParts;

  constructor(options: DispatcherOptions, parts: DispatcherParts) {
    this.#options = options;
    this.#parts = parts;
    this.#times = new MethodTimes(parts);
    this.#policies = policiesOf(options);
  }

  reconfigure(options: DispatcherOptions): void {
    this.#options = options;
    this.#policies = policiesOf(options);
  }

  /** How many must say the same to a method; undefined where one node's word counts. */
  agreementOn(method: string): AgreementRule | undefined {
    return this.#policies.agreementOn(method);
  }

  /** The nodes that may be asked now, best first for blocks. */
  bestForBlocks(): readonly Upstream[] {
    return this.#policies.order.forBlocks(this.#parts.usable());
  }

  /** See `Pool.call`. */
  async call(
    method: string,
    paramsJson: string,
    { signal, options }: { signal: AbortSignal; options: CallOptions },
  ): Promise<Buffer> {
    const { traits = this.#parts.traitsOf(method) } = options;
    const asked = { method, traits };
    const nodes = this.#policies.order.forCall(this.#askable(traits), asked, options);
    if (nodes.length === 0) throw errors.noUpstream();
    if (signal.aborted) throw errors.upstreamTimeout();
    const rule = options.reader ? undefined : this.#policies.agreementOn(method);
    const isDoubtful = options.isDoubtful ?? this.#headDoubt(traits, paramsJson);
    const question = {
      ...{ method, paramsJson, traits },
      options: { ...options, isDoubtful },
    };
    const said = rule
      ? await this.#voting(nodes, { ...question, rule }).outcome(signal)
      : await this.#way(nodes, question).outcome(signal);
    if (said.kind === "result") {
      this.#toldHead = headTold(traits, paramsJson, said.json) ?? this.#toldHead;
      return said.json;
    }
    throw errors.refusedByNode(said.code, said.message, said.json);
  }

  /** Those that may be asked for such work now, in the order of the configuration. */
  #askable({ group }: MethodTraits): readonly Upstream[] {
    const { usable, nodes } = this.#parts;
    return group === "submission" ? takersOf(usable(), nodes(), this.#options.broadcast) : usable();
  }

  #way(nodes: readonly Upstream[], question: Question): Asking | Broadcast {
    const { broadcast: count = 1 } = this.#options;
    const { arrivalOf, isFalse } = question.options;
    if (!arrivalOf || count < 2) return this.#asking(nodes, question);
    const options = { arrivalOf, isFalse };
    return new Broadcast({ ...question, count, options }, { nodes, clock: this.#parts.clock });
  }

  /** A head that is behind what callers were told, or what nodes tell, is one node's alone. */
  #headDoubt(traits: MethodTraits, paramsJson: string): CallOptions["isDoubtful"] {
    if (!traits.tellsHead?.(paramsJson)) return undefined;
    return (reply) => {
      const told = reply.kind === "result" ? headTold(traits, paramsJson, reply.json) : undefined;
      const tolerated = (headOf(this.#parts.usable()) ?? 0) - this.#options.toleratedLag;
      return told !== undefined && told < Math.max(this.#toldHead, tolerated);
    };
  }

  #asking(nodes: readonly Upstream[], question: Question): Asking {
    const { clock, metrics } = this.#parts;
    const { network, hedging } = this.#options;
    const { method, traits } = question;
    const hasOthers = this.#parts.nodes().length > 1;
    this.#policies.hedges.earn();
    return new Asking(question, {
      clock,
      nodes,
      newcomers: hasOthers ? () => this.#askable(traits) : undefined,
      headNumber: headOf(nodes),
      isBehind: this.#lagJudge(question),
      hedgeDelayMs: hedgeDelayMs(this.#times.p95Ms(method), hedging),
      mayHedge: () => this.#policies.hedges.spend(),
      onAnswered: (ms) => this.#times.answered(method, ms),
      onAskedAgain: (why) => metrics.upstreamAskedAgain(network, why),
      onOccupied: () => this.#tellOccupied(),
      onWaiting: (count) => this.#waits(count),
    });
  }

  /** What speaks of a block is refused by those who do not have it; what is sent may go to any. */
  #lagJudge({ traits, options: { block, reaches } }: Question): AskingParts["isBehind"] {
    if (block !== undefined || reaches !== undefined) return undefined;
    if (traits.group === "submission") return undefined;
    const { toleratedLag } = this.#options;
    return (node) => isBehind(node, { head: headOf(this.#parts.usable()), toleratedLag });
  }

  #voting(nodes: readonly Upstream[], ballot: Ballot): Voting {
    const { clock, metrics, log } = this.#parts;
    const onDissent = (upstream: string): void => {
      const { method } = ballot;
      metrics.upstreamDissented(this.#options.network, upstream);
      if (this.#isToldAnew(upstream, clock.now()))
        log.warn({ upstream, method }, "an upstream answered otherwise than the others");
    };
    return new Voting(ballot, { clock, nodes, onDissent });
  }

  #tellOccupied(): void {
    const { clock, metrics, log } = this.#parts;
    metrics.callBounded(this.#options.network, "waiting");
    if (this.#isToldAnew(ALL, clock.now()))
      log.warn("calls are refused: too many wait for the upstreams, see headgate_upstream_waiting");
  }

  /** One line in the log for each node that dissents, not one for each time it does. */
  #isToldAnew(upstream: string, now: number): boolean {
    const toldAt = this.#toldAt.get(upstream) ?? Number.NEGATIVE_INFINITY;
    if (now - toldAt < TELL_AGAIN_AFTER_MS) return false;
    this.#toldAt.set(upstream, now);
    return true;
  }

  /** @returns false when too many wait already. */
  #waits(count: 1 | -1): boolean {
    if (count > 0 && this.#waiting >= MOST_WAITING) return false;
    this.#waiting += count;
    return true;
  }
}

/** What the options make of each call. */
type Policies = ReturnType<typeof policiesOf>;

const policiesOf = (options: DispatcherOptions) => ({
  agreementOn: rulesByMethod(options.agreement),
  hedges: new HedgeBudget(options.hedging),
  order: new NodeOrder(options),
});
