// Which contracts a call reads, by its parameters: for keys that are bound to some (access/scope). These
// are asked before the parameters are checked.

/** What a call names; undefined when it cannot be told, so that it may be any. */
export type ContractsOf = (params: readonly unknown[]) => readonly unknown[] | undefined;

/** It may be any: the method is about whole blocks, or runs what the caller brings. */
export const anyContract: ContractsOf = () => undefined;

/** The one whose address is the parameter at `index`. */
export const contractAt =
  (index: number): ContractsOf =>
  (params) => [params[index]];

/** The recipient of the call object at `index`; what it calls in turn is up to it. */
export const calledAt =
  (index: number): ContractsOf =>
  (params) => {
    const called = memberOf(params[index], "to");
    // A creation runs the caller's own code, which may read whatever it likes.
    return called == null ? undefined : [called];
  };

/** As calledAt(0). An override may put other code at the recipient's address. */
export const calledWithoutOverrides: ContractsOf = (params) =>
  isEmpty(params[2]) ? calledAt(0)(params) : undefined;

/** The recipients of all calls of trace_callMany: `[[call, trace types], …]`. */
export const calledByEach: ContractsOf = ([calls]) => {
  if (!Array.isArray(calls)) return undefined;
  const called = calls.map((entry: unknown) =>
    Array.isArray(entry) ? calledAt(0)(entry) : undefined,
  );
  return called.every((each) => each !== undefined) ? called.flat() : undefined;
};

/** debug_traceCall: a tracer that the caller wrote reads what it likes, as code at other addresses does. */
export const tracedCall: ContractsOf = (params) => {
  const tracer = memberOf(params[2], "tracer") ?? "";
  const isBuiltIn = typeof tracer === "string" && /^\w*$/.test(tracer);
  const isAsItIs = memberOf(params[2], "stateOverrides") == null;
  return isBuiltIn && isAsItIs ? calledAt(0)(params) : undefined;
};

/** Those of the log filter at the front; without any, it asks for the logs of all. */
export const contractsOfLogs: ContractsOf = ([filter]) => {
  const contracts = memberOf(filter, "address");
  if (typeof contracts === "string") return [contracts];
  return Array.isArray(contracts) && contracts.length > 0 ? contracts : undefined;
};

const isEmpty = (value: unknown): boolean =>
  value == null || (typeof value === "object" && Object.keys(value).length === 0);

/**
 * A member, undefined when there is none. Nodes in Go read members in any case, and take the last one
 * that fits: of an object with both `to` and `To` it cannot be told what is read.
 */
function memberOf(value: unknown, name: string): unknown {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return undefined;
  const members = value as Readonly<Record<string, unknown>>;
  const isRead = (key: string): boolean =>
    key !== name && key.length === name.length && folded(key) === folded(name);
  return Object.keys(members).some(isRead) ? AMBIGUOUS : members[name];
}

/** Neither absent nor anybody's address. */
const AMBIGUOUS = Symbol("ambiguous");

/** As Go folds case: the long s and the Kelvin sign are letters of ASCII, too. */
const folded = (key: string): string => key.toUpperCase().toLowerCase();
