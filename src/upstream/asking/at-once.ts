// Plans calls that go to several upstreams at the same time: a quorum, which ends when enough vendors agree, and a
// broadcast of a transaction, which ends with the first acceptance.
import type { NetworkSettings } from "../../config/schema.ts";
import { parsed } from "../../jsonrpc/raw-json.ts";
import { errors, RpcError } from "../../jsonrpc/rpc-error.ts";
import type { Reply } from "../reply.ts";
import type { Upstream } from "../upstream.ts";
import type { FinalReply } from "./call-options.ts";
import {
  type AskingEvent,
  type Attempt,
  type Decision,
  FOR_REPLIES,
  NEVER,
  noAnswerError,
  type ReplyEvent,
  type Settlement,
  settlementOf,
  type UpstreamQuestion,
  type Vote,
} from "./decision.ts";
import { attemptAt, isCrossChecked, isDoubted } from "./one-answer.ts";

/** The attempts at an upstream that does not have the newest block yet, and the pause between two of them. */
const NEW_BLOCK = { tries: 4, everyMs: 250 };

/** Asks several vendors at the same time, and settles with the answer on which `rule.agree` of them agree. */
export class Quorum {
  /** One upstream for each vendor. */
  readonly #attempts: AtOnce;
  /** Upstreams that do not have the block yet, to be asked again. */
  #again: readonly (Pick<Attempt, "upstream" | "tries"> & { readonly atMs: number })[] = [];
  readonly #votes: Vote[] = [];
  /** Answers that need a cross-check, like null from an upstream that may lag: votes only once all have replied. */
  readonly #uncertain: Vote[] = [];
  /** Whether an upstream did not get the call, since too many calls wait for it. */
  #isOccupied = false;
  #settled: Settlement | undefined;
  readonly #question: UpstreamQuestion;
  readonly #rule: AgreementRule;

  constructor(question: UpstreamQuestion, upstreams: readonly Upstream[], rule: AgreementRule) {
    const able = upstreams.filter((upstream) => !upstream.isMissing(question.method));
    this.#attempts = new AtOnce(ofDifferentVendors(able), rule.ask);
    this.#question = question;
    this.#rule = rule;
  }

  next(event: AskingEvent, now: number): Decision {
    if (event.kind === "reply") this.#attempts.underWay -= 1;
    if (this.#settled) return this.#hearLate(this.#settled, event);
    switch (event.kind) {
      case "started":
        return this.#start();
      case "begun":
      case "timer":
        return this.#attempts.askDue() ?? this.#askAgain(now) ?? this.#wait();
      case "reply":
        return this.#read(event, now);
      case "aborted":
        return this.#settle(errors.upstreamTimeout());
    }
  }

  #start(): Decision {
    const { left } = this.#attempts;
    if (left === 0) return this.#settle(errors.methodNotFound(this.#question.method));
    if (left < this.#rule.agree) return this.#settle(errors.tooFewVendors(this.#rule.agree));
    return this.#attempts.askDue() ?? this.#wait();
  }

  #askAgain(now: number): Attempt | undefined {
    const due = this.#again.find(({ atMs }) => atMs <= now);
    this.#again = this.#again.filter((other) => other !== due);
    return due && this.#attempts.ask(due.upstream, due.tries);
  }

  #wait(): Decision {
    if (this.#again.length === 0) return FOR_REPLIES;
    return { ...FOR_REPLIES, untilMs: Math.min(...this.#again.map(({ atMs }) => atMs)) };
  }

  #read({ attempt, reply }: ReplyEvent, now: number): Decision {
    const { upstream, tries } = attempt;
    if (reply.kind !== "result" && reply.kind !== "refused") {
      this.#isOccupied ||= reply.kind === "occupied";
      this.#attempts.replace();
      return this.#attempts.askDue() ?? this.#count();
    }
    if (reply.kind === "refused" && reply.lacks === "block" && tries < NEW_BLOCK.tries) {
      const atMs = now + NEW_BLOCK.everyMs;
      this.#again = [...this.#again, { upstream, tries: tries + 1, atMs }];
      return this.#wait();
    }
    // The vendor may be unable to answer, but also the caller may have chosen the words.
    if (isDoubted(reply)) this.#attempts.replace();
    (isCrossChecked(this.#question, reply) ? this.#uncertain : this.#votes).push({
      name: upstream.name,
      reply,
    });
    return this.#attempts.askDue() ?? this.#count();
  }

  #count(): Decision {
    const isLast = this.#attempts.underWay === 0 && this.#again.length === 0;
    const votes = isLast ? [...this.#votes, ...this.#uncertain] : this.#votes;
    const verdict = verdictOf(votes, this.#rule.agree);
    if (verdict) return this.#settle(verdict.reply, verdict.dissenters);
    if (!isLast) return this.#wait();
    return this.#settle(this.#whyNot(), [...this.#votes]);
  }

  #whyNot(): RpcError {
    if (this.#isOccupied) return errors.upstreamsOccupied(1);
    return this.#votes.length > 1 ? errors.upstreamsDisagree() : errors.upstreamsFailed();
  }

  #settle(outcome: FinalReply | RpcError, dissenters: readonly Vote[] = []): Settlement {
    this.#settled = settlementOf(outcome);
    return { ...this.#settled, dissenters };
  }

  /** Reports a late answer as a dissent where it differs from the agreed one. */
  #hearLate(settled: Settlement, event: AskingEvent): Settlement {
    const { outcome } = settled;
    if (event.kind !== "reply" || outcome instanceof RpcError) return settled;
    const { attempt, reply } = event;
    if (reply.kind !== "result" && reply.kind !== "refused") return settled;
    if (isCrossChecked(this.#question, reply) || isSameAnswer(outcome, reply)) return settled;
    return { ...settled, dissenters: [{ name: attempt.upstream.name, reply }] };
  }
}

/** Makes attempts at several upstreams at the same time, and another one for each that fails. */
class AtOnce {
  underWay = 0;
  #attempts = 0;
  /** The number of attempts to begin now. */
  #due: number;
  readonly #reserve: Upstream[];

  /** @param count The number of upstreams to ask at the same time. */
  constructor(upstreams: readonly Upstream[], count: number) {
    this.#reserve = [...upstreams];
    this.#due = count;
  }

  /** The number of upstreams that have not been asked yet. */
  get left(): number {
    return this.#reserve.length;
  }

  /** Makes another attempt due, in the place of one that failed. */
  replace(): void {
    this.#due += 1;
  }

  /** @returns undefined when no attempt is due, or no upstream is left. */
  askDue(): Attempt | undefined {
    const upstream = this.#due > 0 ? this.#reserve.shift() : undefined;
    this.#due = upstream ? this.#due - 1 : 0;
    return upstream && this.ask(upstream, 1);
  }

  /** @param tries See `Attempt`. */
  ask(upstream: Upstream, tries: number): Attempt {
    this.underWay += 1;
    this.#attempts += 1;
    return { ...attemptAt(upstream, this.#attempts - 1), tries };
  }
}

/** How long the call waits after a first refusal for another upstream to take the transaction, in milliseconds. */
const REFUSAL_TIMEOUT_MS = 1_000;

/**
 * Sends one transaction to several upstreams, and settles with the first acceptance. The other attempts go on, since
 * each node that takes the transaction spreads it sooner.
 */
export class Broadcast {
  readonly #attempts: AtOnce;
  readonly #failures: Reply["kind"][] = [];
  /** The refusal with the highest `Arrival`. */
  #refusal: { readonly reply: FinalReply; readonly arrival: number } | undefined;
  #refusedUntilMs = NEVER;
  #settled: Settlement | undefined;
  readonly #question: UpstreamQuestion;

  /** @param count The number of upstreams that get the transaction. */
  constructor(question: UpstreamQuestion, upstreams: readonly Upstream[], count: number) {
    const able = upstreams.filter((upstream) => !upstream.isMissing(question.method));
    this.#attempts = new AtOnce(able, count);
    this.#question = question;
  }

  next(event: AskingEvent, now: number): Decision {
    if (event.kind === "reply") this.#attempts.underWay -= 1;
    if (this.#settled) return this.#settled;
    if (event.kind === "aborted") return this.#settle(errors.upstreamTimeout());
    if (event.kind === "started" && this.#attempts.left === 0)
      return this.#settle(errors.methodNotFound(this.#question.method));
    if (event.kind === "reply") {
      if (event.reply.kind === "result") return this.#settle(event.reply);
      this.#note(event.reply, now);
    }
    const attempt = this.#attempts.askDue();
    if (attempt) return attempt;
    const isOver = this.#attempts.underWay === 0 || this.#refusedUntilMs <= now;
    return isOver ? this.#giveUp() : { ...FOR_REPLIES, untilMs: this.#refusedUntilMs };
  }

  #note(reply: Reply, now: number): void {
    if (reply.kind !== "refused") {
      this.#failures.push(reply.kind);
      this.#attempts.replace();
      return;
    }
    const arrival = this.#question.options.arrivalOf?.(reply) ?? 0;
    if (!this.#refusal) this.#refusedUntilMs = now + REFUSAL_TIMEOUT_MS;
    if (arrival > (this.#refusal?.arrival ?? -1)) this.#refusal = { reply, arrival };
  }

  #giveUp(): Settlement {
    return this.#settle(this.#refusal?.reply ?? noAnswerError(this.#failures, this.#question));
  }

  #settle(outcome: FinalReply | RpcError): Settlement {
    this.#settled = settlementOf(outcome);
    return this.#settled;
  }
}

export type AgreementRule = NetworkSettings["agreement"][string];

type Verdict = { readonly reply: FinalReply; readonly dissenters: readonly Vote[] };

/** @param agree The number of equal answers that is needed. @returns undefined while there are too few. */
export function verdictOf(votes: readonly Vote[], agree: number): Verdict | undefined {
  const groups = [...Map.groupBy(votes, ({ reply }) => canonicalText(reply)).values()].sort(
    (a, b) => b.length - a.length,
  );
  const [largest = []] = groups;
  const [first] = largest;
  if (!first || largest.length < agree) return undefined;
  return { reply: first.reply, dissenters: votes.filter((vote) => !largest.includes(vote)) };
}

export const isSameAnswer = (a: FinalReply, b: FinalReply): boolean =>
  canonicalText(a) === canonicalText(b);

/** One node of each vendor, in the given order. */
export function ofDifferentVendors<Node extends { readonly options: { readonly vendor: string } }>(
  nodes: readonly Node[],
): readonly Node[] {
  const byVendor = new Map<string, Node>();
  for (const node of nodes) {
    const { vendor } = node.options;
    if (!byVendor.has(vendor)) byVendor.set(vendor, node);
  }
  return [...byVendor.values()];
}

/** A text that is equal for answers which differ only in spaces, letter case, member order or a refusal's words. */
function canonicalText(reply: FinalReply): string {
  if (reply.kind === "result") return `= ${canonical(parsed(reply.json))}`;
  const error = parsed(reply.json) as { data?: unknown } | undefined;
  // Nodes word the same refusal differently, but the data that a revert returned is the same.
  return `! ${reply.code} ${typeof error?.data === "string" ? error.data.toLowerCase() : ""}`;
}

function canonical(value: unknown): string {
  if (typeof value === "string") return JSON.stringify(value.toLowerCase());
  if (Array.isArray(value)) return `[${value.map(canonical).join()}]`;
  if (typeof value !== "object" || value === null) return JSON.stringify(value) ?? "undefined";
  const members = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  return `{${members.map(([name, member]) => `${JSON.stringify(name)}:${canonical(member)}`).join()}}`;
}
