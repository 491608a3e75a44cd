// How calls are passed on to the upstreams: with the parameters as they came wherever possible, and with the block that
// they name pinned, so that all members of a batch see one head. And how nodes say that they do not have a block or
// transaction.
import { plainReference } from "../evm/block-reference.ts";
import { isQuantity, toNumber, toQuantity } from "../evm/values.ts";
import { isNull } from "../jsonrpc/raw-json.ts";
import { isMethodMissing, RpcError } from "../jsonrpc/rpc-error.ts";
import type { CallOptions, CrossCheckRule } from "../upstream/asking/call-options.ts";
import type { Reply } from "../upstream/reply.ts";

import {
  type CallContext,
  type Declaration,
  defineMethod,
  type Method,
  type Shape,
} from "./method.ts";

type Args = Readonly<Record<string, unknown>>;

/** The parameters as they came, unless the caller wrote nulls: nodes accept fewer of them than the gateway. */
function paramsOf(args: Args, context: Pick<CallContext, "paramsJson">): string {
  return Object.values(args).includes(undefined) ? paramsFrom(args) : context.paramsJson;
}

/** A JSON array of the arguments, without nulls at its end. */
function paramsFrom(args: Args): string {
  const values = Object.values(args);
  while (values.length > 0 && values.at(-1) === undefined) values.pop();
  return JSON.stringify(values);
}

/** As `paramsFrom`, with another value for one argument: all others stay as the caller wrote them where that is simple. */
function paramsWith(
  { given, sent = given, at }: BlockCall,
  { value, json = JSON.stringify(value) }: Written,
  context: Pick<CallContext, "paramsJson">,
): string {
  const written = sent === given && isLast(at, given) && `"${given[at]}"]`;
  const { paramsJson } = context;
  if (written && typeof given[at] === "string" && paramsJson.endsWith(written))
    return `${paramsJson.slice(0, -written.length)}${json}]`;
  return paramsFrom({ ...sent, [at]: value });
}

type Written = { readonly value: unknown; readonly json?: string };

function isLast(name: string, args: Args): boolean {
  let last: string | undefined;
  for (const each in args) last = each;
  return last === name;
}

/** Calls the method with the arguments as they came. */
export const askAsGiven = (method: string, args: Args, context: CallContext): Promise<Buffer> =>
  context.ask(method, paramsOf(args, context));

/** A call with a block parameter, for `askAt`. */
export type BlockCall = {
  readonly given: Args;
  /** The arguments to send, where they differ from those that came. */
  readonly sent?: Args;
  /** The name of the block parameter. */
  readonly at: string;
  /** Whether the method also takes a block by its hash (EIP-1898). */
  readonly takesHash?: boolean;
  /** What is sent for a block that was left out: `latest`, since nodes may require it, or nothing. */
  readonly whenOmitted?: "latest" | "nothing" | undefined;
  readonly hearing?: Hearing;
};

/** What is made of an answer, and of an error. It is part of the call, since a promise behind that of `askAt` would cost more. */
export type Hearing = {
  answered(json: Buffer, call: BlockCall, context: CallContext): Buffer | Promise<Buffer>;
  /** Rejects with what the caller is told, if it does not find another answer. */
  failed(thrown: unknown, call: BlockCall, context: CallContext): Promise<Buffer>;
};

/** The block that a call names; undefined where it names none. */
export const referenceIn = ({ given, at }: BlockCall): unknown => plainReference(given[at]);

/** Calls the method with the block that it names pinned. */
export function askAt(method: string, call: BlockCall, context: CallContext): Promise<Buffer> {
  const pinning = pinnedFor(method, referenceIn(call) ?? "latest", context);
  return pinning instanceof Promise
    ? pinning.then(
        (pinned) => askPinned(method, call, pinned, context),
        (thrown: unknown) => failed(thrown, call, context),
      )
    : askPinned(method, call, pinning, context);
}

/** @param pinned The block: a number, a hash, or what the caller gave where it is not fixed. */
function askPinned(
  method: string,
  call: BlockCall,
  pinned: unknown,
  context: CallContext,
): Promise<Buffer> {
  const { given, at, takesHash = false, whenOmitted = "latest" } = call;
  const isOmitted = given[at] === undefined && pinned === "latest" && whenOmitted === "nothing";
  const block = isOmitted ? undefined : pinned;
  const { chain } = context;
  if (!chain) return heard(context.ask(method, paramsAt(call, block, context)), call, context);
  const number = isQuantity(pinned) ? toNumber(pinned) : undefined;
  const position = number === undefined ? undefined : chain.positionAt(number);
  context.setProvenance({ source: "upstream", block: position, proof: "none" });
  if (!takesHash || !position) return askByNumber(method, call, { block, number }, context);
  // By its hash, so that the answer is of the followed chain, whatever branch a node is on.
  const params = paramsWith(call, hashReference(position.hash), context);
  return context
    .ask(method, params, { crossCheck: BY_NULL, block: number, variant: byHash(method) })
    .then(
      (json) => answered(json, call, context),
      (thrown: unknown) => {
        // No node takes hashes, or none has this block any more.
        if (isMethodMissing(thrown) || saysUnknown(thrown))
          return askByNumber(method, call, { block, number }, context);
        return failed(thrown, call, context);
      },
    );
}

/** The upstream whose chain is followed has the block; another one may lag. */
function askByNumber(
  method: string,
  call: BlockCall,
  { block, number }: { readonly block: unknown; readonly number: number | undefined },
  context: CallContext,
): Promise<Buffer> {
  const params = paramsAt(call, block, context);
  const answer = context.ask(method, params, { crossCheck: BY_NULL, block: number });
  return heard(answer, call, context);
}

function heard(answer: Promise<Buffer>, call: BlockCall, context: CallContext): Promise<Buffer> {
  if (!call.hearing) return answer;
  return answer.then(
    (json) => answered(json, call, context),
    (thrown: unknown) => failed(thrown, call, context),
  );
}

const answered = (json: Buffer, call: BlockCall, context: CallContext): Buffer | Promise<Buffer> =>
  call.hearing ? call.hearing.answered(json, call, context) : json;

function failed(thrown: unknown, call: BlockCall, context: CallContext): Promise<Buffer> {
  if (call.hearing) return call.hearing.failed(thrown, call, context);
  throw thrown;
}

/** As `askAt`, for methods about the argument `block`: null when there is no such block. */
export const askOfBlock = (method: string, given: Args, context: CallContext): Promise<Buffer> =>
  nullWhenUnknown(askAt(method, { given, at: "block" }, context));

/** With the block as it is, or another one. */
const paramsAt = (call: BlockCall, block: unknown, context: CallContext): string =>
  (call.sent ?? call.given) === call.given && block === call.given[call.at]
    ? paramsOf(call.given, context)
    : paramsWith(call, { value: block }, context);

let lastReference: Required<Written> & { readonly hash: string } = {
  ...{ hash: "", value: undefined, json: "" },
};

/** Members of a batch name the same block, one after the other. */
function hashReference(hash: string): Required<Written> {
  if (lastReference.hash === hash) return lastReference;
  const value = { blockHash: hash };
  lastReference = { hash, value, json: JSON.stringify(value) };
  return lastReference;
}

type Variant = NonNullable<CallOptions["variant"]>;

const variantByMethod = new Map<string, Variant>();

/** The way to call the method with a block's hash. */
function byHash(method: string): Variant {
  const known = variantByMethod.get(method);
  if (known) return known;
  const variant = { name: `${method} by hash`, isMissing: takesNoHash };
  variantByMethod.set(method, variant);
  return variant;
}

/** The parameters were checked before, so a node that refuses their form refuses the hash. */
const takesNoHash = (reply: Reply): boolean =>
  reply.kind === "refused" &&
  !/\brevert/i.test(reply.message) &&
  (reply.code === -32602 || /unmarshal|deseriali|untagged|hex string/i.test(reply.message));

/** Several nodes can agree only when all are asked about the same block. */
function pinnedFor(
  method: string,
  reference: unknown,
  context: CallContext,
): unknown | Promise<unknown> {
  const { chain } = context;
  if (chain && (reference === "safe" || reference === "finalized"))
    return chain
      .tagged(reference)
      .then((position) => (position ? toQuantity(position.number) : reference));
  if (chain) return chain.pin(reference);
  if (reference === "latest" && context.isAgreedUpon(method))
    return Promise.resolve(context.consultHead().latest()).then(toQuantity);
  return context.consultHead().pin(reference);
}

/** A method that is answered by the upstreams as they like. `at` names its block parameter, if it has one. */
export function passedOn(
  declaration: Omit<Declaration<Shape>, "answer"> & { at?: string },
): Method {
  const { at, ...method } = declaration;
  return defineMethod({
    ...method,
    answer: (args, context) =>
      at === undefined
        ? askAsGiven(method.name, args, context)
        : askAt(method.name, { given: args, at }, context),
  });
}

/** null instead of a refusal: some nodes refuse where the specification says null. */
export const nullWhenUnknown = (asked: Promise<Buffer>): Promise<Buffer> =>
  asked.catch((thrown: unknown) => {
    if (saysUnknown(thrown)) return Buffer.from("null");
    throw thrown;
  });

/** Asks with the parameters as they came, which name a block or transaction by its hash. */
export const askByHash = (method: string, context: CallContext): Promise<Buffer> =>
  nullWhenUnknown(context.ask(method, context.paramsJson, MAY_LAG));

/**
 * Whether a node says that it has no such block or transaction: geth "unknown block", Erigon "block
 * not found", anvil "Resource not found". What a contract says when it reverts is not meant.
 */
export const saysUnknown = (thrown: unknown): boolean =>
  thrown instanceof RpcError && thrown.status === 200 && isUnknownSaying(thrown);

export function isUnknownSaying({ code, message }: { code: number; message: string }): boolean {
  if (code === -32601) return false;
  const words = beginningOf(message);
  if (/\brevert/i.test(words)) return false;
  return (code === RESOURCE_NOT_FOUND && /not found/i.test(words)) || UNKNOWN.test(words);
}

/** The part of a node's words that is read: to look for two words far apart takes the square of the length. */
export const beginningOf = (message: string): string => message.slice(0, READ_CHARACTERS);

const READ_CHARACTERS = 2_000;

/** EIP-1474. */
const RESOURCE_NOT_FOUND = -32001;
const UNKNOWN =
  /\b(transaction|block|header|receipt)\b.*\b(not|be) found\b|\bunknown (block|transaction)\b|BlockOutOfRange/i;

/**
 * null of one node alone, or words that mean the same, is not believed, since the node may lag. The next node is asked,
 * and when all say so, it is so.
 */
const BY_NULL: CrossCheckRule = {
  name: "null",
  isUncertain: (reply) =>
    (reply.kind === "result" && isNull(reply.json)) ||
    (reply.kind === "refused" && isUnknownSaying(reply)),
};

/** For what a node that lags does not have: its null is cross-checked. */
export const MAY_LAG: CallOptions = { crossCheck: BY_NULL };
