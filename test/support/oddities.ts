// The ways in which nodes give one block of a chain so that it cannot be taken in, without a lie: a list that can grow.
import { type Odd, result } from "./followed-in-memory.ts";

export const isWhole = (method: string): boolean => method.startsWith("eth_getBlockBy");
const isReceipt = (method: string): boolean => method.includes("Receipt");

/** Another answer to calls about the block with this number. */
export const ofBlock =
  (number: number, odd: (method: string) => ReturnType<Odd>): Odd =>
  ({ method, honest }) => {
    const said = JSON.parse(honest) as Record<string, unknown> | Record<string, unknown>[] | null;
    const first = Array.isArray(said) ? said[0] : said;
    const at = first?.["blockNumber"] ?? first?.["number"];
    return Number(at ?? -1) === number ? odd(method) : undefined;
  };

/** Another answer to calls for the whole block with this number. */
const ofWhole =
  (number: number, odd: (honest: string) => ReturnType<Odd>): Odd =>
  (call) =>
    ofBlock(number, (method) => (isWhole(method) && call.params[1] ? odd(call.honest) : undefined))(
      call,
    );

const ofReceipts = (number: number, reply: ReturnType<Odd>): Odd =>
  ofBlock(number, (method) => (isReceipt(method) ? reply : undefined));

export const UNUSABLE: Readonly<Record<string, (number: number) => Odd>> = {
  garbage: (number) => ofWhole(number, () => result("{}")),
  "a number": (number) => ofWhole(number, () => result("7")),
  "no transactions": (number) =>
    ofWhole(number, (honest) => result({ ...JSON.parse(honest), transactions: null })),
  "contradictory members": (number) =>
    ofWhole(number, (honest) => result(`{"Hash":"0x1",${honest.slice(1)}`)),
  "too large": (number) =>
    ofWhole(number, () => ({ kind: "failed", reason: "too large", isTooLarge: true }) as never),
  "no receipts": (number) => ofReceipts(number, result("null")),
  "receipts refused": (number) => ofReceipts(number, { kind: "failed", reason: "internal error" }),
  "silence about receipts": (number) => ofReceipts(number, "silent"),
};
