// How calls are passed on to the upstreams: parameters as they came wherever possible, and the block
// they speak of pinned, so that all members of a batch see one head.
import type { z } from "zod";
import { plainReference } from "../evm/block-reference.ts";
import { isQuantity, toNumber } from "../evm/values.ts";
import { MAY_LAG } from "./doubt.ts";
import { type CallContext, defineMethod, type Method } from "./method.ts";

type Args = Readonly<Record<string, unknown>>;

/** The parameters as they came, unless the caller wrote nulls: nodes take fewer of them than we do. */
function paramsOf(args: Args, context: Pick<CallContext, "paramsJson">): string {
  return Object.values(args).includes(undefined) ? paramsFrom(args) : context.paramsJson;
}

/** A JSON array of the arguments, without nulls at its end. */
function paramsFrom(args: Args): string {
  const values = Object.values(args);
  while (values.length > 0 && values.at(-1) === undefined) values.pop();
  return JSON.stringify(values);
}

/** Asks for the method with the arguments as they came. */
export const askAsGiven = (method: string, args: Args, context: CallContext): Promise<Buffer> =>
  context.ask(method, paramsOf(args, context));

/** A call with a block parameter, for `askAt`. */
export type BlockCall = {
  readonly given: Args;
  /** The arguments to send, where they differ from those that came. */
  readonly sent?: Args;
  /** The name of the block parameter. */
  readonly at: string;
  /** What to send for a block that was left out: `latest`, since nodes may require it, or nothing. */
  readonly whenOmitted?: "latest" | "nothing";
};

/** Asks for the method with the block that it speaks of pinned. */
export async function askAt(
  method: string,
  { given, sent = given, at, whenOmitted = "latest" }: BlockCall,
  context: CallContext,
): Promise<Buffer> {
  const pinned = await context.head.pin(plainReference(given[at]) ?? "latest");
  const isOmitted = given[at] === undefined && pinned === "latest" && whenOmitted === "nothing";
  const block = isOmitted ? undefined : pinned;
  const isUnchanged = sent === given && block === given[at];
  const paramsJson = isUnchanged ? paramsOf(given, context) : paramsFrom({ ...sent, [at]: block });
  const { chain } = context;
  if (!chain) return context.ask(method, paramsJson);
  // The node that is followed has the block; another one may have to be forgiven that it has not.
  const asked = context.ask(method, paramsJson, { ...MAY_LAG, first: chain.leader });
  const position = isQuantity(pinned) ? chain.positionAt(toNumber(pinned)) : undefined;
  context.note({ source: "upstream", block: position, proof: "none" });
  return asked;
}

type Declaration = Parameters<typeof defineMethod<Record<string, z.ZodType>>>[0];

/** A method that is answered by the upstreams as they like. `at` names its block parameter, if it has one. */
export function passedOn(declaration: Omit<Declaration, "answer"> & { at?: string }): Method {
  const { at, ...method } = declaration;
  return defineMethod({
    ...method,
    answer: (args, context) =>
      at === undefined
        ? askAsGiven(method.name, args, context)
        : askAt(method.name, { given: args, at }, context),
  });
}
