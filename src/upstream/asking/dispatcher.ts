// Puts a call to the upstreams of a network: whose word counts in it, and what its answer tells.
import { errors } from "../../jsonrpc/rpc-error.ts";
import type { MethodTraits } from "../../namespaces/known-method.ts";
import { headInReply } from "../announcements.ts";
import type { Upstream } from "../upstream.ts";
import type { TraitsOf } from "../upstream-options.ts";
import { type AgreementRule, rulesByMethod } from "./agreement.ts";
import { CallDriver, type CallDriverParts } from "./call-driver.ts";
import type { CallOptions } from "./call-options.ts";
import type { UpstreamQuestion } from "./decision.ts";
import { NetworkCalls, type NetworkCallsOptions, type NetworkCallsParts } from "./network-calls.ts";

export type DispatcherOptions = NetworkCallsOptions & {
  /** What several vendors must agree on, by method or pattern; the first that fits. */
  readonly agreement: Readonly<Record<string, AgreementRule>>;
};

export type DispatcherParts = NetworkCallsParts & { readonly traitsOf: TraitsOf };

export class Dispatcher {
  #agreementOn: (method: string) => AgreementRule | undefined;
  /** The head that a caller was told last: it falls only when no upstream knows better. */
  #lastHead = 0;
  readonly #network: NetworkCalls;
  #options: DispatcherOptions;
  readonly #traitsOf: TraitsOf;
  readonly #driverParts: CallDriverParts;

  constructor(options: DispatcherOptions, parts: DispatcherParts) {
    this.#options = options;
    this.#traitsOf = parts.traitsOf;
    this.#agreementOn = rulesByMethod(options.agreement);
    this.#network = new NetworkCalls(options, parts);
    this.#driverParts = { clock: parts.clock, network: this.#network };
  }

  reconfigure(options: DispatcherOptions): void {
    this.#options = options;
    this.#agreementOn = rulesByMethod(options.agreement);
    this.#network.reconfigure(options);
  }

  /** How many must say the same to a method; undefined where one upstream's word counts. */
  agreementOn(method: string): AgreementRule | undefined {
    return this.#agreementOn(method);
  }

  /** The upstreams that may be asked now, best first for blocks. */
  bestForBlocks(): readonly Upstream[] {
    return this.#network.bestForBlocks();
  }

  /** An upstream can be asked again, or none will be. */
  resume(): void {
    this.#network.resume();
  }

  /** See `Pool.call`. */
  async call(
    method: string,
    paramsJson: string,
    { signal, options }: { signal: AbortSignal; options: CallOptions },
  ): Promise<Buffer> {
    const { traits = this.#traitsOf(method) } = options;
    const isUncertain = options.crossCheck?.isUncertain ?? this.#headCrossCheck(traits, paramsJson);
    const question = { method, paramsJson, traits, options, isUncertain };
    const reply = await this.#driver(question).outcome(signal);
    if (reply.kind === "refused") throw errors.refusedByNode(reply.code, reply.message, reply.json);
    this.#lastHead = headInReply(traits, paramsJson, reply.json) ?? this.#lastHead;
    return reply.json;
  }

  #driver(question: UpstreamQuestion): CallDriver {
    const view = this.#network;
    const { reader, arrivalOf, isFalse, onFalse, asker, ledger, onReply } = question.options;
    const rule = reader ? undefined : this.#agreementOn(question.method);
    const copies = arrivalOf ? (this.#options.broadcast ?? 1) : 1;
    const state = { question, view, rule, copies, plan: undefined, hasWaited: false };
    if (rule === undefined && copies === 1) {
      view.hedges.earn();
      return new CallDriver(state, this.#driverParts);
    }
    // Several are asked at once, all in one way, and of the call's block nothing is learned.
    const options = { arrivalOf, isFalse, onFalse, asker, ledger, onReply };
    return new CallDriver({ ...state, question: { ...question, options } }, this.#driverParts);
  }

  /** A head that is behind what callers were told, or what upstreams tell, is one upstream's alone. */
  #headCrossCheck(traits: MethodTraits, paramsJson: string): UpstreamQuestion["isUncertain"] {
    if (!traits.tellsHead?.(paramsJson)) return undefined;
    return (reply) => {
      const told =
        reply.kind === "result" ? headInReply(traits, paramsJson, reply.json) : undefined;
      const tolerated = (this.#network.headNumber() ?? 0) - this.#options.toleratedLag;
      return told !== undefined && told < Math.max(this.#lastHead, tolerated);
    };
  }
}
