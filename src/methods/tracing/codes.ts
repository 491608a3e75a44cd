// The code that accounts had before a transaction: of all that it touches, if a node tells, else of
// those that it calls.
import { isData, toQuantity } from "../../evm/values.ts";
import { isJson } from "../../proofs/json.ts";
import { MAY_LAG } from "../block-lookup.ts";
import type { CallContext } from "../method.ts";
import type { MinedTransaction } from "./mined-transaction.ts";
import { askSource, firstOf, type Source } from "./sources.ts";
import { diffSources } from "./state-diffs.ts";
import type { Codes } from "./step-reader.ts";

export async function codesBefore(
  transaction: MinedTransaction,
  context: CallContext,
): Promise<Codes> {
  const told = await askSource(prestate, transaction, context);
  const codes = new Map(told.kind === "told" ? told.value : []);
  const list = transaction.json["authorizationList"];
  if (Array.isArray(list) && list.length > 0) await addDelegations(codes, transaction, context);
  return codes;
}

const prestate: Source<MinedTransaction, Codes> = {
  name: "debug_traceTransaction with prestateTracer",
  method: "debug_traceTransaction",
  params: ({ hash }) => [hash, { tracer: "prestateTracer" }],
  read: (result) => codesIn(result),
};

/** Of what a prestateTracer gives. */
export function codesIn(accounts: unknown): Codes | undefined {
  if (!isJson(accounts)) return undefined;
  return new Map(
    Object.entries(accounts).map(([address, account]) => {
      const { code } = Object(account) as { code?: unknown };
      return [address.toLowerCase(), isData(code) ? code.toLowerCase() : "0x"];
    }),
  );
}

/** EIP-7702: accounts are given code before the transaction's first step. */
async function addDelegations(
  codes: Map<string, string>,
  transaction: MinedTransaction,
  context: CallContext,
): Promise<void> {
  const diff = await firstOf(diffSources, transaction, context);
  for (const [address, { code }] of Object.entries(diff)) {
    if (code === "=") continue;
    const { from = "0x", to = "0x" } =
      "*" in code ? code["*"] : { to: "+" in code ? code["+"] : "0x" };
    if (DELEGATION.test(from) || DELEGATION.test(to)) codes.set(address, to);
  }
}

const DELEGATION = /^0xef0100/;

/** Of an account that no node told of: what it had before the block, or was given in it. */
export async function codeAround(
  { block }: MinedTransaction,
  address: string,
  context: CallContext,
): Promise<string> {
  const before = await codeAt(address, Math.max(block.number - 1, 0), context);
  return before === "0x" ? codeAt(address, block.number, context) : before;
}

/** @param at A block number, or what else nodes take for a block. */
export async function codeAt(address: string, at: unknown, context: CallContext): Promise<string> {
  const reference = typeof at === "number" ? toQuantity(at) : at;
  const params = JSON.stringify([address, reference]);
  const options = { ...MAY_LAG, reaches: context.chain?.head.number };
  const code: unknown = JSON.parse(String(await context.ask("eth_getCode", params, options)));
  return isData(code) ? code.toLowerCase() : "0x";
}
