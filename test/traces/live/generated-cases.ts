// Random contracts that call each other: the traces must tell exactly what they do.
import { Random } from "../../support/generated-chain/random.ts";
import { asm, call, create, placeOf } from "./assembler.ts";
import { type Case, callees, calling } from "./case.ts";

export const generatedCases = (count: number): readonly Case[] =>
  Array.from({ length: count }, (_, at) => caseOf(at + 1));

function caseOf(seed: number): Case {
  const random = new Random(seed);
  const name = `chance ${seed}`;
  const [middle, last] = [placeOf(`${name}, middle`), placeOf(`${name}, last`)];
  const { stopper, returner, reverter, keeper, nobody } = callees;
  const known = [stopper, returner, reverter, keeper, nobody, `0x${"2".padStart(40, "0")}`];
  const accounts = {
    [middle]: { code: asm(program(random, [last, ...known])), balance: 1_000n },
    [last]: { code: asm(program(random, known)), balance: 1_000n, storage: { 1: 1, 2: 2 } },
  };
  const gas = random.one(["0x10000", "0x30000", "0x60000"]);
  const transaction = { gas, data: random.hex(40), value: random.one(["0x0", "0x3"]) };
  return calling(name, program(random, [middle, middle, last, ...known]), {
    ...{ accounts, transaction, balance: 1_000n },
    storage: { 1: 1, 2: 2 },
  });
}

function program(random: Random, others: readonly string[]): string {
  const statements = Array.from({ length: random.between([4, 24]) }, () =>
    statement(random, others),
  );
  return [...statements, ending(random, others)].join(" ");
}

/** A random statement; most of them leave one more item on the stack. */
function statement(random: Random, others: readonly string[]): string {
  const small = () => `0x${random.below(4).toString().padStart(2, "0")}`;
  const place = () => `0x${random.below(160).toString(16).padStart(2, "0")}`;
  const plain = random.below(20);
  if (plain < 5) return `${random.hex(random.between([1, 32]))} ${small()} ${random.one(binary)}`;
  if (plain < 7) return random.one(single);
  if (plain < 9) return `${small()} ${small()} ${random.one(["SSTORE", "TSTORE"])}`;
  if (plain < 10) return `${small()} ${random.one(["SLOAD", "TLOAD", "CALLDATALOAD"])}`;
  if (plain < 11) return `${random.hex(32)} ${place()} ${random.one(["MSTORE", "MSTORE8"])}`;
  if (plain < 12) return `${place()} ${place()} ${place()} ${random.one(copies)}`;
  if (plain < 13) return `RETURNDATASIZE 0x00 ${place()} RETURNDATACOPY ${place()} MLOAD`;
  if (plain < 14) return `${place()} ${place()} ${random.one(["LOG0", "KECCAK256"])}`;
  if (plain < 15)
    return `0x01 0x02 0x03 0x04 ${random.one(["DUP1", "DUP2", "SWAP1", "SWAP3", "POP", "DUP4 SWAP3"])}`;
  if (plain < 16)
    return create(asm(program(random, [])), { value: small(), salt: random.one(salts) });
  const kind = random.one(["CALL", "CALL", "CALLCODE", "DELEGATECALL", "STATICCALL"] as const);
  const areas = { input: [place(), place()], output: [place(), place()] } as const;
  const gas = random.one(["GAS", "GAS", "0x0400", "0xffff"]);
  return call({
    to: random.one(others.length > 0 ? others : ["ADDRESS"]),
    kind,
    gas,
    value: small(),
    ...areas,
  });
}

function ending(random: Random, others: readonly string[]): string {
  const chance = random.below(16);
  if (chance < 5) return "0x40 0x20 RETURN";
  if (chance < 8) return "STOP";
  if (chance < 10) return "0x24 0x00 REVERT";
  if (chance < 11) return `${random.one([...others, placeOf("heir")])} SELFDESTRUCT`;
  return chance < 13 ? random.one(["INVALID", "0x00 JUMP", "POP POP POP ADD"]) : "";
}

const salts = ["", "0x01", "0x02"];
const copies = ["CALLDATACOPY", "CODECOPY", "MCOPY"];
const single = ["ADDRESS", "CALLER", "CALLVALUE", "SELFBALANCE", "MSIZE", "GAS", "PC", "PUSH0 CLZ"];
const binary = ["ADD", "MUL", "SUB", "DIV", "SDIV", "MOD", "EXP", "LT", "EQ", "BYTE", "SHL", "SAR"];
