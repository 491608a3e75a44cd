import { Common, Hardfork, Mainnet } from "@ethereumjs/common";
import { createTx } from "@ethereumjs/tx";
import fc from "fast-check";
import { expect, it } from "vitest";
import { intrinsicGas } from "./intrinsic-gas.ts";

const frontier = { isHomestead: false, isIstanbul: false, isShanghai: false };
const homestead = { ...frontier, isHomestead: true };
const istanbul = { ...homestead, isIstanbul: true };
const shanghai = { ...istanbul, isShanghai: true };
const address = `0x${"ab".repeat(20)}` as const;
const slot = `0x${"cd".repeat(32)}` as const;

it.each([
  [Hardfork.Chainstart, frontier],
  [Hardfork.Homestead, homestead],
  [Hardfork.Istanbul, istanbul],
  [Hardfork.Shanghai, shanghai],
  [Hardfork.Prague, shanghai],
])("is what ethereumjs says in %s", (hardfork, rules) => {
  const common = new Common({ chain: Mainnet, hardfork });
  const [least, most] = [fc.constant(0), fc.integer({ min: 1, max: 255 })];
  const bytes = fc.array(fc.oneof(least, most), { maxLength: 200 });
  fc.assert(
    fc.property(bytes, fc.boolean(), (input, isCreate) => {
      const data = Uint8Array.from(input);
      const tx = createTx({ data, ...(isCreate ? {} : { to: address }) }, { common });
      const told = { input: `0x${Buffer.from(data).toString("hex")}` };
      expect(intrinsicGas(told, { isCreate, rules })).toBe(Number(tx.getIntrinsicGas()));
    }),
  );
});

it("counts access lists and authorizations, which have their own transactions", () => {
  const common = new Common({ chain: Mainnet, hardfork: Hardfork.Prague });
  const accessList = [
    { address, storageKeys: [slot, slot] },
    { address, storageKeys: [] },
  ];
  const gas = (told: object) => intrinsicGas({ ...told }, { isCreate: false, rules: shanghai });
  const listed = createTx({ type: 1, to: address, accessList }, { common });
  expect(gas({ type: "0x1", accessList })).toBe(Number(listed.getIntrinsicGas()));
  expect(gas({ accessList, authorizationList: [{}, {}] })).toBe(21_000 + 4_800 + 3_800 + 50_000);
  expect(gas({ accessList: null, authorizationList: null })).toBe(21_000);
  expect(gas({ data: "0x01" })).toBe(21_016);
});

it.each([
  { input: "0x1" },
  { input: 1 },
  { accessList: {} },
  { accessList: [null] },
  { accessList: [{ address, storageKeys: "0x" }] },
  { authorizationList: "0x" },
])("says nothing of %j", (told) => {
  expect(intrinsicGas(told, { isCreate: false, rules: shanghai })).toBeUndefined();
});
