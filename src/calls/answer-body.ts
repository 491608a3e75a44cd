// A request body in, a response body out: one envelope, or a batch of them in the order asked.
import type { Logger } from "pino";
import type { AnswerJson } from "../jsonrpc/raw-json.ts";
import { type Message, type RequestBody, readRequest } from "../jsonrpc/request.ts";
import { errors, RpcError } from "../jsonrpc/rpc-error.ts";
import type { Turns } from "../lib/turns.ts";
import type { Provenance } from "../methods/method.ts";
import { AnswerSizes, Batch } from "./batch.ts";
import { Call, type CallParts } from "./call.ts";
import { batchWorkOf } from "./call-work.ts";
import { type Caller, factsFor, type SharedView, viewOf } from "./caller.ts";
import { type LifeParts, lifeOfACall, REFUSED_UNITS, recordUsage } from "./life-of-a-call.ts";
import { type RpcResponse, refusal } from "./response.ts";

export type AnswerBody = (body: Buffer, caller: Caller) => RpcResponse | Promise<RpcResponse>;

/**
 * @param options.maxBatch The largest batch, in members.
 * @param options.batchResponseBytes Of the answers to one.
 */
export function bodyAnswerer(
  options: { maxBatch: number; batchResponseBytes: number },
  parts: LifeParts & { readonly turns: Pick<Turns, "isOver" | "next"> },
): AnswerBody {
  const live = lifeOfACall(parts);
  const sizes = new AnswerSizes();

  const answerMessage = (
    message: Message,
    caller: Caller,
    callParts: CallParts = parts,
  ): RpcResponse | Promise<RpcResponse> => {
    if (message.kind === "invalid") {
      void caller.grant.meter.charge(REFUSED_UNITS, parts.clock.now());
      caller.scope.refused += 1;
      return refusal(message.id, message.error);
    }
    const call = new Call(message, caller, callParts);
    const counted = (response: RpcResponse, error?: RpcError): RpcResponse => {
      call.end();
      recordUsage(call, { pieces: response.pieces, error }, parts);
      return response;
    };
    const succeeded = (result: AnswerJson): RpcResponse =>
      counted(success(message.id, result, call.provenance));
    const failed = (thrown: unknown): RpcResponse => {
      const error = asVisible(thrown, caller, parts.log);
      // A caller that asks too often is refused by its limits alone, and let in as they allow.
      if (error.status >= 400 && error.status < 429) caller.scope.refused += 1;
      return counted(refusal(message.id, error), error);
    };
    try {
      const outcome = live(call);
      return outcome instanceof Promise ? outcome.then(succeeded, failed) : succeeded(outcome);
    } catch (thrown) {
      return failed(thrown);
    }
  };

  /** Before it is parsed: a body is not worth that if it is a batch larger than the key may send. */
  const readFor = (largestBatch: number | undefined, body: Buffer): RequestBody => {
    const { maxBatch } = options;
    const isOwn = largestBatch !== undefined && largestBatch < maxBatch;
    return isOwn
      ? readRequest(body, largestBatch, () => errors.batchTooLargeForKey(largestBatch))
      : readRequest(body, maxBatch);
  };

  const answerNow: AnswerBody = (body, caller) => {
    const { scope, meter } = caller.grant;
    const request = readFor(scope.largestBatch, body);
    if (request.kind === "single") return answerMessage(request.message, caller);
    const { memory } = parts;
    const holder = meter.memory;
    const together = partsOfBatch(caller, request.messages.length, parts);
    const costOf = (name: string): number => parts.costs.of(caller.network.catalogue.find(name));
    const dearest = (): number =>
      Math.max(...request.messages.map((each) => (each.kind === "call" ? costOf(each.method) : 0)));
    if (!memory.admitsBatch(dearest, holder)) throw errors.memoryIsScarce();
    return new Batch(
      request.messages,
      { mostBytes: scope.batchResponseBytes ?? options.batchResponseBytes },
      {
        answer: (message) => answerMessage(message, caller, together),
        expected: (message) =>
          message.kind === "call"
            ? sizes.expected(message.method, () => costOf(message.method))
            : 0,
        saw: (message, bytes) => {
          if (message.kind === "call") sizes.saw(message.method, bytes);
        },
        scope: caller.scope,
        isCalm: () => memory.isCalmFor(holder),
        turns: parts.turns,
      },
    ).answer();
  };
  return (body, caller) =>
    body.length > LARGE && parts.turns.isOver
      ? parts.turns.next().then(() => answerNow(body, caller))
      : answerNow(body, caller);
}

/** In bytes: to read what is larger takes a fifth of a millisecond or more. */
const LARGE = 8_192;

/** @param id JSON text too: the very characters that the caller sent. */
const beforeResult = (id: string): string => `{"jsonrpc":"2.0","id":${id},"result":`;

const success = (
  id: string,
  result: AnswerJson,
  provenance: Provenance = MADE_HERE,
): RpcResponse => ({
  status: 200,
  provenance,
  pieces:
    typeof result === "string"
      ? [`${beforeResult(id)}${result}}`]
      : [beforeResult(id), result, "}"],
});

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
  if (error.status >= 500 && error.retryAfter === undefined && !scope.hasEnded) {
    log.error({ request: requestId, code: error.code, err: error.cause }, error.message);
  }
  return error;
}

const MADE_HERE: Provenance = { source: "local" };

/** One view of the chain for all members (docs/decisions/0004), made when the first member looks. */
function partsOfBatch(caller: Caller, members: number, { clock, costs }: LifeParts): CallParts {
  if (members < 2) return { clock, costs }; // a batch of one is a lone call
  let shared: SharedView | undefined;
  const view = (): SharedView => {
    shared ??= viewOf(caller, true);
    return shared;
  };
  const work = batchWorkOf(factsFor(caller).limits.upstreamCalls);
  return { clock, costs, batch: { view, work } };
}
