// The header of a block that a node gave with the hashes of its transactions, held against its own hash.
import { isQuantity, toNumber } from "../evm/values.ts";
import { findMembers } from "../jsonrpc/members.ts";
import { parsed } from "../jsonrpc/raw-json.ts";
import { checkHeader } from "../proofs/check-header.ts";
import { isJson } from "../proofs/json.ts";

export type OldHeader = {
  readonly number: number;
  /** In lower case, as is the parent's. */
  readonly hash: string;
  readonly parentHash: string;
  /** DATA. */
  readonly bloom: string;
  /** So many transactions at most: no hash covers how many the node lists here. */
  readonly transactions: number;
};

/** Without the list of transactions no header is longer, in bytes. */
const LONGEST = 1 << 17;
/** A hash with its quotes and a comma. */
const LISTED_BYTES = 69;

/** undefined when it is no header, or is not what its hash says. */
export function readHeader(json: Buffer): OldHeader | undefined {
  const [list] = findMembers(json, ["transactions"]) ?? [];
  if (!list || json.length - (list.end - list.start) > LONGEST) return undefined;
  const around = [json.subarray(0, list.start), EMPTY_LIST, json.subarray(list.end)];
  const header = parsed(Buffer.concat(around));
  if (!isJson(header) || checkHeader(header, "known").kind !== "proven") return undefined;
  const { number, hash, parentHash, logsBloom } = header;
  if (!isQuantity(number)) return undefined;
  return {
    number: toNumber(number),
    hash: String(hash).toLowerCase(),
    parentHash: String(parentHash).toLowerCase(),
    bloom: String(logsBloom),
    transactions: Math.ceil((list.end - list.start) / LISTED_BYTES),
  };
}

const EMPTY_LIST = Buffer.from("[]");
