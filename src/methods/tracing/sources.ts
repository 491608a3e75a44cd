// A source is a method, with its options, by which nodes tell what a transaction did. The gateway tries the best source
// first, remembers which nodes lack which source, and translates their results into OpenEthereum's form.

import type { CallObject } from "../../evm/call-object.ts";
import { toQuantity } from "../../evm/values.ts";
import { ambiguityIn } from "../../jsonrpc/ambiguity.ts";
import { isNull } from "../../jsonrpc/raw-json.ts";
import { errors, isMethodMissing, RpcError } from "../../jsonrpc/rpc-error.ts";
import { isAbsent, type Json } from "../../proofs/json.ts";
import { TOO_MANY_STEPS } from "../../traces/gas.ts";
import type { BodyReader } from "../../upstream/connection/connection.ts";
import type { Reply } from "../../upstream/reply.ts";
import { beginningOf, isUnknownRefusal } from "../forwarding.ts";
import type { CallContext } from "../method.ts";
import type { TraceType } from "./kept-parts.ts";
import type { MinedTransaction } from "./mined.ts";

export type Source<Subject, Value> = {
  /** The method, then words for its options. The gateway remembers by this name that a node lacks the source. */
  readonly name: string;
  params(subject: Subject): readonly unknown[];
  /** Reads a node's result; undefined when the result is not of this subject, or cannot be read. */
  read(result: unknown, subject: Subject): Value | undefined;
};

/** A call that a node executes without mining it. */
export type TracedCall = {
  readonly call: CallObject;
  /** As a parameter for nodes: a number, or an object with the hash. */
  readonly block: unknown;
  readonly types: readonly TraceType[];
};

export type SourceAnswer<Value> =
  | { readonly kind: "result"; readonly value: Value }
  /** No node has this source, or gives a result that can be read. */
  | { readonly kind: "missing"; readonly error?: RpcError }
  /** The nodes that have this source do not know the transaction or block. */
  | { readonly kind: "unknown" }
  | { readonly kind: "refused"; readonly error: RpcError };

/**
 * The sources that run a tracer over a mined transaction: over it alone, or over its whole block.
 * @param isAlike Whether a result can be the transaction's, where an older node does not name the transaction.
 */
export const tracerSources = <Value>(
  tracer: { readonly words: string; readonly options: object },
  read: Source<MinedTransaction, Value>["read"],
  isAlike: (result: Json, transaction: MinedTransaction) => boolean,
) => {
  const { words, options } = tracer;
  const readOwn = (results: unknown, transaction: MinedTransaction): Value | undefined =>
    read(resultFor(transaction, results, isAlike), transaction);
  const alone: Source<MinedTransaction, Value> = {
    name: `debug_traceTransaction ${words}`,
    params: ({ hash }) => [hash, options],
    read,
  };
  const byHash: Source<MinedTransaction, Value> = {
    name: `debug_traceBlockByHash ${words}`,
    params: ({ block }) => [block.hash, options],
    read: readOwn,
  };
  const byNumber: Source<MinedTransaction, Value> = {
    name: `debug_traceBlockByNumber ${words}`,
    params: ({ block }) => [toQuantity(block.number), options],
    read: readOwn,
  };
  return { alone, byHash, byNumber };
};

/** The source that runs a tracer over a call. */
export const callSource = <Value>(
  tracer: { readonly words: string; readonly options: object },
  read: (result: unknown) => Value | undefined,
): Source<TracedCall, Value> => ({
  name: `debug_traceCall ${tracer.words}`,
  params: ({ call, block }) => [call, block, tracer.options],
  read,
});

/** The sources of a part of a replay. @param words The words for the options behind the method's name. */
export const replaySources = <Value>(
  type: TraceType,
  words: string,
  read: (replay: unknown) => Value | undefined,
) => {
  const alone: Source<MinedTransaction, Value> = {
    name: `trace_replayTransaction${words}`,
    params: ({ hash }) => [hash, [type]],
    read,
  };
  const inBlock: Source<MinedTransaction, Value> = {
    name: `trace_replayBlockTransactions${words}`,
    params: ({ block }) => [toQuantity(block.number), [type]],
    read: (replays, { hash, index }) => {
      const entry = entryAt(replays, index);
      return isOf(hash, entry["transactionHash"]) ? read(entry) : undefined;
    },
  };
  return { alone, inBlock };
};

/** The result of one transaction in an answer of debug_traceBlockBy…. */
function resultFor(
  transaction: MinedTransaction,
  results: unknown,
  isAlike: (result: Json, transaction: MinedTransaction) => boolean,
): unknown {
  const { txHash, result } = entryAt(results, transaction.index);
  const isOwn = isAbsent(txHash)
    ? isAlike(Object(result) as Json, transaction)
    : isOf(transaction.hash, txHash);
  return isOwn ? result : undefined;
}

const entryAt = (results: unknown, index: number): Json => Object(Object(results)[index]) as Json;

export const isOf = (hash: string, named: unknown): boolean =>
  typeof named === "string" && named.toLowerCase() === hash;

/** Asks the nodes by one source, first those whose head is the followed one. @throws RpcError 429, 503 or 504. */
export async function askSource<Subject, Value>(
  source: Source<Subject, Value>,
  subject: Subject,
  context: CallContext,
): Promise<SourceAnswer<Value>> {
  const paramsJson = JSON.stringify(source.params(subject));
  const valueIn = (json: Buffer): Value | undefined =>
    readOnce({ source, subject, paramsJson }, json);
  try {
    const method = methodOf(source.name);
    const json = await context.ask(method, paramsJson, {
      crossCheck: {
        name: source.name,
        isUncertain: (reply) =>
          mayKnowMore(reply) || (reply.kind === "result" && !valueIn(reply.json)),
      },
      reaches: context.chain?.head.number,
      // A node without debug methods lacks the method, not the tracer.
      ...(method.startsWith("debug_") && {
        variant: { name: source.name, isMissing: isAnotherKind },
      }),
    });
    const value = valueIn(json);
    if (value !== undefined) return { kind: "result", value };
    return { kind: tellsNothing(json) ? "unknown" : "missing" };
  } catch (error) {
    return refusedBy(error);
  }
}

const methodOf = (name: string): string => name.split(" ", 1)[0] ?? name;

function refusedBy(error: unknown): SourceAnswer<never> {
  if (!(error instanceof RpcError)) throw error;
  // Where all nodes fail with one source, another source may still succeed.
  if (error.status === 502) return { kind: "refused", error };
  if (isMethodMissing(error)) return { kind: "missing", error };
  if (error.status !== 200) throw error;
  return isUnknownRefusal(error) ? { kind: "unknown" } : { kind: "refused", error };
}

/**
 * Asks for a result that is read while it arrives.
 * @returns The answer, and the reader that read the result or stopped it; no reader in other cases.
 * @throws RpcError 429, 503 or 504.
 */
export async function askReading<Reader extends StoppableReader>(
  { name, params }: { name: string; params: readonly unknown[] },
  makeReader: () => Reader,
  context: CallContext,
): Promise<{ answer: SourceAnswer<Buffer>; reader: Reader | undefined }> {
  let reader: Reader | undefined;
  let heldBytes = 0;
  const count = (bytes: number): void => {
    context.hold(bytes - heldBytes);
    heldBytes = bytes;
  };
  try {
    const value = await context.ask(methodOf(name), JSON.stringify(params), {
      crossCheck: { name, isUncertain: mayKnowMore },
      reaches: context.chain?.head.number,
      variant: { name, isMissing: isAnotherKind },
      reader: () => {
        const made = makeReader();
        reader = made;
        return counted(made, (bytes) => {
          if (reader === made) count(bytes); // else another node has been asked instead
        });
      },
    });
    return { answer: { kind: "result", value }, reader };
  } catch (error) {
    // A reader that did not stop by itself has read no answer.
    if (reader?.isStopped) return { answer: { kind: "missing" }, reader };
    return { answer: refusedBy(error), reader: undefined };
  } finally {
    count(0);
  }
}

type StoppableReader = BodyReader & {
  readonly isStopped: boolean;
  /** The memory that the reader takes, in bytes. */
  readonly heldBytes: number;
};

const counted = (reader: StoppableReader, count: (bytes: number) => void): BodyReader => ({
  get whenStopped() {
    return reader.whenStopped;
  },
  add: (chunk) => {
    const isWanted = reader.add(chunk);
    count(reader.heldBytes);
    return isWanted;
  },
  finish: () => reader.finish(),
});

/**
 * The value of the first source that some node has, for a subject that is known to exist.
 * @throws RpcError -32601 with the names of the sources when no node has any of them; a node's refusal; 502 to 504.
 */
export async function firstOf<Subject, Value>(
  sources: readonly Source<Subject, Value>[],
  subject: Subject,
  context: CallContext,
): Promise<Value> {
  let refusal: RpcError | undefined;
  const missing: SourceAnswer<Value>[] = [];
  for (const source of sources) {
    const answer = await askSource(source, subject, context);
    if (answer.kind === "result") return answer.value;
    if (answer.kind === "missing") missing.push(answer);
    if (answer.kind === "refused") refusal ??= answer.error;
    // The chain has the subject, but the nodes with this source lag, and no other node can tell.
    if (answer.kind === "unknown") refusal ??= errors.upstreamsFailed();
  }
  const names = sources.map(({ name }) => name);
  throw refusal ?? whyNoSource(missing, names);
}

/** The error when no node has a source. @param names The sources of which a node would need one. */
export const whyNoSource = (
  answers: readonly SourceAnswer<unknown>[],
  names: readonly string[],
): RpcError =>
  // The 503 of a source that only drained nodes have goes first.
  answers.flatMap((each) => (each.kind === "missing" ? (each.error ?? []) : [])).find(isAway) ??
  errors.cannotTrace(names);

const isAway = ({ status }: RpcError): boolean => status === 503;

/** The values read from each result: equal calls at the same time share its bytes, which may be many. */
const readings = new WeakMap<Buffer, Map<string, unknown>>();

type Question<Subject, Value> = {
  readonly source: Source<Subject, Value>;
  readonly subject: Subject;
  readonly paramsJson: string;
};

/** The members by which subjects name their transaction and block. */
type Named = {
  readonly hash?: string;
  readonly position?: { readonly hash: string };
  readonly block?: { readonly hash?: string; readonly position?: { readonly hash: string } };
};

/** The hashes against which a source may hold a result. */
function hashesOf(subject: unknown): string {
  const { hash, position, block } = Object(subject) as Named;
  return [hash, position?.hash, block?.hash, block?.position?.hash].join();
}

/** Reads a result once for all subjects of the same transaction and block. */
function readOnce<Subject, Value>(
  { source, subject, paramsJson }: Question<Subject, Value>,
  json: Buffer,
): Value | undefined {
  const name = `${source.name} ${paramsJson} ${hashesOf(subject)}`;
  const known = readings.get(json) ?? new Map<string, unknown>();
  readings.set(json, known);
  if (!known.has(name)) known.set(name, readWith(source, json, subject));
  return known.get(name) as Value | undefined;
}

function readWith<Subject, Value>(
  source: Source<Subject, Value>,
  json: Buffer,
  subject: Subject,
): Value | undefined {
  if (ambiguityIn(json) !== undefined) return undefined;
  try {
    return source.read(JSON.parse(json.toString()), subject);
  } catch {
    return undefined; // the result is nested too deeply to be read
  }
}

/** Whether the node says with this reply that it lacks the tracer. anvil answers `{}` then. */
const isAnotherKind = (reply: Reply): boolean => {
  if (reply.kind === "refused")
    return (
      NO_SUCH_TRACER.test(beginningOf(reply.message)) &&
      !mayKnowMore(reply) &&
      !isAtWork(reply.message)
    );
  return reply.kind === "result" && /^\{\s*\}$/.test(shortText(reply.json));
};

/** Words about the method or the tracer. They must not match the refusal of one transaction or block. */
const NO_SUCH_TRACER =
  /tracer|ReferenceError|unknown variant|--steps-tracing|(method|module|namespace) .*not (supported|implemented|available|enabled)/i;

/** Whether the tracer itself stopped: geth's words for it also name a tracer, the "server-side tracer function". */
const isAtWork = (message: string): boolean => message.includes(TOO_MANY_STEPS);

/** Whether another node may know the transaction, or still have the state that it needs. */
const mayKnowMore = (reply: Reply): boolean =>
  (reply.kind === "result" && tellsNothing(reply.json)) ||
  (reply.kind === "refused" &&
    (isUnknownRefusal(reply) || PRUNED.test(beginningOf(reply.message))));

const PRUNED =
  /missing trie node|pruned|pruning|(historical|required|old) .*(state|data).*(not|un)available|state .*(not|un)available|distance to target block/i;

/** Whether a result is null, has no traces (every transaction has one), or is anvil's for an unknown transaction. */
const tellsNothing = (json: Buffer): boolean =>
  isNull(json) ||
  /^(\[\s*\]|\{"failed":false,"gas":0,.*"structLogs":\[\]\})$/.test(shortText(json));

const LONGEST_NOTHING = 100;
const shortText = (json: Buffer): string =>
  json.length > LONGEST_NOTHING ? "" : json.toString().trim();
