// Which contracts a call reads, by its parameters: for keys that are bound to some (access/scope). These
// are asked before the parameters are checked.

/** What a call names; undefined when it cannot be told, so that it may be any. */
export type ContractsOf = (params: readonly unknown[]) => readonly unknown[] | undefined;

/** It may be any: the method is about whole blocks, or runs what the caller brings. */
export const anyContract: ContractsOf = () => undefined;

/** None by its address. */
export const noContract: ContractsOf = () => [];

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
  isEmpty(params[2]) && isHeaderOnly(params[3]) ? calledAt(0)(params) : undefined;

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
  const options = params[2];
  const isAsItIs = OVERRIDES.every((name) => isEmpty(memberOf(options, name)));
  const isSameBlock = isHeaderOnly(memberOf(options, "blockOverrides"));
  return isAsItIs && isSameBlock && isNativelyTraced(options) ? calledAt(0)(params) : undefined;
};

/** debug_traceTransaction: with a tracer of the node's own, what the transaction did, as its receipt tells. */
export const tracedTransaction: ContractsOf = ([, options]) =>
  isNativelyTraced(options) ? [] : undefined;

/** They may put other code at the recipient's address. */
const OVERRIDES = ["stateOverrides", "overrides"];

const NATIVE_TRACERS = new Set([
  "4byteTracer",
  "callTracer",
  "flatCallTracer",
  "noopTracer",
  "prestateTracer",
]);

/** Of a caller's options, or of one tracer within another: nodes take any other name for JavaScript. */
function isNativelyTraced(options: unknown): boolean {
  if (options == null) return true;
  if (!isObject(options)) return false;
  const tracer = memberOf(options, "tracer");
  const settings = memberOf(options, "tracerConfig");
  if (tracer == null) return settings !== AMBIGUOUS;
  return isNative(tracer, settings);
}

/** A mux tracer has tracers as members of its settings, each with settings of its own. */
function isNative(tracer: unknown, settings: unknown): boolean {
  if (typeof tracer !== "string" || settings === AMBIGUOUS) return false;
  if (NATIVE_TRACERS.has(tracer)) return true;
  if (tracer !== "muxTracer") return false;
  if (settings == null) return true;
  return (
    isObject(settings) && Object.entries(settings).every(([name, inner]) => isNative(name, inner))
  );
}

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** Those of the log filter at the front; without any, it asks for the logs of all. */
export const contractsOfLogs: ContractsOf = ([filter]) => {
  const contracts = memberOf(filter, "address");
  if (typeof contracts === "string") return [contracts];
  return Array.isArray(contracts) && contracts.length > 0 ? contracts : undefined;
};

/** Overrides of a block by plain values, such as its number and time: nothing that holds code or state. */
const isHeaderOnly = (overrides: unknown): boolean =>
  overrides == null ||
  (isObject(overrides) &&
    Object.values(overrides).every((value) => value === null || typeof value !== "object"));

const isEmpty = (value: unknown): boolean =>
  value == null || (typeof value === "object" && Object.keys(value).length === 0);

/**
 * A member, undefined when there is none. Nodes in Go read members in any case, and take the last one
 * that fits: of an object with both `to` and `To` it cannot be told what is read.
 */
function memberOf(value: unknown, name: string): unknown {
  if (!isObject(value)) return undefined;
  const isRead = (key: string): boolean =>
    key !== name && key.length === name.length && folded(key) === folded(name);
  return Object.keys(value).some(isRead) ? AMBIGUOUS : value[name];
}

/** Neither absent nor anybody's address. */
const AMBIGUOUS = Symbol("ambiguous");

/** As Go folds case: the long s and the Kelvin sign are letters of ASCII, too. */
const folded = (key: string): string => key.toUpperCase().toLowerCase();
