import { describe, expect, it } from "vitest";
import { DIALECT_SAMPLES } from "../../../test/support/dialect-samples.ts";
import { type Reply, readReply } from "../reply.ts";

const ID = 18;
const refusal = (code: number, message: string): Reply => {
  const body = Buffer.from(JSON.stringify({ id: ID, error: { code, message } }));
  return readReply({ kind: "answered", status: 200, body }, ID);
};

const plain = (code: number, message: string): object => ({
  kind: "refused",
  code,
  message,
  lacks: undefined,
});

describe("a no that every node would repeat", () => {
  it.each([
    [-32602, "missing value for required argument 0"],
    [-32602, "range 1000000 exceeds limit of 10000"],
    [-32000, "nonce too low: next nonce 5, tx nonce 4"],
    [-32000, "already known"],
    [-32000, "insufficient funds for gas * price + value"],
    [-32000, "intrinsic gas too low: gas 1, minimum needed 21000"],
    [-32000, "replacement transaction underpriced"],
    [-32000, "exceeds block gas limit"],
    [-32000, "max initcode size exceeded: code size 49153 limit 49152"],
    [-32000, "gas uint64 overflow"],
    [-32000, "transaction not found"],
    [-32001, "Resource not found"],
    [-32000, "filter not found"],
    [-32000, "stack limit reached 1024 (1023)"],
    [-32000, "invalid opcode: INVALID"],
    [-32000, "genesis is not traceable"],
    [-32000, "tracer not found"],
    [-32000, "unknown blockchain"],
    [-32000, "contract could not be found"],
    [-32005, "query returned more than 10000 results"],
    [-32005, "query timeout exceeded"],
    [-32005, "Too many logs requested"],
    [-32004, "Upfront cost exceeds account balance"],
    [-32007, "Sender account not authorized to send transactions"],
    [-32008, "Response is too big"],
    [-32015, "Transaction reverted"],
    [
      -32016,
      "Error processing request: Filter error: Filter has wrong epoch numbers set (from: 5, to: 1)",
    ],
    [-32602, "Invalid parameters: tx"],
    [4445, "not available before the fork"],
  ])("is the node's answer: %i %s", (code, message) => {
    expect(refusal(code, message)).toMatchObject(plain(code, message));
  });
});

describe("what a contract says when it reverts", () => {
  const texts = DIALECT_SAMPLES.flatMap(({ samples }) => samples.map(([, text]) => text));

  it.each([
    ["as geth tells it", 3, (text: string) => `execution reverted: ${text}`],
    ["with its code alone", 3, (text: string) => text],
    ["as besu tells it", -32000, (text: string) => `Execution reverted: ${text}`],
    ["as hardhat tells it", -32603, (text: string) => `VM Exception: revert with reason '${text}'`],
  ])("%s, is no node's fault, even with all words of the table", (_how, code, said) => {
    for (const text of texts) {
      expect(refusal(code, said(text))).toMatchObject(plain(code, said(text)));
    }
  });

  it("is no node's fault in the words of a rejected transaction or of parameters either", () => {
    const words = ["rate limit exceeded", "Unauthorized", "method not found", "internal error"];
    for (const code of [-32015, -32003, -32602])
      for (const text of [...words, `invalid value: string "${words}"`])
        expect(refusal(code, text)).toMatchObject(plain(code, text));
  });
});

describe("a long message", () => {
  it("is read in its beginning, and passed on whole", () => {
    const message = `${"x".repeat(2_000)} rate limit exceeded`;
    expect(refusal(-32000, message)).toMatchObject(plain(-32000, message));
  });
});
