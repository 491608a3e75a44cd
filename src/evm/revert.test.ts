import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type NodeError, readRevert, reasonOf } from "./revert.ts";

// Error("user error"), as in samples/eth_estimateGas-1.json.
const data =
  "0x08c379a00000000000000000000000000000000000000000000000000000000000000020000000000000000000000000000000000000000000000000000000000000000a75736572206572726f72";
const reason = "user error";

describe("a revert", () => {
  it.each([
    { node: "geth", error: { code: 3, message: `execution reverted: ${reason}`, data } },
    { node: "Besu", error: { code: -32000, message: "Execution reverted", data } },
    {
      node: "Parity",
      error: { code: -32015, message: "VM execution error.", data: `Reverted ${data}` },
    },
    {
      node: "Nethermind",
      error: { code: -32015, message: "VM execution error.", data },
    },
    {
      node: "Conflux",
      error: { code: -32015, message: "Transaction reverted", data: `"${data}"` },
    },
    { node: "others", error: { code: -32603, message: "execution reverted", data } },
    {
      node: "Hardhat",
      error: {
        code: -32603,
        message:
          "Error: VM Exception while processing transaction: reverted with reason string 'user error'",
        data: { message: "Error: reverted", txHash: "0x12", data },
      },
    },
    {
      node: "Ganache",
      error: {
        code: -32000,
        message: "VM Exception while processing transaction: revert user error",
        data: { "0xabc": { error: "revert", return: data, reason }, stack: "…" },
      },
    },
    {
      node: "anvil",
      error: { code: 3, message: `execution reverted: ${reason}, data: "${data}"`, data },
    },
  ])("is recognised in the words of $node", ({ error }) => {
    expect(readRevert(error)).toEqual({ reason, data });
  });

  it.each<{ error: NodeError; want: string | undefined }>([
    { error: { code: -32000, message: "execution reverted: too late" }, want: "too late" },
    { error: { code: -32000, message: "execution reverted" }, want: undefined },
    { error: { code: 3, message: "execution reverted", data: "0x" }, want: undefined },
    {
      error: {
        code: -32000,
        message: "VM Exception while processing transaction: revert too late",
      },
      want: "too late",
    },
    {
      error: { code: -32603, message: "reverted with reason string 'it's late'", data: "0x" },
      want: "it's late",
    },
    { error: { code: -32000, message: "reverted without a reason" }, want: undefined },
    {
      error: {
        code: 3,
        message: "execution reverted: custom error 0x12345678",
        data: "0x12345678",
      },
      want: undefined,
    },
  ])("says $want in $error", ({ error, want }) => {
    const revert = readRevert(error);
    expect(revert).toBeDefined();
    expect(revert?.reason).toBe(want);
  });

  it.each<NodeError>([
    { code: -32000, message: "insufficient funds for gas * price + value" },
    { code: -32015, message: "VM execution error.", data: "Bad instruction fe" },
    { code: -32000, message: "gas required exceeds allowance (0)" },
    { code: -32601, message: "the method eth_call does not exist/is not available" },
  ])("is not seen in $message", (error) => {
    expect(readRevert(error)).toBeUndefined();
  });
});

describe("the reason in revert bytes", () => {
  const panic = (code: number): string => `0x4e487b71${code.toString(16).padStart(64, "0")}`;

  it.each([
    { bytes: data, want: reason },
    { bytes: panic(0x01), want: "assert(false)" },
    { bytes: panic(0x11), want: "arithmetic underflow or overflow" },
    { bytes: panic(0x32), want: "out-of-bounds access of an array or bytesN" },
    { bytes: panic(0x99), want: "unknown panic code: 0x99" },
    { bytes: "0x", want: undefined },
    { bytes: "0x08c379a0", want: undefined },
    { bytes: data.slice(0, 140), want: undefined }, // the string is cut off
    { bytes: `0x08c379a0${"f".repeat(128)}`, want: undefined },
    { bytes: "0x77726f6e672d63616c6c6461746173697a65", want: undefined }, // samples/eth_estimateGas-2.json
  ])("of $bytes is $want", ({ bytes, want }) => {
    expect(reasonOf(bytes)).toBe(want);
  });

  it("is looked for without falling, whatever the bytes", () => {
    fc.assert(
      fc.property(
        fc.constantFrom("0x08c379a0", "0x4e487b71", "0x"),
        fc.uint8Array({ maxLength: 200 }),
        (selector, bytes) => {
          reasonOf(selector + Buffer.from(bytes).toString("hex"));
        },
      ),
    );
  });
});
