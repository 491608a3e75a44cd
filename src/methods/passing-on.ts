// How calls are passed on to the upstreams: parameters as they came wherever possible, and the block
// they speak of pinned, so that all members of a batch see one head.
import type { z } from "zod";
import { plainReference } from "../evm/block-reference.ts";
import { type CallContext, defineMethod, type Method } from "./method.ts";

type Args = Readonly<Record<string, unknown>>;

/** The parameters as they came, unless the caller wrote nulls: nodes take fewer of them than we do. */
export function paramsOf(args: Args, context: Pick<CallContext, "paramsJson">): string {
  return Object.values(args).includes(undefined) ? paramsFrom(args) : context.paramsJson;
}

/** A JSON array of the arguments, without nulls at its end. */
export function paramsFrom(args: Args): string {
  const values = Object.values(args);
  while (values.length > 0 && values.at(-1) === undefined) values.pop();
  return JSON.stringify(values);
}

/**
 * Asks for the method with the block that it speaks of pinned. Left out the block is `latest`, and is
 * sent so, since older nodes require it.
 *
 * @param what.sent The arguments to send where they differ from those that came.
 * @param what.at The name of the block parameter.
 */
export async function askAt(
  method: string,
  what: { readonly given: Args; readonly sent?: Args; readonly at: string },
  context: CallContext,
): Promise<Buffer> {
  const { given, sent = given, at } = what;
  const block = await context.head.pin(plainReference(given[at]) ?? "latest");
  const isUnchanged = sent === given && block === given[at];
  return context.ask(
    method,
    isUnchanged ? paramsOf(given, context) : paramsFrom({ ...sent, [at]: block }),
  );
}

type Declaration = Parameters<typeof defineMethod<Record<string, z.ZodType>>>[0];

/** A method that is answered by the upstreams as they like. `at` names its block parameter, if it has one. */
export function passedOn(declaration: Omit<Declaration, "answer"> & { at?: string }): Method {
  const { at, ...method } = declaration;
  return defineMethod({
    ...method,
    answer: (args, context) =>
      at === undefined
        ? context.ask(method.name, paramsOf(args, context))
        : askAt(method.name, { given: args, at }, context),
  });
}
