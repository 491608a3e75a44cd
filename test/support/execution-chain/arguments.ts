// Reads callers' parameters, and describes mistakes in them in geth's words.

/** The one error that callers see; any other thrown error is a bug. */
export class RpcFailure extends Error {
  override readonly name = "RpcFailure";
  readonly code: number;
  readonly data: unknown;

  constructor(code: number, message: string, data?: unknown) {
    super(message);
    this.code = code;
    this.data = data;
  }
}

export type Params = readonly unknown[];
export type BlockReference = { number: bigint } | { hash: string } | { tag: string };

/** -32602, geth's error for invalid parameters. */
export const invalidParams = (why: string): RpcFailure => new RpcFailure(-32602, why);

/** The parameter at `index`, read by `read`; it must be there. */
export function required<T>(params: Params, index: number, read: (value: unknown) => T): T {
  const value = params[index];
  if (value === undefined || value === null)
    throw invalidParams(`missing value for required argument ${index}`);
  try {
    return read(value);
  } catch (cause) {
    if (!(cause instanceof RpcFailure)) throw cause;
    throw invalidParams(`invalid argument ${index}: ${cause.message}`);
  }
}

/** The parameter at `index`, or `fallback` when it is left out. */
export const omittable = <T>(
  params: Params,
  index: number,
  [read, fallback]: readonly [(value: unknown) => T, T],
): T => (params[index] === undefined ? fallback : required(params, index, read));

export const latest: BlockReference = { tag: "latest" };

export const readHash = (value: unknown): string => readBytes(value, 32);
export const readAddress = (value: unknown): string => readBytes(value, 20);

/** Lower-case hex of whole bytes, `length` of them if given. */
export function readBytes(value: unknown, length?: number): string {
  const text = readHex(value);
  if (text.length % 2 === 1) throw invalidParams("hex string of odd length");
  if (length !== undefined && text.length !== 2 + 2 * length)
    throw invalidParams(`hex string has length ${text.length - 2}, want ${2 * length}`);
  return text;
}

export function readQuantity(value: unknown): bigint {
  const text = readHex(value);
  if (text === "0x") throw invalidParams('hex string "0x"');
  if (/^0x0./.test(text)) throw invalidParams("hex number with leading zero digits");
  return BigInt(text);
}

export function readBoolean(value: unknown): boolean {
  if (typeof value !== "boolean") throw invalidParams("not a boolean");
  return value;
}

export function readObject(value: unknown): Readonly<Record<string, unknown>> {
  if (typeof value !== "object" || value === null || Array.isArray(value))
    throw invalidParams("not an object");
  return value as Readonly<Record<string, unknown>>;
}

/** A number or a tag. */
export function readBlockNumber(value: unknown): BlockReference {
  if (typeof value === "string" && tags.has(value)) return { tag: value };
  return { number: readQuantity(value) };
}

/** A number, a tag, a hash, or the object of EIP-1898. */
export function readBlockReference(value: unknown): BlockReference {
  if (typeof value === "string")
    return value.length === 66 ? { hash: readHash(value) } : readBlockNumber(value);
  const { blockHash, blockNumber } = readObject(value);
  if (blockHash === undefined) return readBlockNumber(blockNumber);
  if (blockNumber !== undefined)
    throw invalidParams("cannot specify both BlockHash and BlockNumber, choose one or the other");
  return { hash: readHash(blockHash) };
}

const tags: ReadonlySet<string> = new Set(["earliest", "latest", "safe", "finalized", "pending"]);

function readHex(value: unknown): string {
  if (typeof value !== "string") throw invalidParams("not a string");
  if (!/^0x/i.test(value)) throw invalidParams("hex string without 0x prefix");
  if (!/^0x[0-9a-f]*$/i.test(value)) throw invalidParams("invalid hex string");
  return value.toLowerCase();
}
