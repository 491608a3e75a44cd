// One transaction sent to several upstreams at once: the first that takes it answers. The others are left to
// finish: an upstream that takes it too spreads it sooner.
import { errors, type RpcError } from "../../jsonrpc/rpc-error.ts";
import type { Reply } from "../reply.ts";
import type { Upstream } from "../upstream.ts";
import { AtOnce } from "./at-once.ts";
import type { FinalReply } from "./call-options.ts";
import {
  type AskingEvent,
  type Decision,
  FOR_REPLIES,
  NEVER,
  type Settlement,
  settlementOf,
  type UpstreamQuestion,
  whyNobody,
} from "./decision.ts";

/** So long a refusal waits for another upstream to take the transaction after all. */
const REFUSAL_TIMEOUT_MS = 1_000;

export class Broadcast {
  readonly #attempts: AtOnce;
  readonly #failures: Reply["kind"][] = [];
  /** The refusal that says most. */
  #refusal: { readonly reply: FinalReply; readonly arrival: number } | undefined;
  #refusedUntilMs = NEVER;
  #settled: Settlement | undefined;
  readonly #question: UpstreamQuestion;

  /** @param count To how many it is sent. */
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
    return this.#settle(this.#refusal?.reply ?? whyNobody(this.#failures, this.#question));
  }

  #settle(outcome: FinalReply | RpcError): Settlement {
    this.#settled = settlementOf(outcome);
    return this.#settled;
  }
}
