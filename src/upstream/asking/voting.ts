// One call asked of several vendors at once: the first answer that enough of them give.
import { errors, type RpcError } from "../../jsonrpc/rpc-error.ts";
import type { Clock } from "../../lib/clock.ts";
import type { MethodTraits } from "../../namespaces/known-method.ts";
import type { Reply } from "../reply.ts";
import type { Upstream } from "../upstream.ts";
import {
  type AgreementRule,
  isSameSaying,
  ofDifferentVendors,
  type Vote,
  verdictOf,
} from "./agreement.ts";
import type { CallOptions, Said } from "./call-options.ts";

export type Voter = Pick<Upstream, "name" | "ask" | "isMissing" | "options">;

export type Ballot = {
  readonly method: string;
  readonly paramsJson: string;
  readonly traits: MethodTraits;
  readonly rule: AgreementRule;
  readonly options: Pick<CallOptions, "isDoubtful" | "isFalse" | "asker" | "ledger">;
};

export type VotingParts = {
  readonly clock: Pick<Clock, "sleep">;
  /** Best first. */
  readonly nodes: readonly Voter[];
  /** A node said something else than the others agreed on. */
  readonly onDissent: (name: string) => void;
};

/** Who does not have the newest block yet is asked again. */
const NEW_BLOCK = { tries: 4, everyMs: 250 };

export class Voting {
  /** Who is asked when another one cannot answer. */
  readonly #reserve: Voter[];
  readonly #votes: Vote[] = [];
  /** Answers like null from a node that may lag: they count when nobody has a better one. */
  readonly #doubtful: Vote[] = [];
  #outstanding = 0;
  /** A vendor was not asked: too much waits for it. */
  #isOccupied = false;
  #agreed: Said | undefined;
  readonly #ending = new AbortController();
  #settle: (outcome: Said | Error) => void = () => undefined;
  readonly #ballot: Ballot;
  readonly #parts: VotingParts;

  constructor(ballot: Ballot, parts: VotingParts) {
    this.#ballot = ballot;
    this.#parts = parts;
    const able = parts.nodes.filter((node) => !node.isMissing(ballot.method));
    this.#reserve = [...ofDifferentVendors(able)];
  }

  /**
   * @throws RpcError: 502 when they disagree, 503 when too few vendors can be asked, 504 with the
   * signal; -32601 when none has the method.
   */
  outcome(signal: AbortSignal): Promise<Said> {
    const { rule, method } = this.#ballot;
    if (this.#reserve.length === 0) throw errors.methodNotFound(method);
    if (this.#reserve.length < rule.agree) throw errors.tooFewVendors(rule.agree);
    return new Promise((resolve, reject) => {
      const onAbort = (): void => this.#settle(errors.upstreamTimeout());
      this.#settle = (outcome) => {
        signal.removeEventListener("abort", onAbort);
        if (outcome instanceof Error) this.#ending.abort();
        else this.#agreed = outcome;
        this.#settle = () => undefined;
        if (outcome instanceof Error) reject(outcome);
        else resolve(outcome);
      };
      signal.addEventListener("abort", onAbort, { once: true });
      for (const node of this.#reserve.splice(0, rule.ask)) void this.#ask(node);
    });
  }

  async #ask(node: Voter): Promise<void> {
    this.#outstanding += 1;
    const reply = await this.#replyOf(node);
    this.#outstanding -= 1;
    if (reply.kind === "result" || reply.kind === "refused") this.#hear({ name: node.name, reply });
    else {
      this.#isOccupied ||= reply.kind === "occupied";
      const [next] = this.#agreed ? [] : this.#reserve.splice(0, 1);
      if (next) void this.#ask(next);
    }
    this.#count();
  }

  async #replyOf(node: Voter): Promise<Reply> {
    const { method, paramsJson, traits, options } = this.#ballot;
    const { isFalse, asker, ledger } = options;
    const { signal } = this.#ending;
    for (let tries = 1; ; tries += 1) {
      ledger?.attempted();
      const reply = await node.ask(method, paramsJson, signal, { traits, isFalse, asker });
      const isBehind = reply.kind === "refused" && reply.lacks === "block";
      if (!isBehind || tries >= NEW_BLOCK.tries || signal.aborted || this.#agreed) return reply;
      await this.#parts.clock.sleep(NEW_BLOCK.everyMs, signal).catch(() => undefined);
    }
  }

  #hear(vote: Vote): void {
    const { reply } = vote;
    const isLacking = reply.kind === "refused" && reply.lacks !== undefined;
    const isDoubtful = isLacking || this.#ballot.options.isDoubtful?.(reply);
    (isDoubtful ? this.#doubtful : this.#votes).push(vote);
    // The others agreed without waiting for this one.
    if (this.#agreed && !isDoubtful && !isSameSaying(this.#agreed, reply))
      this.#parts.onDissent(vote.name);
  }

  #whyNot(): RpcError {
    if (this.#isOccupied) return errors.upstreamsOccupied(1);
    return this.#votes.length > 1 ? errors.upstreamsDisagree() : errors.upstreamsFailed();
  }

  #count(): void {
    if (this.#agreed) return;
    const { rule } = this.#ballot;
    const isLast = this.#outstanding === 0;
    const votes = isLast ? [...this.#votes, ...this.#doubtful] : this.#votes;
    const verdict = verdictOf(votes, rule.agree);
    if (verdict.kind === "agreed") {
      this.#settle(verdict.reply);
      for (const name of verdict.dissenters) this.#parts.onDissent(name);
    } else if (isLast) {
      for (const { name } of this.#votes) this.#parts.onDissent(name);
      this.#settle(this.#whyNot());
    }
  }
}
