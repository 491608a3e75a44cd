// A request body in, a response body out: one envelope, or a batch of them in the order asked.
import type { Logger } from "pino";
import { type AnswerJson, failure, successAfter, successBefore } from "../jsonrpc/envelope.ts";
import { type Message, readRequest } from "../jsonrpc/request.ts";
import { errors, type RateLimit, RpcError } from "../jsonrpc/rpc-error.ts";
import type { Note } from "../methods/method.ts";
import { Call } from "./call.ts";
import type { Caller } from "./caller.ts";
import { type LifeParts, lifeOfACall } from "./life-of-a-call.ts";
import { recordUsage } from "./record-usage.ts";
import { type SharedView, viewOf } from "./shared-view.ts";

/** What the door sends: pieces of JSON to be written one after the other. */
export type Reply = {
  readonly status: number;
  readonly pieces: readonly AnswerJson[];
  /** Set on a 429. */
  readonly rateLimit?: RateLimit;
  /** What the answer stands on. */
  readonly notes?: Note | undefined;
};

export type AnswerBody = (body: Buffer, caller: Caller) => Reply | Promise<Reply>;

/** @param options.maxBatch The largest batch, in members. */
export function bodyAnswerer(options: { maxBatch: number }, parts: LifeParts): AnswerBody {
  const live = lifeOfACall(parts);

  const answerMessage = (
    message: Message,
    caller: Caller,
    view?: () => SharedView,
  ): Reply | Promise<Reply> => {
    if (message.kind === "invalid") return refusal(message.id, message.error);
    const call = new Call(message, caller, view);
    const counted = (reply: Reply, error?: RpcError): Reply => {
      recordUsage(call, { pieces: reply.pieces, error }, parts);
      return reply;
    };
    const succeeded = (result: AnswerJson): Reply =>
      counted(success(message.id, result, call.notes));
    const failed = (thrown: unknown): Reply => {
      const error = asVisible(thrown, caller, parts.log);
      return counted(refusal(message.id, error), error);
    };
    try {
      const outcome = live(call);
      return outcome instanceof Promise ? outcome.then(succeeded, failed) : succeeded(outcome);
    } catch (thrown) {
      return failed(thrown);
    }
  };

  return (body, caller) => {
    const request = readRequest(body, options.maxBatch);
    if (request.kind === "single") return answerMessage(request.message, caller);
    const { largestBatch = options.maxBatch } = caller.grant.scope;
    if (request.messages.length > largestBatch) throw errors.batchTooLargeForKey(largestBatch);
    const view = sharedView(caller, request.messages.length);
    return joinBatch(request.messages.map((message) => answerMessage(message, caller, view)));
  };
}

const success = (id: string, result: AnswerJson, notes: Note = MADE_HERE): Reply => ({
  status: 200,
  notes,
  pieces:
    typeof result === "string"
      ? [successBefore(id) + result + successAfter]
      : [successBefore(id), result, successAfter],
});

/** The answer when there is nothing but an error; also for what went wrong before any message was read. */
export function refusal(id: string, error: RpcError): Reply {
  const reply = { status: error.status, pieces: [failure(id, error)] };
  return error.status === 429 ? { ...reply, rateLimit: error.data as RateLimit } : reply;
}

/**
 * What the caller may know about anything that was thrown. Every 5xx leaves a line in the log, unless
 * the caller left before: what was given up for that reason is no fault.
 */
export function asVisible(
  thrown: unknown,
  { requestId, scope }: Pick<Caller, "requestId" | "scope">,
  log: Logger,
): RpcError {
  const error = thrown instanceof RpcError ? thrown : errors.internal(requestId, thrown);
  if (error.status >= 500 && !scope.hasEnded) {
    log.error({ request: requestId, code: error.code, err: error.cause }, error.message);
  }
  return error;
}

const MADE_HERE: Note = { source: "local" };

/** One view of the chain for all members (decisions: the door), made when the first member looks. */
function sharedView(caller: Caller, members: number): (() => SharedView) | undefined {
  if (members < 2) return undefined; // a batch of one is a lone call
  let view: SharedView | undefined;
  return () => {
    view ??= viewOf(caller, true);
    return view;
  };
}

/** A batch is 200 whatever its members say. */
async function joinBatch(members: readonly (Reply | Promise<Reply>)[]): Promise<Reply> {
  const replies = await Promise.all(members);
  const pieces: AnswerJson[] = ["["];
  replies.forEach((reply, index) => {
    if (index > 0) pieces.push(",");
    pieces.push(...reply.pieces);
  });
  pieces.push("]");
  return { status: 200, pieces, notes: commonNotes(replies) };
}

/** Of a batch: the source that all members share, the weakest proof, and the newest block. */
function commonNotes(replies: readonly Reply[]): Note | undefined {
  const notes = replies.map((reply) => reply.notes).filter((note) => note !== undefined);
  const chained = notes.filter(({ source }) => source !== "local");
  const [first] = chained;
  if (!first) return notes[0];
  const isStored = chained.every(({ source }) => source === "store");
  const proofs = chained.map(({ proof }) => proof ?? "none");
  const blocks = chained.map(({ block }) => block).filter((block) => block !== undefined);
  return {
    source: isStored ? "store" : "upstream",
    proof: PROOFS.find((level) => proofs.includes(level)) ?? "none",
    block: blocks.toSorted((a, b) => b.number - a.number)[0],
    isCut: chained.some(({ isCut }) => isCut),
  };
}

const PROOFS = ["none", "partial", "full"] as const;
