// Random programs that call and create each other and fail in every way, and the steps that ethereumjs records.
import { createBlock } from "@ethereumjs/block";
import { Common, Hardfork, Mainnet } from "@ethereumjs/common";
import { createLegacyTx } from "@ethereumjs/tx";
import { createAccount, createAddressFromString, hexToBytes } from "@ethereumjs/util";
import { createVM, runTx } from "@ethereumjs/vm";
import fc from "fast-check";
import { recordStructLogs, type Traced } from "./struct-log-recorder.ts";

const KEY = hexToBytes(`0x${"01".repeat(32)}`);
export const SENDER = "0x1a642f0e3c3af545e7acbd38b07251b3990914f1";
/** The addresses of the three programs; the transaction calls the first one. */
export const CONTRACTS = ["1000", "2000", "3000"].map((digits) => `0x${digits.padStart(40, "0")}`);
const [TOP = ""] = CONTRACTS;

const push = (item: bigint | number): string => {
  const digits = item.toString(16);
  const even = digits.padStart(digits.length + (digits.length % 2), "0");
  return (0x5f + even.length / 2).toString(16) + even;
};

const oneOf = (...values: readonly (bigint | number)[]) => fc.constantFrom(...values.map(push));
const small = oneOf(0, 1, 2, 31, 32, 33, 70);
const offset = oneOf(0, 1, 32, 40, 100, 2n ** 34n);
const gas = fc.oneof(
  { weight: 4, arbitrary: fc.constant("5a") },
  oneOf(0, 100, 2300, 20_000, 2n ** 255n),
);
const account = oneOf(0x1000, 0x2000, 0x3000, 1, 2, 4, 5, 9, 0xbeef);
const paidValue = fc.oneof({ weight: 4, arbitrary: fc.constant(push(0)) }, oneOf(1, 2n ** 100n));
const initCode = fc.constantFrom(
  "00",
  "fe",
  "5b600056", // an endless loop
  "60206000fd",
  "600160015500",
  "63600054006000526004601cf3", // leaves code that reads a slot
  "60ef60005360016000f3", // leaves code that EIP-3541 forbids
  "6000600060006000600073000000000000000000000000000000000000200061fffff1",
);

const joined = (...parts: readonly fc.Arbitrary<string>[]) =>
  fc.tuple(...parts).map((all) => all.join(""));
const code = (text: string) => fc.constant(text);

const plain = fc.constantFrom("50", "01", "80", "81", "90", "91", "20", "5a", "59", "5b");
const memory = fc.oneof(
  joined(small, offset, fc.constantFrom("52", "53")),
  joined(offset, code("51")),
  joined(small, small, offset, fc.constantFrom("37", "39", "5e", "3e")),
  joined(small, small, offset, account, code("3c")),
  joined(small, offset, fc.constantFrom("20", "a0")),
);
const storage = joined(small, small, fc.constantFrom("55", "5d")).map((text) => `${text}600154`);
const call = fc.oneof(
  joined(small, offset, small, offset, paidValue, account, gas, fc.constantFrom("f1", "f2")),
  joined(small, offset, small, offset, account, gas, fc.constantFrom("f4", "fa")),
);
const create = fc
  .tuple(initCode, paidValue, fc.boolean(), fc.boolean())
  .map(([init, paid, isSalted, isCalled]) => {
    const size = init.length / 2;
    const place = `${push(BigInt(`0x${init}`))}${push(32 - size)}52`;
    const begin = `${isSalted ? push(7) : ""}${push(size)}${push(0)}${paid}`;
    const shifted = `${push(BigInt(`0x${init.padEnd(64, "0")}`))}${push(0)}52`;
    const callIt = isCalled ? "5f5f5f5f5f855af1" : "";
    return `${size === 32 ? place : shifted}${begin}${isSalted ? "f5" : "f0"}${callIt}`;
  });
const end = fc.oneof(
  code(""),
  fc.constantFrom(
    "00",
    "fe",
    "0c",
    "600056",
    "5f5ffd",
    "5f5ff3",
    "60406001f3",
    "6110005fff",
    "33ff",
  ),
);
const program = fc
  .tuple(
    fc.array(fc.oneof(plain, { weight: 2, arbitrary: memory }, storage, call, create), {
      maxLength: 8,
    }),
    end,
  )
  .map(([parts, last]) => `600160026003600460056006${parts.join("")}${last}`);

export type Programs = { readonly programs: readonly string[]; readonly gasLimit: number };

export const programsByChance: fc.Arbitrary<Programs> = fc.record({
  programs: fc.tuple(program, program, program),
  gasLimit: fc.integer({ min: 30_000, max: 400_000 }),
});

export const CALL_DATA = "0x0102";

export async function runPrograms({ programs, gasLimit }: Programs): Promise<Traced> {
  const common = new Common({ chain: Mainnet, hardfork: Hardfork.Osaka });
  const vm = await createVM({ common });
  const state = vm.stateManager;
  await state.putAccount(createAddressFromString(SENDER), createAccount({ balance: 10n ** 20n }));
  for (const [index, text] of programs.entries()) {
    const at = createAddressFromString(CONTRACTS[index] ?? "");
    await state.putAccount(at, createAccount({ balance: 3n }));
    await state.putCode(at, hexToBytes(`0x${text}`));
  }
  const traced = recordStructLogs(vm);
  const to = createAddressFromString(TOP);
  const fields = { gasLimit, gasPrice: 10, nonce: 0, data: hexToBytes(CALL_DATA), to };
  const tx = createLegacyTx(fields, { common }).sign(KEY);
  const block = createBlock({ header: { gasLimit: 30_000_000, baseFeePerGas: 7 } }, { common });
  await runTx(vm, { tx, block });
  return traced[0] as Traced;
}
