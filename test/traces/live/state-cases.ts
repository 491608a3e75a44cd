// Effects of transactions on storage, balances and accounts, and all types of transactions.
import { asm, call, create, placeOf } from "./assembler.ts";
import { type Case, callees, calling } from "./case.ts";

const { keeper, reverter } = callees;
const paid = { value: "0x64" };
const stored = { storage: { 1: 5 } };
const heir = placeOf("heir");
/** Code that destroys its contract in favour of the heir. */
const doomed = asm(`${heir} SELFDESTRUCT`);
const old = placeOf("old and doomed");
const oldIs = (balance: bigint) => ({ accounts: { [old]: { code: doomed, balance } } });

export const stateCases: readonly Case[] = [
  calling("a slot that was zero", "0x07 0x00 SSTORE"),
  calling("a slot that changes", "0x07 0x01 SSTORE 0x01 SLOAD POP", stored),
  calling("a slot that becomes zero", "0x00 0x01 SSTORE", stored),
  calling("a slot that changes and changes back", "0x07 0x01 SSTORE 0x05 0x01 SSTORE", stored),
  calling("a slot that is written with what it has", "0x05 0x01 SSTORE", stored),
  calling("slots far apart", `0x01 0x${"ff".repeat(32)} SSTORE 0x02 0x${"80".repeat(16)} SSTORE`),
  calling("a slot that a revert gives back", "0x07 0x01 SSTORE 0x00 0x00 REVERT", stored),
  calling(
    "a slot that a callee's revert gives back",
    `${call({ to: placeOf("back") })} POP 0x01 0x00 SSTORE`,
    { accounts: calling("back", "0x07 0x00 SSTORE 0x00 0x00 REVERT").accounts ?? {} },
  ),
  calling("transient storage", "0x07 0x01 TSTORE 0x01 TLOAD 0x02 SSTORE 0x01 SLOAD POP"),
  calling("logs", "0x20 0x00 LOG0 0x01 0x20 0x00 LOG1 0x04 0x03 0x02 0x01 0x40 0x20 LOG4"),
  calling("every view of the block and its accounts", views()),
  calling("the stack's depths", `${deep()} DUP16 SWAP16 DUP1 SWAP1 ADD PUSH0 CLZ`),
  calling("the end of an old contract", call({ to: old }), oldIs(77n)),
  calling("the end of an old contract with nothing", call({ to: old }), {
    accounts: { [placeOf("poor")]: { code: doomed } },
  }),
  { name: "the end of the top contract", ...oldIs(3n), transaction: { to: old, ...paid } },
  calling("an end of an old contract that inherits from itself", "ADDRESS SELFDESTRUCT", {
    balance: 9n,
  }),
  calling("the end of a contract of the same transaction", create(doomed, { value: "0x05" }), {
    balance: 5n,
  }),
  calling("a contract that dies after it was born", `${create(bornWith(doomed))} ${callTop()}`),
  calling("an end that a revert takes back", `${call({ to: old })} 0x00 0x00 REVERT`, oldIs(1n)),
  calling("an access list", `0x01 SLOAD POP ${call({ to: keeper })}`, {
    transaction: { accessList: [{ address: keeper, storageKeys: [`0x${"0".repeat(64)}`] }] },
  }),
  calling("a transaction with a gas price", "STOP", { transaction: { gasPrice: "0xba43b7400" } }),
  { name: "a transaction that reverts", transaction: { to: reverter, data: "0x00ff" } },
  calling("a refund", "0x00 0x01 SSTORE 0x00 0x02 SSTORE", { storage: { 1: 1, 2: 2 } }),
];

/** Init code for a contract of at most 32 bytes. */
function bornWith(runtime: string): string {
  const size = (runtime.length - 2) / 2;
  return asm(`${runtime} 0x00 MSTORE ${oneByte(size)} ${oneByte(32 - size)} RETURN`);
}

/** Calls the address on top of the stack. */
function callTop(): string {
  return "0x00 0x00 0x00 0x00 0x00 DUP6 GAS CALL";
}

function views(): string {
  const single = "ADDRESS ORIGIN CALLER CALLVALUE CODESIZE GASPRICE COINBASE TIMESTAMP NUMBER";
  const more = "PREVRANDAO GASLIMIT CHAINID SELFBALANCE BASEFEE BLOBBASEFEE PC MSIZE GAS";
  const ofKeeper = ["BALANCE", "EXTCODESIZE", "EXTCODEHASH"].map((name) => `${keeper} ${name}`);
  return `${single} ${more} ${ofKeeper.join(" ")} 0x20 0x00 0x20 ${keeper} EXTCODECOPY 0x20 0x00 KECCAK256`;
}

function deep(): string {
  return Array.from({ length: 17 }, (_, at) => oneByte(at + 1)).join(" ");
}

function oneByte(value: number): string {
  return `0x${value.toString(16).padStart(2, "0")}`;
}
