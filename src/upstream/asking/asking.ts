// One call on its way to an answer: the nodes in order, the next one when one fails, a second one beside
// the first when that is slow.
import { errors, type RpcError } from "../../jsonrpc/rpc-error.ts";
import type { MethodTraits } from "../../namespaces/known-method.ts";
import { OUTRUN } from "../ask-decisions.ts";
import type { Reply } from "../reply.ts";
import type { Upstream } from "../upstream.ts";
import { BudgetWait, type BudgetWaitParts } from "./budget-wait.ts";
import type { CallOptions, Said } from "./call-options.ts";
import { type Attempt, Doubt } from "./doubt.ts";
import { Queue, type QueuedUpstream } from "./queue.ts";
import { whyNobody } from "./why-nobody.ts";

export type Question = {
  readonly method: string;
  readonly paramsJson: string;
  readonly traits: MethodTraits;
  readonly options: CallOptions;
};

export type AskingParts = {
  /** The nodes in the order in which they are asked. */
  readonly nodes: readonly AskedUpstream[];
  /** Those that may be asked by now; left out where there are no others at all. */
  readonly newcomers?: (() => readonly AskedUpstream[]) | undefined;
  /** The number of the network's head; undefined while none is known. */
  readonly headNumber: number | undefined;
  /** Whether a node lags, so far as it matters to this call; left out where it does not. */
  readonly isBehind?: ((node: AskedUpstream) => boolean) | undefined;
  /** How long a node is waited for before another is asked too, in milliseconds. */
  readonly hedgeDelayMs: number;
  /** Whether one more call may be spent on this. */
  readonly mayHedge: () => boolean;
  /** How long the node took that gave the result, in milliseconds. */
  readonly onAnswered: (ms: number) => void;
  readonly onAskedAgain: (why: Again) => void;
  /** It had no turn at any node. */
  readonly onOccupied: () => void;
} & BudgetWaitParts;

export type AskedUpstream = QueuedUpstream &
  Pick<Upstream, "ask" | "rememberMissing" | "head" | "isElsewhere">;

type Again = "failed" | "doubted" | "slow";
type Running = Attempt<AskedUpstream>;

/** A node that is outrun is listened to for so long: it is measured by that. */
const LISTEN_MS = 1_000;
/** When all were asked and none answers, so often it is looked whether another one is back. */
const LOOK_OUT_MS = 100;
/** No more nodes than that work for one call, when some of them have to be pressed. */
const MOST_AT_ONCE = 3;
/** A limit that was only learned is broken rather than that a call waits longer than that for it. */
const INSISTS_AFTER_MS = 250;
/** What a node never got may be asked of another one, whatever it is. */
const NEVER_SENT =
  /^(ECONNREFUSED|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH|ENETUNREACH|ENOENT|UND_ERR_CONNECT_TIMEOUT|waiting to reconnect)$/;

export class Asking {
  readonly #queue: Queue<AskedUpstream>;
  readonly #running = new Set<Running>();
  readonly #seen: Reply["kind"][] = [];
  readonly #doubt: Doubt;
  #asked = 0;
  /** The shortest wait for a turn that was too long, in milliseconds. */
  #occupiedMs = Number.POSITIVE_INFINITY;
  /** Ends the nodes' work. */
  readonly #ending = new AbortController();
  #isSettled = false;
  readonly #budgetWait: BudgetWait;
  #stopLooking = nothing;
  #stopListening = nothing;
  #resolve: (said: Said) => void = nothing;
  #reject: (error: RpcError) => void = nothing;
  readonly #question: Question;
  readonly #parts: AskingParts;

  constructor(question: Question, parts: AskingParts) {
    this.#question = question;
    this.#parts = parts;
    const { method, options } = question;
    this.#queue = new Queue(parts.nodes, { method, way: options.variant?.name });
    this.#budgetWait = new BudgetWait(parts);
    this.#doubt = new Doubt(
      { usualMs: parts.hedgeDelayMs },
      { clock: parts.clock, running: this.#running, onEnd: () => this.#giveUp() },
    );
  }

  /** @throws RpcError: what `whyNobody` says; 504 with the signal. */
  outcome(signal: AbortSignal): Promise<Said> {
    return new Promise((resolve, reject) => {
      const onAbort = (): void => {
        this.#ending.abort(signal.reason);
        this.#fail(errors.upstreamTimeout());
      };
      const done = (): void => signal.removeEventListener("abort", onAbort);
      this.#resolve = (said) => {
        done();
        resolve(said);
      };
      this.#reject = (error) => {
        done();
        reject(error);
      };
      signal.addEventListener("abort", onAbort, { once: true });
      this.#askNext();
    });
  }

  /** Asks the next node; when there is none and nobody works any more, that is the end. */
  #askNext(why?: Again): void {
    const node = this.#queue.take();
    if (node) {
      if (why) this.#parts.onAskedAgain(why);
      void this.#ask(node);
    } else if (this.#running.size === 0) {
      if (this.#queue.limited > 0) this.#waitForBudget();
      else this.#giveUp();
    }
  }

  async #ask(node: AskedUpstream, isInsistent = false): Promise<void> {
    const { traits, options } = this.#question;
    const attempt: Running = { node, order: this.#asked, call: undefined };
    this.#asked += 1;
    options.ledger?.attempted();
    this.#running.add(attempt);
    if (traits.isHedgeable && !options.reader) this.#watch(attempt);
    const { clock, onAnswered } = this.#parts;
    const sentAt = clock.now();
    const reply = await this.#replyTo(attempt, isInsistent);
    this.#running.delete(attempt);
    if (this.#isSettled && this.#running.size === 0) this.#stopListening();
    if (this.#isSettled) return;
    if (reply.kind === "result") onAnswered(clock.now() - sentAt);
    this.#read(reply, attempt);
  }

  async #replyTo(attempt: Running, isInsistent: boolean): Promise<Reply> {
    const { method, paramsJson, traits, options } = this.#question;
    const { headNumber: head } = this.#parts;
    const { block, variant, reader, isFalse, asker } = options;
    try {
      return await attempt.node.ask(method, paramsJson, this.#ending.signal, {
        traits,
        reader: reader?.(),
        way: variant?.name,
        isFalse,
        place: block === undefined || head === undefined ? undefined : { block, head },
        isInsistent,
        asker,
        onOpen: (call) => {
          attempt.call = call;
        },
      });
    } catch {
      return { kind: "failed", reason: "it could not be asked" };
    }
  }

  /** Another node is asked too when this one takes long. */
  #watch(attempt: Running): void {
    const { clock, hedgeDelayMs, mayHedge, newcomers } = this.#parts;
    this.#stopLooking();
    if (!this.#queue.hasNext && newcomers === undefined) return;
    const { health } = attempt.node;
    const look = (): void => {
      if (this.#running.size === 0) return; // it waits for budget
      if (attempt.call && this.#running.has(attempt)) health.late(attempt.call);
      if (!this.#queue.hasReady) this.#lookOut();
      if (!this.#queue.hasReady) {
        if (newcomers) this.#stopLooking = clock.after(Math.max(LOOK_OUT_MS, hedgeDelayMs), look);
        return;
      }
      // To one that says nothing to anybody the call is lost: that is no hedge.
      if (health.isStalled(this.#question.traits.group) || mayHedge()) this.#askNext("slow");
      else this.#stopLooking = clock.after(hedgeDelayMs, look);
    };
    this.#stopLooking = clock.after(hedgeDelayMs, look);
  }

  /** Whoever asks and is not answered looks for others: who is back, or has budget by now, or may be tried. */
  #lookOut(): void {
    const queue = this.#queue;
    queue.add(this.#parts.newcomers?.() ?? []);
    queue.comeBack();
    if (queue.hasReady || this.#running.size > MOST_AT_ONCE) return;
    const willing = queue.insistent;
    if (willing) void this.#ask(queue.takeLimited(willing), true);
  }

  #read(reply: Reply, attempt: Running): void {
    switch (reply.kind) {
      case "result":
      case "refused":
        this.#hear(reply, attempt);
        return;
      case "aborted":
        this.#fail(errors.upstreamTimeout());
        return;
      case "busy":
        this.#queue.giveBack(attempt.node);
        this.#askNext("failed");
        return;
      default:
        if (reply.kind === "occupied") this.#occupiedMs = Math.min(this.#occupiedMs, reply.waitMs);
        if (reply.kind === "failed" && reply.isCrowded) {
          this.#fail(errors.memoryIsScarce());
          return;
        }
        this.#seen.push(reply.kind);
        if (this.#mayAskAnother(reply)) this.#askNext("failed");
        else if (this.#running.size === 0) this.#giveUp();
    }
  }

  #hear(reply: Said, attempt: Running): void {
    const { node, order } = attempt;
    const { variant, isDoubtful } = this.#question.options;
    if (variant?.isMissing(reply)) {
      node.rememberMissing(variant.name);
      this.#seen.push("missing");
      this.#askNext("failed");
      return;
    }
    const isLacking = reply.kind === "refused" && reply.lacks !== undefined;
    const isDoubted = isDoubtful?.(reply) ?? false; // told of all that is said, whatever it is taken for
    if (!isLacking && !isDoubted) {
      if (!this.#isHasty(attempt)) this.#settle(reply);
      else if (!this.#doubt.said) this.#doubt.begin(reply, order);
      return;
    }
    if (!this.#doubt.said) {
      this.#doubt.begin(reply, order);
      if (this.#doubt.isPerhapsAll) this.#queue.dropOpen(this.#question.traits.group);
    }
    this.#askNext("doubted");
  }

  /** A node that lags was only asked since better ones are slow: those are waited for a little more. */
  #isHasty({ node, order }: Running): boolean {
    const isOvertaking = [...this.#running].some((other) => other.order < order);
    return isOvertaking && (this.#parts.isBehind?.(node) ?? false);
  }

  #mayAskAnother(reply: Reply): boolean {
    if (this.#question.traits.isRepeatable) return true;
    if (reply.kind === "missing" || reply.kind === "occupied") return true;
    return reply.kind === "failed" && NEVER_SENT.test(reply.reason);
  }

  #waitForBudget(): void {
    this.#queue.add(this.#parts.newcomers?.() ?? []);
    if (this.#queue.hasReady) {
      this.#askNext();
      return;
    }
    const again = (): void => {
      this.#queue.comeBack();
      this.#askNext();
    };
    const { isPerhapsAll } = this.#doubt;
    const willing = isPerhapsAll ? undefined : this.#queue.insistent;
    const doubtMs = isPerhapsAll ? this.#doubt.patienceMs : undefined;
    const patienceMs = willing ? INSISTS_AFTER_MS : doubtMs;
    if (this.#budgetWait.begin(this.#queue.soonestMs, again, patienceMs)) return;
    if (willing) void this.#ask(this.#queue.takeLimited(willing), true);
    else this.#giveUp();
  }

  #giveUp(): void {
    const { said } = this.#doubt;
    if (said) {
      this.#settle(said);
      return;
    }
    const { missing, limited } = this.#queue;
    const others = [
      ...Array<"missing">(missing).fill("missing"),
      ...Array<"busy">(limited).fill("busy"),
    ];
    const { method } = this.#question;
    const error = whyNobody([...this.#seen, ...others], { method, waitMs: this.#occupiedMs });
    if (error.retryAfter !== undefined) this.#parts.onOccupied();
    this.#fail(error);
  }

  #settle(reply: Said): void {
    this.#end();
    this.#resolve(reply);
  }

  #fail(error: RpcError): void {
    if (this.#isSettled) return;
    this.#end();
    this.#reject(error);
  }

  #end(): void {
    this.#isSettled = true;
    this.#stopLooking();
    this.#doubt.stop();
    this.#budgetWait.stop();
    if (this.#running.size === 0 || this.#ending.signal.aborted) return;
    this.#stopListening = this.#parts.clock.after(LISTEN_MS, () => this.#ending.abort(OUTRUN));
  }
}

const nothing = (): void => undefined;
