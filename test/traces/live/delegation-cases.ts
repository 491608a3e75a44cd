// Accounts with a key that delegate to a contract's code (EIP-7702).
import {
  eoaCode7702AuthorizationListBytesItemToJSON,
  eoaCode7702SignAuthorization,
  type PrefixedHexString,
  privateToAddress,
} from "@ethereumjs/util";
import { EVM_CHAIN_ID } from "../../../packages/devnet/src/evm-activity.ts";
import { asm, call, placeOf } from "./assembler.ts";
import { type Case, callees, calling } from "./case.ts";

const key = Buffer.alloc(32, 0x77);
const authority = `0x${Buffer.from(privateToAddress(key)).toString("hex")}`;
const emptied = { address: `0x${"0".repeat(40)}`, nonce: 4 };
const { keeper, returner } = callees;

/** The cases build on each other: each uses the account's next nonce. */
export const delegationCases: readonly Case[] = [
  {
    name: "a delegation",
    // anvil refunds as if every account existed, so this account must exist.
    accounts: { [authority]: { balance: 1n } },
    transaction: { to: callees.stopper, ...delegating({ address: keeper, nonce: 0 }) },
  },
  { name: "a delegated account at the top", transaction: { to: authority, value: "0x5" } },
  calling("a call of a delegated account", call({ to: authority, value: "0x01" }), { balance: 5n }),
  calling("a staticcall of a delegated account", call({ to: authority, kind: "STATICCALL" })),
  {
    name: "a delegation to another, and a call of it",
    transaction: { to: authority, data: "0xff", ...delegating({ address: returner, nonce: 1 }) },
  },
  {
    name: "a delegation with a wrong nonce",
    transaction: { to: authority, ...delegating({ address: keeper, nonce: 9 }) },
  },
  {
    name: "a delegation that stays though the call reverts",
    transaction: { to: callees.reverter, ...delegating({ address: placeOf("deputy"), nonce: 2 }) },
    accounts: { [placeOf("deputy")]: { code: asm(call({ to: returner })) } },
  },
  {
    name: "the sender's refund for a delegation, beside a precompile at the top",
    transaction: {
      ...{ to: `0x${"4".padStart(40, "0")}`, data: "0xffee" },
      ...delegating({ address: keeper, nonce: 3 }),
    },
  },
  calling("a delegatecall of a delegated account", call({ to: authority, kind: "DELEGATECALL" })),
  {
    name: "the end of a delegation",
    transaction: { to: callees.stopper, ...delegating(emptied) },
  },
];

function delegating({ address, nonce }: { address: string; nonce: number }) {
  const hex = (value: number): PrefixedHexString => `0x${value.toString(16)}`;
  const unsigned = {
    chainId: hex(EVM_CHAIN_ID),
    address: address as PrefixedHexString,
    nonce: nonce === 0 ? ("0x" as const) : hex(nonce),
  };
  const signed = eoaCode7702SignAuthorization(unsigned, key);
  const item = eoaCode7702AuthorizationListBytesItemToJSON(signed);
  return { authorizationList: [{ ...item, nonce: hex(nonce) }] };
}
