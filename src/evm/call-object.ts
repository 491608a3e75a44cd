// The call that eth_call, eth_estimateGas and related methods execute (specification: call object).
import { z } from "zod";
import { errors } from "../jsonrpc/rpc-error.ts";
import { address, data, quantity, toNumber } from "./values.ts";

/** Specification, limits: 550 million gas per request. */
const MAX_GAS = 0x20c85580;
const MAX_GAS_TEXT = "0x20c85580";

export const callObject = z
  .looseObject(
    {
      from: address.nullish().describe("The sender."),
      to: address.nullish().describe("The recipient; left out for a contract creation."),
      gas: quantity.nullish().describe("Gas provided."),
      gasPrice: quantity.nullish().describe("Price per gas."),
      value: quantity.nullish().describe("Value sent."),
      data: data.nullish().describe("Method signature hash and encoded parameters."),
      input: data.nullish().describe("Another name for `data`."),
    },
    { error: "want a call object" },
  )
  .meta({ id: "CallObject", description: "A call to be executed without a transaction." });

export type CallObject = z.infer<typeof callObject>;

/** State and block overrides. Only nodes check their contents. */
export const overrides = z.looseObject({}, { error: "want an object" }).meta({
  id: "Overrides",
  description: "Values that replace those of the chain during an execution.",
});

/**
 * Makes a call that any node understands: `input` is copied to `data`, which all nodes read. A call that needs no
 * change is returned unchanged.
 * @throws RpcError when `data` and `input` differ.
 */
export function forAnyNode(call: CallObject): CallObject {
  const { data: bytes, input } = call;
  if (!input) return call;
  if (!bytes) return { ...call, data: input };
  if (bytes.toLowerCase() !== input.toLowerCase()) {
    throw errors.invalidParams(
      'both "data" and "input" are set and not equal. Please use "input" to pass transaction call data',
    );
  }
  return call;
}

/** Lowers `gas` to the limit for one request. */
export const withCappedGas = (call: CallObject): CallObject =>
  call.gas && toNumber(call.gas) > MAX_GAS ? { ...call, gas: MAX_GAS_TEXT } : call;
