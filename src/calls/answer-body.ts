// A request body in, a response body out: one envelope, or a batch of them in the order asked.
import type { Logger } from "pino";
import { failure, type RawJson, successAfter, successBefore } from "../jsonrpc/envelope.ts";
import { type Message, readRequest } from "../jsonrpc/request.ts";
import { errors, type RateLimit, RpcError } from "../jsonrpc/rpc-error.ts";
import type { HeadView } from "../methods/method.ts";
import { Call, type Caller } from "./call.ts";
import { type LifeParts, lifeOfACall } from "./life-of-a-call.ts";

/** What the door sends: pieces of JSON to be written one after the other. */
export type Reply = {
  readonly status: number;
  readonly pieces: readonly RawJson[];
  /** Set on a 429. */
  readonly rateLimit?: RateLimit;
};

export type AnswerBody = (body: Buffer, caller: Caller) => Reply | Promise<Reply>;

/** @param options.maxBatch The largest batch, in members. */
export function bodyAnswerer(options: { maxBatch: number }, parts: LifeParts): AnswerBody {
  const live = lifeOfACall(parts);

  const answerMessage = (
    message: Message,
    caller: Caller,
    view?: () => HeadView,
  ): Reply | Promise<Reply> => {
    if (message.kind === "invalid") return refusal(message.id, message.error);
    const failed = (thrown: unknown): Reply => {
      const error = asVisible(thrown, caller, parts.log);
      return refusal(message.id, error);
    };
    try {
      const outcome = live(new Call(message, caller, view));
      return outcome instanceof Promise
        ? outcome.then((result) => success(message.id, result), failed)
        : success(message.id, outcome);
    } catch (thrown) {
      return failed(thrown);
    }
  };

  return (body, caller) => {
    const request = readRequest(body, options.maxBatch);
    if (request.kind === "single") return answerMessage(request.message, caller);
    const view = sharedView(caller, request.messages.length);
    return joinBatch(request.messages.map((message) => answerMessage(message, caller, view)));
  };
}

const success = (id: string, result: RawJson): Reply => ({
  status: 200,
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

/** One view of the head for all members (decisions: the door), made when the first member looks. */
function sharedView(caller: Caller, members: number): (() => HeadView) | undefined {
  if (members < 2) return undefined; // a batch of one is a lone call
  let view: HeadView | undefined;
  return () => {
    view ??= caller.network.head.batchView(() => caller.scope.signal());
    return view;
  };
}

/** A batch is 200 whatever its members say. */
async function joinBatch(members: readonly (Reply | Promise<Reply>)[]): Promise<Reply> {
  const replies = await Promise.all(members);
  const pieces: RawJson[] = ["["];
  replies.forEach((reply, index) => {
    if (index > 0) pieces.push(",");
    pieces.push(...reply.pieces);
  });
  pieces.push("]");
  return { status: 200, pieces };
}
