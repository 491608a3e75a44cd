// Successful calls of every kind, and their effects on the state.
import { call, placeOf, write } from "./assembler.ts";
import { type Case, callees, calling } from "./case.ts";

const { returner, keeper, stopper, nobody } = callees;
const value = { value: "0x64" };
const rich = { balance: 1_000_000n };
const precompile = (number: number): string => `0x${number.toString(16).padStart(40, "0")}`;

export const callCases: readonly Case[] = [
  { name: "a transfer", transaction: { to: nobody, value: "0x7" } },
  {
    name: "a transfer of nothing to nobody",
    transaction: { to: placeOf("nothing"), data: "0x01" },
  },
  calling("a contract that only stops", "STOP", { transaction: value }),
  calling("code that ends without a STOP", "0x01 0x02 ADD POP 0x01"),
  calling("a call with value", `${call({ to: keeper, value: "0x05" })} POP`, rich),
  calling(
    "a call with data and output",
    `${write("0x11223344")} ${call({ to: returner, input: ["0x00", "0x04"], output: ["0x20", "0x40"] })}
     0x20 MLOAD POP RETURNDATASIZE 0x00 0x80 RETURNDATACOPY 0x40 0x80 RETURN`,
  ),
  calling(
    "a call whose output is longer than its place",
    `${call({ to: returner, output: ["0x21", "0x05"] })} MSIZE POP POP`,
  ),
  calling(
    "a call whose output is shorter than its place",
    `${write(`0x${"ff".repeat(160)}`)} ${call({ to: returner, output: ["0x00", "0xa0"] })} POP`,
  ),
  calling("a callcode", `${call({ to: keeper, kind: "CALLCODE", value: "0x09" })} POP`, rich),
  calling("a delegatecall with the value of its caller", delegating(keeper), {
    transaction: value,
  }),
  calling("a delegatecall inside of a call with value", call({ to: placeOf("d"), value: "0x11" }), {
    ...rich,
    accounts: { [placeOf("d")]: calling("d", delegating(keeper)).accounts?.[placeOf("d")] ?? {} },
  }),
  calling("a staticcall", `${call({ to: returner, kind: "STATICCALL" })} POP STOP`),
  calling("a call inside of a staticcall", `${call({ to: placeOf("s"), kind: "STATICCALL" })}`, {
    accounts: { ...calling("s", call({ to: returner })).accounts },
  }),
  calling("a call of an account without code", `${call({ to: nobody })} POP`),
  calling("a call that bears an account", call({ to: placeOf("baby"), value: "0x01" }), rich),
  calling("a call with too little balance", `${call({ to: stopper, value: "0x01" })} POP`),
  calling("a call of itself", `CALLDATASIZE 0x11 JUMPI ${toItself()} JUMPDEST STOP`),
  calling(
    "60 calls inside of each other",
    `0x00 CALLDATALOAD DUP1 ISZERO 0x1d JUMPI 0x01 SWAP1 SUB 0x00 MSTORE
     0x00 0x00 0x20 0x00 0x00 ADDRESS GAS CALL POP JUMPDEST STOP`,
    { transaction: { data: `0x${"3c".padStart(64, "0")}` } },
  ),
  calling("a precompile", `${hashing(2)} 0x40 MLOAD POP`),
  calling("a precompile with value", `${hashing(3, "0x03")} POP`, rich),
  calling("a precompile by delegatecall", call({ to: precompile(2), kind: "DELEGATECALL" })),
  calling("a precompile by callcode", call({ to: precompile(4), kind: "CALLCODE" })),
  { name: "a precompile at the top", transaction: { to: precompile(4), data: "0x0102", ...value } },
  ...[1, 2, 3, 4, 9, 11].map((number) => ({
    name: `precompile ${number} at the top, below the floor of its data`,
    transaction: { to: precompile(number), data: inputOf(number), ...value },
  })),
  calling("a contract that takes less than the floor of its data", "0x01 0x02 ADD POP", {
    transaction: { data: `0x${"77".repeat(900)}` },
  }),
  calling("a precompile that fails", `${badPoint("0x00")} POP`),
  calling("a precompile that fails with value", `${badPoint("0x01")} POP`, rich),
  calling("a precompile without enough gas", call({ to: precompile(2), gas: "0x10" })),
  calling("memory that is copied", `${write("0x1122334455")} 0x05 0x00 0x43 MCOPY 0x43 MLOAD POP`),
  calling(
    "bytes in memory",
    "0xabcd 0x45 MSTORE8 0x03 0x00 0x25 CODECOPY 0x20 0x05 0x60 CALLDATACOPY 0x60 MLOAD POP",
    { transaction: { data: `0x${"99".repeat(9)}` } },
  ),
];

/** Delegates the call with its value. */
function delegating(to: string): string {
  return `${call({ to, kind: "DELEGATECALL", output: ["0x00", "0x20"] })} POP CALLVALUE POP`;
}

/** Calls itself with one byte of data. */
function toItself(): string {
  return call({ to: "ADDRESS", input: ["0x00", "0x01"] });
}

function hashing(number: number, sent = "0x00"): string {
  const areas = { input: ["0x00", "0x20"], output: ["0x40", "0x20"] } as const;
  return `${write("0x616263")} ${call({ to: precompile(number), value: sent, ...areas })}`;
}

/** Adds points that are not on the curve (EIP-196). */
function badPoint(sent: string): string {
  const input = ["0x00", "0x40"] as const;
  return `${write("0x01")} ${call({ to: precompile(6), value: sent, gas: "0x2000", input })}`;
}

/** Data for which the floor is more than execution takes. */
function inputOf(number: number): string {
  if (number === 9) return `0x00000003${"ee".repeat(208)}01`;
  return `0x${number === 11 ? "00".repeat(256) : "ff".repeat(600)}`;
}
