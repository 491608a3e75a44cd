// The addresses that run a node's own code: 0x01 to 0x11 (Frontier to Prague), and 0x0100 (Osaka).
import { isAbsent, type Json } from "../proofs/json.ts";

const PRECOMPILE = /^0x0{36}(00(0[1-9a-f]|1[01])|0100)$/i;

export const isPrecompile = (address: unknown): boolean =>
  typeof address === "string" && PRECOMPILE.test(address);

/**
 * Whether a frame ran a precompiled contract. Before the fork that made it one, it was an account like any
 * without code: a call of that costs nothing, gives nothing and cannot fail.
 */
export const wasPrecompile = ({ to, gasUsed, output, error }: CallOutcome): boolean =>
  isPrecompile(to) &&
  (to === MODEXP || gasUsed !== "0x0" || !isNothing(output) || !isNothing(error));

type CallOutcome = Pick<Json, "to" | "gasUsed" | "output" | "error">;

const isNothing = (value: unknown): boolean => isAbsent(value) || value === "" || value === "0x";

/** The only one that can be for nothing and give nothing. */
const MODEXP = `0x${"5".padStart(40, "0")}`;
