// Finds the contracts that a call reads, by its parameters, for keys that are bound to contracts (access/scope).
// Nothing has checked the parameters yet.

/** The contracts that a call names; undefined when the call may read any contract. */
export type ContractsOf = (params: readonly unknown[]) => readonly unknown[] | undefined;

/** For methods that may read any contract: they are about whole blocks, or run the caller's own code. */
export const anyContract: ContractsOf = () => undefined;

/** For methods that read no contract by its address. */
export const noContract: ContractsOf = () => [];

/** The contract whose address is the parameter at `index`. */
export const contractAt =
  (index: number): ContractsOf =>
  (params) => [params[index]];

/** The recipient of the call object at `index`; the contracts that this one calls do not count. */
export const calledAt =
  (index: number): ContractsOf =>
  (params) => {
    const called = memberOf(params[index], "to");
    // A creation runs the caller's own code, which may read any contract.
    return called == null ? undefined : [called];
  };

/** As calledAt(0); any contract with overrides, which may put other code at the recipient's address. */
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

/** For debug_traceCall: any contract with a tracer that the caller wrote, or with overrides of code. */
export const tracedCall: ContractsOf = (params) => {
  const options = params[2];
  const isAsItIs = OVERRIDES.every((name) => isEmpty(memberOf(options, name)));
  const isSameBlock = isHeaderOnly(memberOf(options, "blockOverrides"));
  return isAsItIs && isSameBlock && isNativelyTraced(options) ? calledAt(0)(params) : undefined;
};

/** For debug_traceTransaction: none with a tracer of the node's own, whose result concerns the transaction alone. */
export const tracedTransaction: ContractsOf = ([, options]) =>
  isNativelyTraced(options) ? [] : undefined;

/** The options that may put other code at the recipient's address. */
const OVERRIDES = ["stateOverrides", "overrides"];

const NATIVE_TRACERS = new Set([
  "4byteTracer",
  "callTracer",
  "flatCallTracer",
  "noopTracer",
  "prestateTracer",
]);

/** Whether the options name only tracers of the node's own: nodes run any other name as JavaScript. */
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

/** The contracts of the log filter in the first parameter; a filter without any asks for the logs of all contracts. */
export const contractsOfLogs: ContractsOf = ([filter]) => {
  const contracts = memberOf(filter, "address");
  if (typeof contracts === "string") return [contracts];
  return Array.isArray(contracts) && contracts.length > 0 ? contracts : undefined;
};

/** Whether block overrides have only plain values, such as number and time, none of which can hold code or state. */
const isHeaderOnly = (overrides: unknown): boolean =>
  overrides == null ||
  (isObject(overrides) &&
    Object.values(overrides).every((value) => value === null || typeof value !== "object"));

const isEmpty = (value: unknown): boolean =>
  value == null || (typeof value === "object" && Object.keys(value).length === 0);

/**
 * A member; undefined when there is none, AMBIGUOUS when a name has it in another case. Nodes in Go ignore the case of
 * names and take the last that fits, so nothing tells whether they read `to` or `To`.
 */
function memberOf(value: unknown, name: string): unknown {
  if (!isObject(value)) return undefined;
  const isRead = (key: string): boolean =>
    key !== name && key.length === name.length && folded(key) === folded(name);
  return Object.keys(value).some(isRead) ? AMBIGUOUS : value[name];
}

/** A value that is neither absent nor an address. */
const AMBIGUOUS = Symbol("ambiguous");

/** Folds case as Go does: the long s and the Kelvin sign count as the ASCII letters s and k. */
const folded = (key: string): string => key.toUpperCase().toLowerCase();
