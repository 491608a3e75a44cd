// Successful and failing creations of contracts.
import { bytesToHex, generateAddress2, setLengthLeft } from "@ethereumjs/util";
import { asm, call, create, initOf, placeOf } from "./assembler.ts";
import { type Case, callees, calling } from "./case.ts";

const kept = "0x600160015500";
const callTop = "0x00 0x00 0x00 0x00 0x00 DUP6 GAS CALL";
/** Creates twice with the same salt and the same init code. */
const twice = `${create(initOf(kept), { salt: "0x05" })} ${create(initOf(kept), { salt: "0x05" })}`;
const rich = { balance: 1_000n };
const failing: Readonly<Record<string, string>> = {
  "an init code that reverts": asm("0xdead 0x00 MSTORE 0x20 0x00 REVERT"),
  "an init code that runs out of gas": asm("0x01 0x00 SSTORE 0x00 0x01000000 MSTORE"),
  "an init code that is invalid": asm("0x01 0x02 INVALID"),
  "a code that is too large": asm("0x6001 0x00 RETURN"),
  "a code that is forbidden": asm("0xef 0x00 MSTORE8 0x01 0x00 RETURN"),
};

export const creatingCases: readonly Case[] = [
  calling("a create", `${create(initOf(kept))} EXTCODESIZE POP`),
  calling("a create with value", create(initOf(kept), { value: "0x0a" }), rich),
  calling("a create2", create(initOf(kept), { salt: "0x05" })),
  calling("a create without init code", "0x00 0x00 0x00 CREATE"),
  calling("a create of a contract without code", create(asm("0x01 0x00 SSTORE"))),
  calling("a create, and a call of what it made", `${create(initOf(kept))} ${callTop}`),
  calling("a create inside of a create", create(asm(`${create(initOf(kept))} STOP`))),
  calling("an init code that calls", create(asm(`${call({ to: callees.returner })} STOP`))),
  calling("a create with too little balance", create(initOf(kept), { value: "0x01" })),
  calling("a create whose code costs too much gas", create(asm("0x5000 0x00 RETURN")), {
    transaction: { gas: "0x30000" },
  }),
  calling("a create at a place that is taken", `${twice} POP`),
  calling("an init code that is too large", "0x00 0xc001 0x00 0x00 CREATE"),
  ...Object.entries(failing).map(([name, init]) =>
    calling(`a create of ${name}`, `${create(init)} RETURNDATASIZE POP POP`),
  ),
  {
    name: "a creation that takes less than the floor of its data",
    transaction: { data: `0x00${"77".repeat(2_000)}` },
  },
  ...Object.entries(failing).map(([name, data]) => ({
    name: `a transaction of ${name}`,
    transaction: { data },
  })),
  { name: "a transaction that creates", transaction: { data: initOf(kept), value: "0x3" } },
  { name: "a transaction that creates nothing", transaction: { data: "0x" } },
  {
    name: "a transaction that creates a contract that calls",
    transaction: { data: asm(`${call({ to: callees.keeper, value: "0x01" })} STOP`), value: "0x9" },
  },
  calling("a place where money waited", create(initOf(kept), { salt: "0x01" }), {
    accounts: { [addressOf("a place where money waited", 1)]: rich },
  }),
  calling("a place with a nonce", create(initOf(kept), { salt: "0x02" }), {
    accounts: { [addressOf("a place with a nonce", 2)]: { code: "0x00" } },
  }),
];

/** The address of a contract that the contract of this name creates with CREATE2. */
function addressOf(name: string, salt: number): string {
  const word = setLengthLeft(Uint8Array.of(salt), 32);
  return bytesToHex(generateAddress2(bytes(placeOf(name)), word, bytes(initOf(kept))));
}

function bytes(hex: string): Uint8Array {
  return Buffer.from(hex.slice(2), "hex");
}
