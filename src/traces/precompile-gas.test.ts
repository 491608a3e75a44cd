import { createBlock } from "@ethereumjs/block";
import { Common, Hardfork, Mainnet } from "@ethereumjs/common";
import { createEOACode7702Tx, createLegacyTx } from "@ethereumjs/tx";
import {
  Account,
  createAddressFromPrivateKey,
  createAddressFromString,
  eoaCode7702SignAuthorization,
  hexToBytes,
  type PrefixedHexString,
} from "@ethereumjs/util";
import { createVM, runTx } from "@ethereumjs/vm";
import { describe, expect, it } from "vitest";
import { tracesOfCallFrame } from "./call-tree.ts";
import { intrinsicGas } from "./gas.ts";
import { floorGas, precompileGas, setsCode } from "./precompile-gas.ts";

const RULES = { isHomestead: true, isIstanbul: true, isShanghai: true };
const KEY = new Uint8Array(32).fill(7);
const OTHER_KEY = new Uint8Array(32).fill(8);
const SENDER = createAddressFromPrivateKey(KEY);
const OTHER = createAddressFromPrivateKey(OTHER_KEY);
const common = new Common({ chain: Mainnet, hardfork: Hardfork.Prague });
const GAS = 5_000_000;

type Sent = { readonly to: PrefixedHexString; readonly data: PrefixedHexString };

const addressOf = (number: number): PrefixedHexString =>
  `0x${number.toString(16).padStart(40, "0")}`;

/** Runs the transaction on a chain of Prague. @returns The gas that execution took, and the gas that the trace tells. */
async function traced({ to, data }: Sent, { withAuthorization = false } = {}) {
  const vm = await createVM({ common });
  for (const address of [SENDER, OTHER])
    await vm.stateManager.putAccount(address, new Account(0n, 10n ** 20n));
  const fields = { nonce: 0n, gasLimit: BigInt(GAS), to: createAddressFromString(to), value: 3n };
  const sent = hexToBytes(data);
  const list = withAuthorization
    ? [
        eoaCode7702SignAuthorization(
          { chainId: "0x1", address: `0x${"cd".repeat(20)}`, nonce: "0x0" },
          OTHER_KEY,
        ),
      ]
    : [];
  const tx = withAuthorization
    ? createEOACode7702Tx(
        {
          ...{ ...fields, data: sent, chainId: 1n, authorizationList: list },
          ...{ maxFeePerGas: 10n ** 9n, maxPriorityFeePerGas: 0n },
        },
        { common },
      ).sign(KEY)
    : createLegacyTx({ ...fields, data: sent, gasPrice: 10n ** 9n }, { common }).sign(KEY);
  const header = { gasLimit: 30_000_000n, baseFeePerGas: 7n };
  const block = createBlock({ header }, { common });
  const { totalGasSpent, execResult } = await runTx(vm, { tx, block });
  expect(execResult.exceptionError).toBeUndefined();
  const told = { to, input: data, ...(withAuthorization && { authorizationList: list }) };
  const options = {
    ...{ intrinsicGas: intrinsicGas(told, { isCreate: false, rules: RULES }), gasLimit: GAS },
    ...{ floorGas: floorGas(told), setsCode: setsCode(told) },
  };
  const frame = {
    ...{ type: "CALL", from: `${SENDER}`, to, value: "0x3", input: data, output: "0x" },
    ...{ gas: `0x${GAS.toString(16)}`, gasUsed: `0x${totalGasSpent.toString(16)}` },
  };
  const [top] = tracesOfCallFrame(frame, options) ?? [];
  return { want: Number(execResult.executionGasUsed), got: Number(top?.result?.["gasUsed"]) };
}

const filled = (bytes: number, byte = "ff"): PrefixedHexString => `0x${byte.repeat(bytes)}`;
const BLAKE2F: PrefixedHexString = `0x00000009${"ee".repeat(208)}01`;

describe("the gas that a precompiled contract took at the top", () => {
  it.each([
    { of: "identity with one byte", to: 4, data: filled(1), floored: true },
    { of: "identity with nothing", to: 4, data: filled(0), floored: false },
    { of: "identity with zeros", to: 4, data: filled(100, "00"), floored: true },
    { of: "identity with many bytes", to: 4, data: filled(4_000), floored: true },
    { of: "ecrecover with few bytes", to: 1, data: filled(10), floored: false },
    { of: "ecrecover with many bytes", to: 1, data: filled(400), floored: true },
    { of: "sha256", to: 2, data: filled(65), floored: true },
    { of: "ripemd160", to: 3, data: filled(200), floored: true },
    { of: "a sum of points", to: 6, data: filled(128, "00"), floored: true },
    { of: "a product of points", to: 7, data: filled(1_100, "00"), floored: true },
    { of: "a pairing", to: 8, data: filled(192, "00"), floored: false },
    { of: "blake2f", to: 9, data: BLAKE2F, floored: true },
    { of: "a sum of BLS12-381", to: 11, data: filled(256, "00"), floored: true },
    { of: "a sum of BLS12-381 in G2", to: 13, data: filled(512, "00"), floored: true },
    { of: "a pairing of BLS12-381", to: 15, data: filled(384, "00"), floored: false },
  ])("is what @ethereumjs/vm counts: $of", async ({ to, data, floored }) => {
    const { want, got } = await traced({ to: addressOf(to), data });
    expect(got).toBe(want);
    expect(precompileGas(addressOf(to), data)).toBe(want);
    const intrinsic = intrinsicGas({ input: data }, { isCreate: false, rules: RULES }) ?? 0;
    expect((floorGas({ input: data }) ?? 0) > intrinsic + want).toBe(floored);
  });

  it("is that of a value and data straight to 0x04, and not the rest of the floor", async () => {
    expect(await traced({ to: addressOf(4), data: filled(2) })).toEqual({ want: 18, got: 18 });
  });

  it.each([4, 2])("is not less by the refund of an authorization: %s", async (to) => {
    const { want, got } = await traced(
      { to: addressOf(to), data: filled(3) },
      { withAuthorization: true },
    );
    expect(got).toBe(want);
  });

  it.each([
    ["an account", `0x${"ab".repeat(20)}`, "0x"],
    ["modexp, whose price changed", addressOf(5), "0x"],
    ["no address", undefined, "0x"],
    ["too few bytes for rounds", addressOf(9), "0x00"],
    ["no data", addressOf(4), 7],
  ])("is not known of %s", (_, to, input) => {
    expect(precompileGas(to, input)).toBeUndefined();
  });
});
