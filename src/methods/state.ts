// The methods for the state at a block: code, balances, nonces, storage.

import { z } from "zod";
import {
  type BlockReference,
  blockReference,
  isBeyondAnyChain,
  pointerOf,
} from "../evm/block-reference.ts";
import { address, data, isHash, isQuantity, quantity, slot, toNumber } from "../evm/values.ts";
import { isNull } from "../jsonrpc/raw-json.ts";
import { errors, type RpcError } from "../jsonrpc/rpc-error.ts";
import { contractAt } from "../namespaces/read-contracts.ts";
import { type FixedPointer, readBlock } from "./block-lookup.ts";
import {
  askAt,
  type BlockCall,
  type ReplyHandlers,
  referenceIn,
  saysUnknown,
} from "./forwarding.ts";
import { type CallContext, defineMethod, type Method } from "./method.ts";

const block = blockReference.optional().describe("The block. Left out: latest.");

/** Asks for the state at a block. @throws RpcError `header not found` for an unknown block, whatever a node says. */
export function askState(method: string, call: BlockCall, context: CallContext): Promise<Buffer> {
  const reference = referenceIn(call);
  if (!isHash(reference) && isBeyondAnyChain(reference)) throw errors.headerNotFound();
  return askAt(method, call, context);
}

/** Handles results and errors of calls about state. @param errorFor Makes the caller's error of a node's error. */
export const stateReplyHandlers = (errorFor: (thrown: unknown) => unknown): ReplyHandlers => ({
  // Besu answers null when it does not have the state; no state is null.
  answered: (state, call, context) => (isNull(state) ? notKept(referenceIn(call), context) : state),
  failed: async (thrown, call, context) => {
    if (saysUnknown(thrown)) return notKept(referenceIn(call), context);
    throw errorFor(thrown);
  },
});

const STATE = stateReplyHandlers((thrown) => thrown);

const notKept = async (reference: unknown, context: CallContext): Promise<never> => {
  throw await withoutState(reference, context);
};

/**
 * The error when nodes say that they do not know the block of a state. Some nodes say so of every block whose state they
 * have dropped, so the gateway looks for the block itself.
 */
export async function withoutState(reference: unknown, context: CallContext): Promise<RpcError> {
  const pointer = isReference(reference) ? pointerOf(reference) : undefined;
  if (pointer?.kind === "hash") {
    const { hash } = pointer;
    const isKnown =
      context.chain?.blockOf(hash, "if held") ?? (await found({ kind: "hash", hash }, context));
    return isKnown ? errors.stateNotKept(hash) : errors.headerNotFound();
  }
  const number = pointer?.numberOrTag === "earliest" ? "0x0" : pointer?.numberOrTag;
  if (!isQuantity(number) || isBeyondAnyChain(number)) return errors.headerNotFound();
  const isKnown =
    context.chain?.positionAt(toNumber(number)) ??
    (await found({ kind: "number", number }, context));
  return isKnown ? errors.stateNotKept(number) : errors.headerNotFound();
}

const isReference = (value: unknown): value is BlockReference =>
  blockReference.safeParse(value).success;

const found = (pointer: FixedPointer, context: CallContext): Promise<unknown> =>
  readBlock(pointer, context).catch(() => undefined);

const stateMethod = (
  declaration: Omit<Parameters<typeof defineMethod>[0], "workKind" | "freshness" | "answer">,
): Method =>
  defineMethod({
    ...declaration,
    workKind: "state",
    params: { ...declaration.params, block },
    freshness: "until next block",
    answer: (args, context) =>
      askState(
        declaration.name,
        { given: args, at: "block", takesHash: true, handlers: STATE },
        context,
      ),
  });

const storageProof = z.looseObject({
  accountProof: z.array(data),
  storageProof: z.array(z.looseObject({})),
});

export const stateMethods = [
  stateMethod({
    name: "eth_getCode",
    isSpecified: true,
    summary: "The code at an address; `0x` when there is none.",
    cost: 2,
    params: { address },
    result: data,
    contractsOf: contractAt(0),
  }),
  stateMethod({
    name: "eth_getBalance",
    summary: "The balance of an address, in Wei.",
    cost: 2,
    params: { address },
    result: quantity,
  }),
  stateMethod({
    name: "eth_getTransactionCount",
    summary: "The number of transactions that an address has sent.",
    cost: 3,
    params: { address },
    result: quantity,
  }),
  stateMethod({
    name: "eth_getStorageAt",
    summary: "The value in a storage slot of a contract.",
    cost: 3,
    params: { address, slot },
    result: data,
    contractsOf: contractAt(0),
  }),
  stateMethod({
    name: "eth_getProof",
    summary: "An account and some of its storage, with Merkle proofs.",
    cost: 3,
    params: {
      address,
      slots: z
        .array(slot, { error: "want an array of storage slots" })
        .max(1024, { error: "want at most 1024 storage slots" }),
    },
    result: storageProof,
    contractsOf: contractAt(0),
  }),
];
