// The reason why a frame failed, in geth's words (core/vm/errors.go, interpreter.go).
import type { Frame } from "./live/frames.ts";

export function gethError({ error, isPrecompile, steps }: Frame): string | undefined {
  if (error === undefined) return undefined;
  const name = steps.at(-1)?.name ?? "";
  if (name === "RETURNDATACOPY" && error === "out of gas") return "return data out of bounds";
  if (isPrecompile && error !== "out of gas") return "precompiled failed";
  // geth wraps the errors of functions that compute a price: fmt.Errorf("%w: %v", ErrOutOfGas, err).
  if (error === STATIC && PRICED.has(name)) return "out of gas: write protection";
  return words[error] ?? error;
}

const STATIC = "static state change";
/** core/vm/operations_acl.go and gas_table.go check `readOnly` for these; instructions.go does for the rest. */
const PRICED: ReadonlySet<string> = new Set(["SSTORE", "SELFDESTRUCT", "CALL"]);

/** geth's words by those of ethereumjs. */
const words: Readonly<Record<string, string>> = {
  [STATIC]: "write protection",
  revert: "execution reverted",
  "code store out of gas": "contract creation code storage out of gas",
  "code size to deposit exceeds maximum code size": "max code size exceeded",
  "create collision": "contract address collision",
  "initcode exceeds max initcode size": "max initcode size exceeded",
  "invalid JUMP": "invalid jump destination",
  "invalid opcode": "invalid opcode: INVALID",
  "invalid bytecode deployed": "invalid code: must not begin with 0xef",
  "stack underflow": "stack underflow (0 <=> 2)",
  "stack overflow": "stack limit reached 1024 (1023)",
};
