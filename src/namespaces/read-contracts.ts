// Finds the contracts that a call reads, by its parameters, for keys that are bound to contracts (access/scope).
// Nothing has checked the parameters yet, so each parameter must have the shape that belongs to its position: nodes give
// meanings to further ones, such as state overrides, which no list of dangerous ones would ever have all of.

/** The contracts that a call names; undefined when the call may read any contract. */
export type ContractsOf = (params: readonly unknown[]) => readonly unknown[] | undefined;

/** For methods that may read any contract: they are about whole blocks, or run the caller's own code. */
export const anyContract: ContractsOf = () => undefined;

/** For methods that read no contract by its address, asked with plain values: numbers, hashes, addresses, blocks. */
export const noContract: ContractsOf = (params) => (params.every(isPlain) ? [] : undefined);

/** As `noContract`, for `[block, flag]`; the flag asks for whole transactions in place of their hashes, or the like. */
export const noContractWithFlag: ContractsOf = ([block, flag, ...more]) =>
  isPlain(block) && (flag === true || isPlain(flag)) && more.length === 0 ? [] : undefined;

/** The contract whose address is the parameter at `index`, beside plain values. */
export const contractAt =
  (index: number): ContractsOf =>
  (params) =>
    arePlainBut(index, params) ? [params[index]] : undefined;

/** The recipient of the call object at `index`, beside plain values; the contracts that this one calls do not count. */
export const calledAt =
  (index: number): ContractsOf =>
  (params) =>
    arePlainBut(index, params) ? recipientOf(params[index]) : undefined;

/** The recipient of `[call, block]`; any contract with overrides, which may put other code at the recipient's address. */
export const calledWithoutOverrides: ContractsOf = ([call, block, state, header, ...more]) =>
  isBlock(block) && isEmpty(state) && isHeaderOnly(header) && more.length === 0
    ? recipientOf(call)
    : undefined;

/** The recipients of all calls of trace_callMany: `[[call, trace types], …], block`. */
export const calledByEach: ContractsOf = ([calls, block, ...more]) => {
  if (!Array.isArray(calls) || !isBlock(block) || more.length > 0) return undefined;
  const called = calls.map((entry: unknown) =>
    Array.isArray(entry) && entry.length <= 2 ? calledAt(0)(entry) : undefined,
  );
  return called.every((each) => each !== undefined) ? called.flat() : undefined;
};

/** For debug_traceCall: any contract with a tracer that the caller wrote, or with overrides of code. */
export const tracedCall: ContractsOf = ([call, block, options, ...more]) =>
  isBlock(block) && isNativelyTraced(options) && more.length === 0 ? recipientOf(call) : undefined;

/** For debug_traceTransaction: none with a tracer of the node's own, whose result concerns the transaction alone. */
export const tracedTransaction: ContractsOf = ([hash, options, ...more]) =>
  isPlain(hash) && isNativelyTraced(options) && more.length === 0 ? [] : undefined;

/** For eth_sendRawTransactionConditional: the accounts whose storage the conditions compare. */
export const conditionedContracts: ContractsOf = ([, conditions, ...more]) => {
  if (more.length > 0 || !hasOnly(conditions, CONDITIONS)) return undefined;
  const accounts = memberOf(conditions, "knownAccounts");
  if (accounts == null) return [];
  return isObject(accounts) ? Object.keys(accounts) : undefined;
};

const CONDITIONS = membersOf(
  "knownAccounts blockNumberMin blockNumberMax timestampMin timestampMax paysCoinbase",
);

/** The recipient of a call object, which has only the members of a transaction. */
function recipientOf(call: unknown): readonly unknown[] | undefined {
  if (!hasOnly(call, CALL)) return undefined;
  const called = memberOf(call, "to");
  // A creation runs the caller's own code, which may read any contract.
  return called == null ? undefined : [called];
}

/** An authorisation (EIP-7702) is not among them: it puts other code at an account. */
const CALL = membersOf(
  "from to gas gasPrice maxFeePerGas maxPriorityFeePerGas maxFeePerBlobGas blobVersionedHashes value data input nonce type chainId accessList storageLimit epochHeight",
);
const FILTER = membersOf(
  "address topics fromBlock toBlock blockHash fromEpoch toEpoch blockHashes limit offset",
);
const BLOCK = membersOf("blockHash blockNumber requireCanonical fromBlock toBlock");
const TRACE_OPTIONS = membersOf(
  "tracer tracerConfig timeout reexec limit debug txIndex disableStorage disableStack disableMemory enableMemory disableReturnData enableReturnData stateOverrides blockOverrides",
);

function membersOf(names: string): ReadonlySet<string> {
  return new Set(names.split(" "));
}

/** Whether the value is absent, or an object without any other member. */
const hasOnly = (value: unknown, members: ReadonlySet<string>): boolean =>
  value == null || (isObject(value) && Object.keys(value).every((name) => members.has(name)));

const arePlainBut = (index: number, params: readonly unknown[]): boolean =>
  params.every((value, at) => at === index || isPlain(value));

/** Whether the value is a text, a number, a list of these, a block, or nothing; `true` may ask for more than is plain. */
const isPlain = (value: unknown): boolean =>
  isBlock(value) || value === false || (Array.isArray(value) && value.every(isText));

const isText = (value: unknown): boolean => typeof value === "string" || typeof value === "number";

/** A block by number, tag or hash (EIP-1898), or a range of blocks. */
const isBlock = (value: unknown): boolean =>
  value == null ||
  isText(value) ||
  (hasOnly(value, BLOCK) && Object.values(value as object).every(isFlat));

const isFlat = (value: unknown): boolean => value === null || typeof value !== "object";

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
  if (!hasOnly(options, TRACE_OPTIONS)) return false;
  if (!isEmpty(memberOf(options, "stateOverrides"))) return false;
  if (!isHeaderOnly(memberOf(options, "blockOverrides"))) return false;
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

/**
 * The contracts of the log filter in the first parameter; a filter without any asks for the logs of all contracts. The
 * second parameter may be plain limits (erigon_getLatestLogs).
 */
export const contractsOfLogs: ContractsOf = ([filter, limits, ...more]) => {
  if (!hasOnly(filter, FILTER) || !isHeaderOnly(limits) || more.length > 0) return undefined;
  const contracts = memberOf(filter, "address");
  if (typeof contracts === "string") return [contracts];
  return Array.isArray(contracts) && contracts.length > 0 ? contracts : undefined;
};

/** Whether block overrides have only plain values, such as number and time, none of which can hold code or state. */
const isHeaderOnly = (overrides: unknown): boolean =>
  overrides == null || (isObject(overrides) && Object.values(overrides).every(isFlat));

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
