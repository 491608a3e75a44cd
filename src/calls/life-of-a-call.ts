// The life of a call, from the request's body to the response: reads the body, takes each call through its steps in order
// (authorize, charge, check, answer), records its end, and splices its result into an envelope.

import type { Logger } from "pino";
import type { Costs } from "../access/limits/meter.ts";
import type { Config } from "../config/schema.ts";
import { readPlainCall } from "../jsonrpc/plain-call.ts";
import {
  type AnswerJson,
  AROUND_RESULT,
  BatchResponseBuffer,
  BorrowedJson,
  beforeResult,
  bytesOf,
  lengthOf,
  ownedJson,
} from "../jsonrpc/raw-json.ts";
import { type Message, type RequestBody, readOther, readRequest } from "../jsonrpc/request.ts";
import {
  errors,
  isNoAnswer,
  isTooMuchWork,
  type RateLimit,
  RpcError,
  ruleOf,
  withSilence,
} from "../jsonrpc/rpc-error.ts";
import type { Clock } from "../lib/clock.ts";
import type { MemoryBudget } from "../lib/memory-budget.ts";
import type { Turns } from "../lib/turns.ts";
import {
  type BorrowableAnswer,
  checkAddresses,
  checkParams,
  type Provenance,
} from "../methods/method.ts";
import type { CallRecord, Metrics } from "../observe/metrics.ts";
import type { Stories } from "../observe/stories.ts";
import type { Story } from "../observe/story.ts";
import { AnswerSizes, Batch } from "./batch.ts";
import { batchWorkOf, Call, type CallParts, forbidden } from "./call.ts";
import { type Caller, factsFor, type SharedView, viewOf } from "./caller.ts";
import { explained, type RpcResponse, refusal } from "./response.ts";

export type LifeParts = {
  readonly clock: Pick<Clock, "now" | "sleep">;
  readonly metrics: Pick<Metrics, "callEnded" | "callSaved" | "callBounded">;
  readonly costs: Pick<Costs, "of">;
  readonly memory: Pick<MemoryBudget, "admitCall" | "admitBatch" | "isCalmFor">;
  /** Left out: no call has a story. */
  readonly stories?:
    | Pick<Stories, "isOn" | "begin" | "beginBatch" | "ended" | "explanation">
    | undefined;
  readonly log: Logger;
};

export type AnswerBodyOptions = Pick<Config["limits"], "batch" | "batchResponseBytes">;

export type AnswerBodyParts = LifeParts & {
  readonly turns: Pick<Turns, "enter" | "join" | "next">;
};

/** Answers the body of a request: with one envelope, or with a batch of envelopes in the order of the calls. */
export class BodyAnswerer {
  #options: AnswerBodyOptions;
  #parts: AnswerBodyParts;
  readonly #sizes = new AnswerSizes();

  constructor(options: AnswerBodyOptions, parts: AnswerBodyParts) {
    this.#options = options;
    this.#parts = parts;
  }

  /** Takes effect with the next body. */
  reconfigure(options: AnswerBodyOptions, costs: AnswerBodyParts["costs"]): void {
    this.#options = options;
    this.#parts = { ...this.#parts, costs };
  }

  /** @throws RpcError for the body as a whole: no JSON, too large, or scarce memory. Errors of calls become responses. */
  answer(body: Buffer, caller: Caller): RpcResponse | Promise<RpcResponse> {
    const { turns } = this.#parts;
    return body.length > LARGE && turns.enter() === "over"
      ? turns.next().then(() => this.#answerNow(body, caller))
      : this.#answerNow(body, caller);
  }

  /** The refusal of a body whose calls are not answered, with the id of its call where the body is a single call. */
  refuse(body: Buffer, error: RpcError): RpcResponse {
    try {
      const request = readRequest(body, this.#options.batch);
      return refusal(request.kind === "single" ? request.message.id : "null", error);
    } catch {
      return refusal("null", error);
    }
  }

  #answerNow(body: Buffer, caller: Caller): RpcResponse | Promise<RpcResponse> {
    const lone = { caller, callParts: this.#parts };
    const plain = readPlainCall(body);
    if (plain) return answerMessage(plain, lone, this.#parts);
    const request = this.#readOther(body, caller);
    return request.kind === "single"
      ? answerMessage(request.message, lone, this.#parts)
      : this.#answerBatch(request.messages, caller);
  }

  /** Reads a body under the key's own limit of members where that is lower: a larger batch is not worth parsing. */
  #readOther(body: Buffer, { grant }: Caller): RequestBody {
    const { batch: maxBatch } = this.#options;
    const { largestBatch } = grant.scope;
    return largestBatch !== undefined && largestBatch < maxBatch
      ? readOther(body, largestBatch, () => errors.batchTooLargeForKey(largestBatch))
      : readOther(body, maxBatch);
  }

  #answerBatch(messages: readonly Message[], caller: Caller): RpcResponse | Promise<RpcResponse> {
    const { memory, turns, costs, stories } = this.#parts;
    const { scope, meter } = caller.grant;
    const sizes = this.#sizes;
    const story = stories?.isOn ? stories.beginBatch(caller) : undefined;
    const callParts = partsOfBatch(caller, messages.length, this.#parts);
    const buffer = new BatchResponseBuffer(messages.length);
    const lives: Lives = { caller, callParts, isBatch: true, story, buffer };
    const priceOf = (method: string): number =>
      costs.of(caller.network.catalogue.served.get(method));
    const dearest = (): number =>
      Math.max(0, ...messages.map((each) => (each.kind === "call" ? priceOf(each.method) : 0)));
    if (!memory.admitBatch(dearest, meter.memory)) throw errors.memoryIsScarce();
    const mostBytes = scope.batchResponseBytes ?? this.#options.batchResponseBytes;
    const batch = new Batch(
      messages,
      { mostBytes },
      {
        answer: (message) => answerMessage(message, lives, this.#parts),
        expected: (message) =>
          message.kind === "call" ? sizes.expected(message.method, priceOf) : 0,
        saw: (message, bytes) => {
          if (message.kind === "call") sizes.saw(message.method, bytes);
        },
        scope: caller.scope,
        isCalm: () => memory.isCalmFor(meter.memory),
        buffer,
        turns,
      },
    );
    const response = batch.answer();
    return story ? whenAnswered(response, story, messages.length, this.#parts) : response;
  }
}

/** In bytes: reading a larger body takes a fifth of a millisecond or more. */
const LARGE = 8_192;

/** The caller of one body, and the parts that its calls share. */
type Lives = {
  readonly caller: Caller;
  readonly callParts: CallParts;
  readonly isBatch?: boolean;
  /** The record of the batch's life; undefined where no record is kept. */
  readonly story?: Story | undefined;
  /** The memory into which the answers of the batch are written. */
  readonly buffer?: BatchResponseBuffer;
};

/** The parts of a batch's calls: one view of the chain for all (docs/decisions/0004), made when a member needs it. */
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

/** Never throws: an error becomes the response. */
function answerMessage(
  message: Message,
  lives: Lives,
  parts: LifeParts,
): RpcResponse | Promise<RpcResponse> {
  const { caller, callParts } = lives;
  if (message.kind === "invalid") {
    void caller.grant.meter.charge(REFUSED_UNITS, parts.clock.now());
    caller.scope.refused += 1;
    return refusal(message.id, message.error);
  }
  const call = new Call(message, caller, callParts);
  const { stories } = parts;
  if (stories?.isOn || caller.grant.scope.mayExplain)
    call.story = stories?.begin(caller, lives.isBatch === true, lives.story);
  return runCall(call, parts, lives.buffer);
}

function succeeded(
  call: Call,
  given: AnswerJson | BorrowedJson,
  parts: LifeParts,
  buffer?: BatchResponseBuffer,
): RpcResponse {
  let answered: Pick<RpcResponse, "pieces" | "bytes">;
  try {
    answered = enveloped(call, given, buffer);
  } catch (error) {
    return failed(call, error, parts); // the result may be too long for a string of V8
  }
  const { pieces, bytes } = answered;
  call.end();
  recordUsage(call, { bytes }, parts);
  const provenance = call.provenance ?? MADE_HERE;
  const response = { status: 200, provenance, pieces, bytes };
  return call.story ? endStory(call, call.story, { response }, parts) : response;
}

/** The envelope around a result. @param buffer The memory for the answers of a batch's members. */
function enveloped(
  { message: { id }, isInBatch }: Call,
  given: AnswerJson | BorrowedJson,
  buffer?: BatchResponseBuffer,
): Pick<RpcResponse, "pieces" | "bytes"> {
  if (buffer && given instanceof BorrowedJson) {
    const put = buffer.put(id, given);
    if (put) return { pieces: [put], bytes: put.length };
  }
  const before = beforeResult(id);
  const result = ownedJson(given);
  // A lone text leaves as one piece. The texts of a batch are written one by one, so joining each of them first is waste.
  const isOneText = typeof result === "string" && !isInBatch;
  const pieces = isOneText ? [`${before}${result}}`] : [before, result, "}"];
  // The parts are measured, not the joined text: V8 flattens a concatenated text first, which is slow.
  return { pieces, bytes: AROUND_RESULT + bytesOf(id) + lengthOf([result]) };
}

function failed(call: Call, thrown: unknown, parts: LifeParts): RpcResponse {
  const { caller, message } = call;
  const { requestId, scope } = caller;
  const told = isNoAnswer(thrown) ? withSilence(thrown, caller.network.chain?.silence) : thrown;
  const error = visibleError(told, { requestId, scope, story: call.story }, parts.log);
  // A 429 does not count: the key's limits alone delay such a caller, and it may call again as soon as they allow it.
  if (error.status >= 400 && error.status < 429) caller.scope.refused += 1;
  const response = refusal(message.id, error);
  call.end();
  recordUsage(call, { bytes: response.bytes, error }, parts);
  return call.story ? endStory(call, call.story, { response, error }, parts) : response;
}

/** Ends the call's story, and adds it to the response where the caller asked for an explanation. */
function endStory(
  call: Call,
  story: Story,
  given: { readonly response: RpcResponse; readonly error?: RpcError },
  { stories }: LifeParts,
): RpcResponse {
  const { response, error } = given;
  const { source = "local", proof, block, staleMs } = call.provenance ?? {};
  stories?.ended(story, {
    method: call.label,
    id: call.message.id.slice(0, MOST_ID),
    outcome: outcomeOf(error),
    code: error?.code,
    source: call.hasOnlyJoined ? "merged" : source,
    proof,
    block,
    staleMs,
    computeUnits: call.computeUnits,
    bytes: response.bytes,
  });
  const { explainedIn } = story.options;
  return explainedIn && stories
    ? explained(response, explainedIn, stories.explanation(story))
    : response;
}

/** Ends the story of a batch when its answer begins: the rest of a streamed answer is made while the caller takes it. */
async function whenAnswered(
  response: RpcResponse | Promise<RpcResponse>,
  story: Story,
  members: number,
  { stories }: LifeParts,
): Promise<RpcResponse> {
  const begun = await response;
  stories?.ended(story, { ...BATCH, members, bytes: begun.bytes });
  return begun;
}

/** In characters: the longest id in a story, since the caller chooses the id. */
const MOST_ID = 64;

const BATCH = { method: "batch", id: "null", outcome: "ok", source: "local" } as const;

const MADE_HERE: Provenance = { source: "local" };

/**
 * The error that the caller gets for a thrown value. Logs a 5xx, unless it tells the caller to retry (`retryAfter`) or
 * the caller had left: then its calls were aborted, and nothing failed.
 */
export function visibleError(
  thrown: unknown,
  {
    requestId,
    scope,
    story,
  }: Pick<Caller, "requestId" | "scope"> & { readonly story?: Story | undefined },
  log: Logger,
): RpcError {
  const error = thrown instanceof RpcError ? thrown : errors.internal(requestId, thrown);
  if (error.status >= 500 && error.retryAfter === undefined && !scope.hasEnded) {
    log.error(
      { request: requestId, ...story?.logged, code: error.code, err: error.cause },
      error.message,
    );
  }
  return error;
}

/**
 * Takes a call through its steps, and records its end. An answer that is ready is returned without a promise; else there
 * is one promise from the method to the response, since a batch has many members.
 *
 * @param buffer The memory for an answer that is ready at once.
 */
export function runCall(
  call: Call,
  parts: LifeParts,
  buffer?: BatchResponseBuffer,
): RpcResponse | Promise<RpcResponse> {
  const startedAt = parts.clock.now();
  let outcome: BorrowableAnswer;
  try {
    authorize(call, startedAt);
    call.story?.reached("authorized");
    outcome = charged(call, startedAt, parts);
  } catch (error) {
    recordEnd(call, { startedAt, error }, parts);
    return failed(call, error, parts);
  }
  if (!(outcome instanceof Promise)) {
    recordEnd(call, { startedAt }, parts);
    return succeeded(call, outcome, parts, buffer);
  }
  return outcome.then(
    (result) => {
      recordEnd(call, { startedAt }, parts);
      return succeeded(call, result, parts);
    },
    (error: unknown) => {
      recordEnd(call, { startedAt, error }, parts);
      return failed(call, error, parts);
    },
  );
}

/** In compute units: the price of a forbidden call, or of an invalid message, for its reading. */
const REFUSED_UNITS = 1;

function authorize(call: Call, nowMs: number): void {
  const { scope, meter } = call.caller.grant;
  const rule = scope.forbidsCall(call);
  if (!rule) return;
  const short = meter.charge(REFUSED_UNITS, nowMs);
  // The refusal does not wait for a reservation of units.
  if (!(short instanceof Promise)) {
    refuse(short);
    call.chargedUnits = REFUSED_UNITS;
  }
  throw forbidden(rule);
}

/** Begins and charges the call, then answers it. Malformed calls pay too: the parameters are checked after the charge. */
function charged(call: Call, nowMs: number, { costs, memory }: LifeParts): BorrowableAnswer {
  const { meter } = call.caller.grant;
  const cost = costs.of(call.method);
  if (!call.isInBatch && !memory.admitCall(cost, meter.memory)) throw errors.memoryIsScarce();
  refuse(meter.begin());
  call.isRunning = true;
  const short = meter.charge(cost, nowMs);
  if (short instanceof Promise) return whenCharged(short, cost, call);
  refuse(short);
  call.chargedUnits = cost;
  return answer(call);
}

const refuse = (short: RateLimit | undefined): void => {
  if (short) throw errors.rateLimited(short);
};

async function whenCharged(
  short: Promise<RateLimit | undefined>,
  cost: number,
  call: Call,
): Promise<AnswerJson> {
  refuse(await short);
  call.chargedUnits = cost;
  return ownedJson(answer(call));
}

/** Checks the parameters, and calls the method. */
function answer(call: Call): BorrowableAnswer {
  call.story?.reached("charged");
  if (!call.method) throw call.notFound();
  const { family, chainId } = call.network;
  const { ambiguity } = call.message;
  if (ambiguity !== undefined)
    throw errors.invalidParams(`invalid params: ${ambiguity}`, call.method.badParamsStatus);
  const args = checkParams(call.method, call.message.params);
  if (family === "conflux") checkAddresses(call.message.params, chainId);
  return call.method.answer(args, call);
}

function recordEnd(
  call: Call,
  { startedAt, error }: { readonly startedAt: number; readonly error?: unknown },
  { clock, metrics, log }: LifeParts,
): void {
  const outcome = outcomeOf(error);
  if (call.isRunning) call.caller.grant.meter.end();
  const seconds = (clock.now() - startedAt) / 1000;
  const { label: method, computeUnits } = call;
  const { name: network } = call.network;
  if (error !== undefined && isTooMuchWork(error)) metrics.callBounded(network, "work");
  metrics.callEnded({ network, method, outcome, computeUnits, seconds });
  if (log.isLevelEnabled("debug")) {
    const { requestId: request, grant } = call.caller;
    const code = error instanceof RpcError ? error.code : undefined;
    const about = { request, network, key: grant.name, ...call.story?.logged };
    log.debug({ ...about, method, outcome, code, seconds }, "call");
  }
}

/** @param error undefined: the call succeeded. */
const outcomeOf = (error: unknown): CallRecord["outcome"] => {
  if (error === undefined) return "ok";
  if (!(error instanceof RpcError) || error.status === 500) return "failed";
  return error.status > 500 ? "unavailable" : "refused";
};

/** The statuses with which the gateway refuses a call: forbidden (403), not now (429). No node's refusal has them. */
const REFUSED: readonly number[] = [403, 429];

/** Counts an answered call as usage of its key. @param answer The length of the answer in bytes, and the error in it. */
export function recordUsage(
  call: Call,
  { bytes, error }: { readonly bytes: number; readonly error?: RpcError | undefined },
  { metrics }: Pick<LifeParts, "metrics">,
): void {
  const { name: network } = call.network;
  const isRefused = error !== undefined && REFUSED.includes(error.status);
  // A node would have answered with the error too, so an error saves nothing.
  const saved = error ? undefined : call.saving;
  if (saved !== undefined) metrics.callSaved(network, saved);
  call.caller.grant.usage.record({
    network,
    method: call.label,
    computeUnits: call.computeUnits,
    bytes,
    requestBytes: call.message.json.length,
    outcome: isRefused ? "refused" : error ? "error" : "ok",
    refusedBy: isRefused ? ruleOf(error) : undefined,
    saved,
    upstreamCalls: call.upstreamCalls,
  });
}
