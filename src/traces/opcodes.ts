// The operations of the EVM, by the names that nodes use: how many stack entries each takes and gives, and where it
// writes memory.

export type Operation = {
  readonly name: string;
  readonly takes: number;
  readonly gives: number;
  /** The stack entries, counted from the top, with the offset and the size of the memory that the operation writes. */
  readonly written?: { readonly offset: number; readonly size: number | "word" | "byte" };
};

type Named = Pick<Operation, "name">;

/** undefined for an opcode that no EVM knows: nodes write "INVALID" or "opcode 0x0c not defined". */
export const operationNamed = (name: string): Operation | undefined =>
  operations.get(name) ?? operations.get(aliases[name.toUpperCase()] ?? name.toUpperCase());

export const isCall = ({ name }: Named): boolean =>
  name === "CALL" || name === "CALLCODE" || name === "DELEGATECALL" || name === "STATICCALL";

export const isCreate = ({ name }: Named): boolean => name === "CREATE" || name === "CREATE2";

/** Whether the operation ends its frame as the code meant it: with success, or a revert. */
export const isHalt = ({ name }: Named): boolean =>
  name === "RETURN" || name === "STOP" || name === "REVERT" || name === "SELFDESTRUCT";

export const isJump = ({ name }: Named): boolean => name === "JUMP" || name === "JUMPI";

const aliases: Readonly<Record<string, string>> = {
  SHA3: "KECCAK256",
  DIFFICULTY: "PREVRANDAO",
  RANDOM: "PREVRANDAO",
  SUICIDE: "SELFDESTRUCT",
};

/** "takes gives: names". */
const TABLE = `
0 0: STOP JUMPDEST
0 1: ADDRESS ORIGIN CALLER CALLVALUE CALLDATASIZE CODESIZE GASPRICE RETURNDATASIZE COINBASE TIMESTAMP
0 1: NUMBER PREVRANDAO GASLIMIT CHAINID SELFBALANCE BASEFEE BLOBBASEFEE SLOTNUM PC MSIZE GAS PUSH0
1 0: POP JUMP SELFDESTRUCT
1 1: ISZERO NOT CLZ BALANCE CALLDATALOAD EXTCODESIZE EXTCODEHASH BLOCKHASH BLOBHASH MLOAD SLOAD TLOAD
2 0: MSTORE MSTORE8 SSTORE TSTORE JUMPI RETURN REVERT LOG0
2 1: ADD MUL SUB DIV SDIV MOD SMOD EXP SIGNEXTEND LT GT SLT SGT EQ AND OR XOR BYTE SHL SHR SAR KECCAK256
3 0: CALLDATACOPY CODECOPY RETURNDATACOPY MCOPY LOG1
3 1: ADDMOD MULMOD CREATE
4 0: EXTCODECOPY LOG2
4 1: CREATE2
5 0: LOG3
6 0: LOG4
6 1: DELEGATECALL STATICCALL
7 1: CALL CALLCODE`;

/** For OpenEthereum, Besu and Erigon, MLOAD writes the word that it reads. */
const written: Readonly<Record<string, Operation["written"]>> = {
  MLOAD: { offset: 0, size: "word" },
  MSTORE: { offset: 0, size: "word" },
  MSTORE8: { offset: 0, size: "byte" },
  CALLDATACOPY: { offset: 0, size: 2 },
  CODECOPY: { offset: 0, size: 2 },
  RETURNDATACOPY: { offset: 0, size: 2 },
  MCOPY: { offset: 0, size: 2 },
  EXTCODECOPY: { offset: 1, size: 3 },
  CALL: { offset: 5, size: 6 },
  CALLCODE: { offset: 5, size: 6 },
  DELEGATECALL: { offset: 4, size: 5 },
  STATICCALL: { offset: 4, size: 5 },
};

const operation = (name: string, takes: number, gives: number): [string, Operation] => {
  const area = written[name];
  return [name, { name, takes, gives, ...(area && { written: area }) }];
};

const count = (length: number): readonly number[] =>
  Array.from({ length }, (_, index) => index + 1);

const operations: ReadonlyMap<string, Operation> = new Map([
  ...TABLE.trim()
    .split("\n")
    .flatMap((line) => {
      const [counts = "", names = ""] = line.split(": ");
      const [takes, gives] = counts.split(" ").map(Number);
      return names.split(" ").map((name) => operation(name, takes ?? 0, gives ?? 0));
    }),
  ...count(32).map((size) => operation(`PUSH${size}`, 0, 1)),
  // For OpenEthereum, DUP and SWAP push all stack entries that they reach.
  ...count(16).map((reach) => operation(`DUP${reach}`, reach, reach + 1)),
  ...count(16).map((reach) => operation(`SWAP${reach}`, reach + 1, reach + 1)),
]);
