// One transaction sent to several nodes at once: the first that takes it answers. The others are left to
// finish: whoever takes it too spreads it sooner.
import { errors, type RpcError } from "../../jsonrpc/rpc-error.ts";
import type { Clock } from "../../lib/clock.ts";
import type { MethodTraits } from "../../namespaces/known-method.ts";
import type { Reply } from "../reply.ts";
import type { Upstream } from "../upstream.ts";
import type { CallOptions, Said } from "./call-options.ts";
import { whyNobody } from "./why-nobody.ts";

export type BroadcastQuestion = {
  readonly method: string;
  readonly paramsJson: string;
  readonly traits: MethodTraits;
  /** To how many it is sent. */
  readonly count: number;
  readonly options: Pick<CallOptions, "isFalse" | "asker" | "ledger"> &
    Required<Pick<CallOptions, "arrivalOf">>;
};

export type BroadcastParts = {
  /** Best first. */
  readonly nodes: readonly Pick<Upstream, "ask" | "isMissing">[];
  readonly clock: Pick<Clock, "after">;
};

/** So long a refusal waits for another node to take the transaction after all. */
const PATIENCE_MS = 1_000;

export class Broadcast {
  /** Who is sent it when another one fails. */
  readonly #reserve: BroadcastParts["nodes"][number][];
  #refusal: { said: Said; arrival: number } | undefined;
  readonly #seen: Reply["kind"][] = [];
  #running = 0;
  #cancelPatience = nothing;
  #end: (outcome: Said | RpcError) => void = nothing;
  readonly #ending = new AbortController();
  readonly #question: BroadcastQuestion;
  readonly #parts: BroadcastParts;

  constructor(question: BroadcastQuestion, parts: BroadcastParts) {
    this.#question = question;
    this.#parts = parts;
    this.#reserve = parts.nodes.filter((node) => !node.isMissing(question.method));
  }

  /** @throws RpcError: what `whyNobody` says; 504 with the signal. */
  outcome(signal: AbortSignal): Promise<Said> {
    const { method, count } = this.#question;
    if (this.#reserve.length === 0) throw errors.methodNotFound(method);
    return new Promise((resolve, reject) => {
      const onAbort = (): void => {
        this.#ending.abort(signal.reason);
        this.#end(errors.upstreamTimeout());
      };
      this.#end = (outcome) => {
        this.#end = nothing;
        this.#cancelPatience();
        signal.removeEventListener("abort", onAbort);
        if (outcome instanceof Error) reject(outcome);
        else resolve(outcome);
      };
      signal.addEventListener("abort", onAbort, { once: true });
      for (const node of this.#reserve.splice(0, count)) void this.#send(node);
    });
  }

  async #send(node: BroadcastParts["nodes"][number]): Promise<void> {
    const { method, paramsJson, traits, options } = this.#question;
    this.#running += 1;
    const { isFalse, asker, ledger } = options;
    ledger?.attempted();
    const reply = await node
      .ask(method, paramsJson, this.#ending.signal, { traits, isFalse, asker })
      .catch((): Reply => ({ kind: "failed", reason: "it could not be asked" }));
    this.#running -= 1;
    this.#read(reply);
    if (this.#running === 0) this.#giveUp();
  }

  #read(reply: Reply): void {
    if (reply.kind === "result") {
      this.#end(reply);
    } else if (reply.kind === "refused") {
      this.#hear(reply);
    } else {
      this.#seen.push(reply.kind);
      const [next] = this.#end === nothing ? [] : this.#reserve.splice(0, 1);
      if (next) void this.#send(next);
    }
  }

  #hear(said: Extract<Said, { kind: "refused" }>): void {
    if (this.#end === nothing) return;
    const arrival = this.#question.options.arrivalOf?.(said) ?? 0;
    const isFirst = this.#refusal === undefined;
    if (arrival > (this.#refusal?.arrival ?? -1)) this.#refusal = { said, arrival };
    if (isFirst) this.#cancelPatience = this.#parts.clock.after(PATIENCE_MS, () => this.#giveUp());
  }

  #giveUp(): void {
    const { said } = this.#refusal ?? {};
    this.#end(said ?? whyNobody(this.#seen, this.#question));
  }
}

const nothing = (): void => undefined;
