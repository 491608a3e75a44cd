// What eth_call, eth_estimateGas and their kin execute (specification: call object).
import { z } from "zod";
import { errors } from "../jsonrpc/rpc-error.ts";
import { address, data, quantity, toNumber } from "./values.ts";

/** Specification, limits: 550 million gas a request. */
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
      input: data.nullish().describe("Another name of `data`."),
    },
    { error: "want a call object" },
  )
  .meta({ id: "CallObject", description: "A call to be executed without a transaction." });

export type CallObject = z.infer<typeof callObject>;

/** State and block overrides: their contents are checked by nodes only. */
export const overrides = z
  .looseObject({}, { error: "want an object" })
  .meta({ id: "Overrides", description: "What the execution sees otherwise than the chain." });

/**
 * The same call for any node: `input` is copied to `data`, which all nodes read. An object that needs no change is
 * returned as it is.
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

/** Lowers `gas` to what one request may ask for. */
export const withCappedGas = (call: CallObject): CallObject =>
  call.gas && toNumber(call.gas) > MAX_GAS ? { ...call, gas: MAX_GAS_TEXT } : call;
