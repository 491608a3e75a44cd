// The methods that execute a call and change nothing.
import { z } from "zod";
import { blockReference } from "../evm/block-reference.ts";
import {
  type CallObject,
  callObject,
  forAnyNode,
  overrides,
  withCappedGas,
} from "../evm/call-object.ts";
import { readRevert } from "../evm/revert.ts";
import { data, quantity } from "../evm/values.ts";
import { errors, RpcError } from "../jsonrpc/rpc-error.ts";
import { calledWithoutOverrides } from "../namespaces/read-contracts.ts";
import type { BlockCall } from "./forwarding.ts";
import { type CallContext, defineMethod } from "./method.ts";
import { askState, stateReplyHandlers } from "./state.ts";

/** The parameter that names the block of an execution. */
export const executedAt = blockReference
  .optional()
  .describe("The block on whose state the call is executed. Left out: latest.");
const stateOverrides = overrides
  .optional()
  .describe("Accounts whose state differs from the chain during the execution.");
const blockOverrides = overrides
  .optional()
  .describe("Members of the block that differ from the chain during the execution.");

const EXECUTION = {
  workKind: "execution",
  cost: 5,
  freshness: "until next block",
  contractsOf: calledWithoutOverrides,
} as const;

export const executionMethods = [
  defineMethod({
    name: "eth_call",
    ...EXECUTION,
    mayRevert: true,
    summary: "Executes a call and returns its output.",
    params: { call: callObject, block: executedAt, stateOverrides, blockOverrides },
    result: data,
    answer: (args, context) => execute("eth_call", { args, call: forAnyNode(args.call) }, context),
  }),
  defineMethod({
    name: "eth_estimateGas",
    ...EXECUTION,
    isSpecified: true,
    mayRevert: true,
    summary: "The gas that a call needs. A `gas` above 550 million is lowered to 550 million.",
    params: { call: callObject, block: executedAt, stateOverrides, blockOverrides },
    result: quantity,
    answer: (args, context) => {
      // When the caller names no block, the node chooses one: its pending block bounds the gas (specification).
      const whenOmitted = "nothing";
      const call = withCappedGas(forAnyNode(args.call));
      return execute("eth_estimateGas", { args, call, whenOmitted }, context);
    },
  }),
  defineMethod({
    name: "eth_createAccessList",
    ...EXECUTION,
    summary:
      "The accounts and storage slots that a call touches, and its gas with that access list.",
    params: { call: callObject, block: executedAt, stateOverrides },
    result: z.looseObject({ accessList: z.array(z.looseObject({})), gasUsed: quantity }),
    answer: (args, context) =>
      execute("eth_createAccessList", { args, call: forAnyNode(args.call) }, context),
  }),
];

type Execution = Pick<BlockCall, "whenOmitted"> & {
  readonly args: Readonly<Record<string, unknown>> & { readonly call: CallObject };
  /** The call in the form that nodes accept. */
  readonly call: CallObject;
};

function execute(
  method: string,
  { args: given, call, whenOmitted }: Execution,
  context: CallContext,
): Promise<Buffer> {
  const sent = call === given.call ? given : { ...given, call };
  const asked = { given, sent, at: "block", takesHash: true, whenOmitted, handlers: REVERTS };
  return askState(method, asked, context);
}

/** Gives a node's revert error code 3 and the revert bytes (docs/decisions/0035). geth's own error stays unchanged. */
function asRevert(thrown: unknown): unknown {
  if (!(thrown instanceof RpcError) || thrown.json === undefined) return thrown;
  const { code, message, json } = thrown;
  const revert = readRevert({ code, message, data: JSON.parse(json).data });
  if (!revert) return thrown;
  const error = errors.executionReverted(revert.reason, revert.data);
  return code === error.code && message === error.message ? thrown : error;
}

const REVERTS = stateReplyHandlers(asRevert);
