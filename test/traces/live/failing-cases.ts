// Every kind of failure, at the top and inside a call.
import { asm, call, placeOf } from "./assembler.ts";
import { type Case, calling } from "./case.ts";

const failures: Readonly<Record<string, string>> = {
  "no more gas in the middle": "JUMPDEST ADDRESS BALANCE POP 0x00 JUMP",
  "no more gas for a store": "0x01 0x02 SSTORE 0x01 0x03 SSTORE 0x01 0x04 SSTORE",
  "no more gas for memory": "0x00 0x01000000 MSTORE",
  "no more gas for endless memory": `0x00 0x${"ff".repeat(32)} MSTORE`,
  "no more gas for a call": ["0x1234", "0x2345"].map((to) => call({ to, value: "0x01" })).join(" "),
  "an invalid instruction": "0x01 INVALID",
  "an undefined instruction": "0x01 (0x0c)",
  "an empty stack": "0x01 ADD",
  "an empty stack for a DUP": "0x01 DUP2",
  "an empty stack for a SWAP": "0x01 SWAP1",
  "an empty stack for a call": "0x01 CALL",
  "a bad jump": "0x04 JUMP STOP",
  "a bad jump on a condition": "0x01 0x06 JUMPI STOP",
  "a jump into data": "0x04 JUMP 0x5b5b",
  "a revert with output": "0xcafe 0x00 MSTORE 0x20 0x00 REVERT",
  "a revert without output": "0x00 0x00 REVERT",
  "return data out of bounds": "0x01 0x00 0x00 RETURNDATACOPY",
  // This is the last case: the node keeps a copy of the stack for every step.
  "a full stack": Array.from({ length: 1025 }, () => "PUSH0").join(" "),
};

/** Operations that a STATICCALL forbids. */
const changes: Readonly<Record<string, string>> = {
  "a store": "0x01 0x00 SSTORE",
  "a transient store": "0x01 0x00 TSTORE",
  "a log": "0x00 0x00 LOG0",
  "a create": "0x00 0x00 0x00 CREATE",
  "a create2": "0x00 0x00 0x00 0x00 CREATE2",
  "a call with value": call({ to: placeOf("nobody"), value: "0x01" }),
  "an end": "ADDRESS SELFDESTRUCT",
};

const GAS = "0x6000";

export const failingCases: readonly Case[] = [
  ...Object.entries(changes).map(([name, source]) => insideOf(name, source, "STATICCALL")),
  calling("a failure three calls below", call({ to: placeOf("one below") }), {
    accounts: {
      [placeOf("one below")]: { code: asm(`${call({ to: placeOf("two below") })} INVALID`) },
      [placeOf("two below")]: {
        code: asm(`${call({ to: placeOf("three below") })} 0x00 0x00 REVERT`),
      },
      [placeOf("three below")]: { code: asm("POP") },
    },
  }),
  ...Object.entries(failures).flatMap(([name, source]) => [
    calling(`${name} at the top`, source, { transaction: { gas: "0x10000" }, balance: 5n }),
    insideOf(name, source, "CALL"),
  ]),
];

function insideOf(name: string, source: string, kind: "CALL" | "STATICCALL"): Case {
  const to = placeOf(`${name} by ${kind}`);
  const called = call({ to, kind, gas: GAS, output: ["0x00", "0x20"] });
  return calling(`${name} inside of a ${kind}`, `${called} RETURNDATASIZE POP POP 0x01`, {
    accounts: { [to]: { code: asm(source), balance: 5n } },
  });
}
