// Passes calls on to the upstreams: with the caller's own parameters wherever possible, and with the named block pinned,
// so that all members of a batch see one head. Knows how nodes say that they do not have a block or transaction.
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

/** The caller's own parameters, unless some are null: nodes accept null in fewer places than the gateway. */
function paramsOf(args: Args, context: Pick<CallContext, "paramsJson">): string {
  return Object.values(args).includes(undefined) ? paramsFrom(args) : context.paramsJson;
}

/** A JSON array of the arguments, without nulls at its end. */
function paramsFrom(args: Args): string {
  const values = Object.values(args);
  while (values.length > 0 && values.at(-1) === undefined) values.pop();
  return JSON.stringify(values);
}

/** As `paramsFrom`, with another value for one argument. If that is the last, the others keep the caller's spelling. */
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

/** Calls the method with the caller's own arguments. */
export const askAsGiven = (method: string, args: Args, context: CallContext): Promise<Buffer> =>
  context.ask(method, paramsOf(args, context));

/** A call with a block parameter, for `askAt`. */
export type BlockCall = {
  readonly given: Args;
  /** The arguments to send, where they differ from the caller's. */
  readonly sent?: Args;
  /** The name of the block parameter. */
  readonly at: string;
  /** Whether the method also takes a block by its hash (EIP-1898). */
  readonly takesHash?: boolean;
  /** The block to send when the caller named none: `latest`, since nodes may require a block, or nothing. */
  readonly whenOmitted?: "latest" | "nothing" | undefined;
  readonly handlers?: ReplyHandlers;
};

/** Handles a call's result or error, as a part of the call: one more promise behind that of `askAt` would cost more. */
export type ReplyHandlers = {
  answered(json: Buffer, call: BlockCall, context: CallContext): Buffer | Promise<Buffer>;
  /** Finds another answer, or rejects with the error for the caller. */
  failed(thrown: unknown, call: BlockCall, context: CallContext): Promise<Buffer>;
};

/** The block that a call names; undefined where it names none. */
export const referenceIn = ({ given, at }: BlockCall): unknown => plainReference(given[at]);

/** Calls the method with the named block pinned. */
export function askAt(method: string, call: BlockCall, context: CallContext): Promise<Buffer> {
  const pinning = pinnedFor(method, referenceIn(call) ?? "latest", context);
  return pinning instanceof Promise
    ? pinning.then(
        (pinned) => askPinned(method, call, pinned, context),
        (thrown: unknown) => failed(thrown, call, context),
      )
    : askPinned(method, call, pinning, context);
}

/** @param pinned The block: a number, a hash, or the caller's own reference where nothing pins it. */
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
  const number = isQuantity(pinned) ? toNumber(pinned) : undefined;
  if (!chain) {
    // Nodes that seem to lack the block are asked last also where no chain is followed.
    const options = block === "pending" ? PENDING : { block: number };
    return withHandlers(
      context.ask(method, paramsAt(call, block, context), options),
      call,
      context,
    );
  }
  const position = number === undefined ? undefined : chain.positionAt(number);
  context.setProvenance({ source: "upstream", block: position, proof: "none" });
  if (!takesHash || !position) return askByNumber(method, call, { block, number }, context);
  // The hash makes sure that the answer is of the followed chain, whatever branch a node is on.
  const params = paramsWith(call, hashReference(position.hash), context);
  return context
    .ask(method, params, { crossCheck: BY_NULL, block: number, variant: byHash(method) })
    .then(
      (json) => answered(json, call, context),
      (thrown: unknown) => {
        // No node accepts hashes, or no node has this block any more.
        if (isMethodMissing(thrown) || saysUnknown(thrown))
          return askByNumber(method, call, { block, number }, context);
        return failed(thrown, call, context);
      },
    );
}

const PENDING: CallOptions = { isPending: true };

/** An upstream other than the followed one may lag, so its null is cross-checked. */
function askByNumber(
  method: string,
  call: BlockCall,
  { block, number }: { readonly block: unknown; readonly number: number | undefined },
  context: CallContext,
): Promise<Buffer> {
  const params = paramsAt(call, block, context);
  const isPending = block === "pending";
  const answer = context.ask(method, params, { crossCheck: BY_NULL, block: number, isPending });
  return withHandlers(answer, call, context);
}

function withHandlers(
  answer: Promise<Buffer>,
  call: BlockCall,
  context: CallContext,
): Promise<Buffer> {
  if (!call.handlers) return answer;
  return answer.then(
    (json) => answered(json, call, context),
    (thrown: unknown) => failed(thrown, call, context),
  );
}

const answered = (json: Buffer, call: BlockCall, context: CallContext): Buffer | Promise<Buffer> =>
  call.handlers ? call.handlers.answered(json, call, context) : json;

function failed(thrown: unknown, call: BlockCall, context: CallContext): Promise<Buffer> {
  if (call.handlers) return call.handlers.failed(thrown, call, context);
  throw thrown;
}

/** As `askAt`, for methods about the argument `block`: null when there is no such block. */
export const askOfBlock = (method: string, given: Args, context: CallContext): Promise<Buffer> =>
  nullWhenUnknown(askAt(method, { given, at: "block" }, context));

/** The parameters to send, with this block in the place of the call's own. */
const paramsAt = (call: BlockCall, block: unknown, context: CallContext): string =>
  (call.sent ?? call.given) === call.given && block === call.given[call.at]
    ? paramsOf(call.given, context)
    : paramsWith(call, { value: block }, context);

let lastReference: Required<Written> & { readonly hash: string } = {
  ...{ hash: "", value: undefined, json: "" },
};

/** The EIP-1898 reference. The last one is kept, since the members of a batch name the same block in a row. */
function hashReference(hash: string): Required<Written> {
  if (lastReference.hash === hash) return lastReference;
  const value = { blockHash: hash };
  lastReference = { hash, value, json: JSON.stringify(value) };
  return lastReference;
}

type Variant = NonNullable<CallOptions["variant"]>;

const variantByMethod = new Map<string, Variant>();

/** The variant of the method that takes a block's hash. */
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

/** Pins a reference. For a quorum `latest` is pinned too, since nodes can agree only about the same block. */
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
    return Promise.resolve(context.headView().latest()).then(toQuantity);
  return context.headView().pin(reference);
}

/** Declares a method that the upstreams answer. @param declaration.at The name of its block parameter, if it has one. */
export function defineForwarded(
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

/** Turns a refusal of an unknown block or transaction into null, which the specification requires. */
export const nullWhenUnknown = (asked: Promise<Buffer>): Promise<Buffer> =>
  asked.catch((thrown: unknown) => {
    if (saysUnknown(thrown)) return Buffer.from("null");
    throw thrown;
  });

/** Calls the method with the caller's own parameters, which name a block or transaction by its hash. */
export const askByHash = (method: string, context: CallContext): Promise<Buffer> =>
  nullWhenUnknown(context.ask(method, context.paramsJson, MAY_LAG));

/**
 * Whether a node says that it has no such block or transaction: geth "unknown block", Erigon "block not found", anvil
 * "Resource not found". The words of a contract that reverts do not count.
 */
export const saysUnknown = (thrown: unknown): boolean =>
  thrown instanceof RpcError && thrown.status === 200 && isUnknownRefusal(thrown);

export function isUnknownRefusal({ code, message }: { code: number; message: string }): boolean {
  if (code === -32601) return false;
  const words = beginningOf(message);
  if (/\brevert/i.test(words)) return false;
  return (code === RESOURCE_NOT_FOUND && /not found/i.test(words)) || UNKNOWN.test(words);
}

/** The part of a node's words that patterns read: a search for two words takes time by the square of the length. */
export const beginningOf = (message: string): string => message.slice(0, READ_CHARACTERS);

const READ_CHARACTERS = 2_000;

/** EIP-1474. */
const RESOURCE_NOT_FOUND = -32001;
const UNKNOWN =
  /\b(transaction|block|header|receipt)\b.*\b(not|be) found\b|\bunknown (block|transaction)\b|BlockOutOfRange/i;

/**
 * Cross-checks a null, or words that mean the same, since one node alone may lag. When all nodes agree, the null
 * stands.
 */
export const BY_NULL: CrossCheckRule = {
  name: "null",
  isUncertain: (reply) =>
    (reply.kind === "result" && isNull(reply.json)) ||
    (reply.kind === "refused" && isUnknownRefusal(reply)),
};

/** For calls about a block or transaction that a lagging node may not have: a null is cross-checked. */
export const MAY_LAG: CallOptions = { crossCheck: BY_NULL };
