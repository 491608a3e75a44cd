// Checks the parameters of a call against the declaration of its method (docs/decisions/0035).
import type { z } from "zod";
import { wrongAddressIn } from "../conflux/address.ts";
import { errors } from "../jsonrpc/rpc-error.ts";
import type { Method, Parameter } from "./method.ts";

/** Deeper places than any parameter has; a path is shown, never a whole input. */
const MAX_PATH = 60;

/**
 * The parameters by name, as `Method.answer` wants them. The values are those that came, not copies
 * made by a schema: unknown fields stay, and a member named `__proto__` is only a member.
 *
 * @throws RpcError -32602.
 */
export function checkParams(method: Method, params: readonly unknown[]): Record<string, unknown> {
  const args: Record<string, unknown> = {};
  const { parameters, badParamsStatus: status } = method;
  if (parameters === "any") return args;
  for (let index = 0; index < params.length; index += 1) {
    const parameter = parameters[index];
    // As geth: arguments are read from left to right, and the first mistake is told.
    if (!parameter) throw errors.tooManyArguments(parameters.length, status);
    args[parameter.name] = checkOne(parameter, params[index], index, status);
  }
  const missing = parameters[params.length];
  if (missing && !missing.isOptional) throw errors.missingArgument(params.length, status);
  return args;
}

/**
 * Wherever they stand in the parameters of an epoch network's call, declared or not.
 *
 * @throws RpcError -32602 for an address that is misspelled, or another network's.
 */
export function checkAddresses(params: readonly unknown[], networkId: number): void {
  for (const [index, param] of params.entries()) {
    const why = wrongAddressIn(param, networkId);
    if (why !== undefined) throw errors.invalidArgument(index, why);
  }
}

function checkOne(parameter: Parameter, value: unknown, index: number, status: number): unknown {
  if (value === null || value === undefined) {
    if (parameter.isOptional) return undefined;
    throw errors.missingArgument(index, status);
  }
  const checked = parameter.schema.safeParse(value);
  if (checked.success) return value;
  throw errors.invalidArgument(index, explain(checked.error.issues), status);
}

type Issue = z.core.$ZodIssue;

function explain(issues: readonly Issue[]): string {
  const issue = deepest(issues);
  if (!issue) return "not valid";
  const place = issue.path.map(stepText).join("").replace(/^\./, "").slice(0, MAX_PATH);
  return place ? `${place}: ${issue.message}` : issue.message;
}

/** Of the alternatives of a union, the one the caller seems to have meant: where the mistake lies inside. */
function deepest([issue]: readonly Issue[]): Issue | undefined {
  if (issue?.code !== "invalid_union") return issue;
  for (const alternative of issue.errors) {
    const inner = deepest(alternative);
    if (inner && inner.path.length > 0) return { ...inner, path: [...issue.path, ...inner.path] };
  }
  return issue;
}

const stepText = (step: PropertyKey): string =>
  typeof step === "number" ? `[${step}]` : `.${String(step)}`;
