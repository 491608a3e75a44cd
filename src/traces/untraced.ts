// Which frames OpenEthereum does not trace below the top level, though other nodes tell of them.
import { isAbsent } from "../proofs/json.ts";
import type { Frame, ReadFrame } from "./frame.ts";
import { isNeverBegun } from "./frame-errors.ts";
import { wasPrecompile } from "./precompiles.ts";

export const isUntraced = (frame: Frame, { value }: ReadFrame): boolean =>
  isNothingButPrecompile(frame, value) || failedBeforeItBegan(frame);

/** A call code or delegate call runs at its caller's address: OpenEthereum traces those. */
const isNothingButPrecompile = (frame: Frame, value: string): boolean =>
  value === "0x0" && (frame.kind === "call" || frame.kind === "staticcall") && wasPrecompile(frame);

const failedBeforeItBegan = ({ error, gasUsed }: Frame): boolean =>
  typeof error === "string" && isNeverBegun(error) && (isAbsent(gasUsed) || gasUsed === "0x0");
