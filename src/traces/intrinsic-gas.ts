// What a transaction pays before its first instruction. OpenEthereum's traces leave it out, geth's count it in.
import { isData } from "../evm/values.ts";
import { isAbsent, isJson, type Json } from "../proofs/json.ts";

/** Access lists and authorizations need no fork: before theirs no transaction has any. */
export type GasRules = {
  readonly isHomestead: boolean;
  readonly isIstanbul: boolean;
  readonly isShanghai: boolean;
};

/** Of networks that are older than these forks; all others began with both, and have Shanghai with withdrawals. */
const FORKS: ReadonlyMap<number, { homestead?: number; istanbul: number; shanghai?: number }> =
  new Map([
    [1, { homestead: 1_150_000, istanbul: 9_069_000 }],
    [3, { istanbul: 6_485_846 }], // Ropsten
    [4, { homestead: 1, istanbul: 5_435_345 }], // Rinkeby
    [5, { istanbul: 1_561_651 }], // Görli
    [42, { istanbul: 14_111_141 }], // Kovan
    [61, { homestead: 1_150_000, istanbul: 10_500_839, shanghai: 19_250_000 }], // Ethereum Classic: Phoenix, Spiral
    [63, { istanbul: 999_983, shanghai: 9_957_000 }], // Mordor: Phoenix, Spiral
    [100, { istanbul: 7_298_030 }], // Gnosis
    [137, { istanbul: 3_395_000, shanghai: 50_523_000 }], // Polygon: Agra
  ]);

/** @param hasWithdrawals What blocks have since Shanghai, where there are any. */
export function gasRulesAt(block: number, chainId: number, hasWithdrawals: boolean): GasRules {
  const { homestead = 0, istanbul = 0, shanghai } = FORKS.get(chainId) ?? {};
  return {
    isHomestead: block >= homestead,
    isIstanbul: block >= istanbul,
    isShanghai: hasWithdrawals || (shanghai !== undefined && block >= shanghai),
  };
}

const TRANSACTION = 21_000;
const CREATION = 32_000; // EIP-2
const ZERO_BYTE = 4;
const OTHER_BYTE = 16; // EIP-2028
const OTHER_BYTE_BEFORE_ISTANBUL = 68;
const INIT_CODE_WORD = 2; // EIP-3860
const LISTED_ADDRESS = 2_400; // EIP-2930
const LISTED_SLOT = 1_900;
const AUTHORIZATION = 25_000; // EIP-7702

/** Without the floor of EIP-7623: it is paid after execution. Undefined when a field cannot be read. */
export function intrinsicGas(
  transaction: Json,
  { isCreate, rules }: { readonly isCreate: boolean; readonly rules: GasRules },
): number | undefined {
  const input = transaction["input"] ?? transaction["data"] ?? "0x";
  const lists = accessListGas(transaction["accessList"]);
  const authorizations = lengthOf(transaction["authorizationList"]);
  if (!isData(input) || lists === undefined || authorizations === undefined) return undefined;
  const base = isCreate && rules.isHomestead ? TRANSACTION + CREATION : TRANSACTION;
  const words = Math.ceil((input.length - 2) / 64);
  const initCode = isCreate && rules.isShanghai ? INIT_CODE_WORD * words : 0;
  return base + inputGas(input, rules) + initCode + lists + AUTHORIZATION * authorizations;
}

function inputGas(input: string, { isIstanbul }: GasRules): number {
  const otherByte = isIstanbul ? OTHER_BYTE : OTHER_BYTE_BEFORE_ISTANBUL;
  let gas = 0;
  for (const byte of Buffer.from(input.slice(2), "hex")) gas += byte === 0 ? ZERO_BYTE : otherByte;
  return gas;
}

function accessListGas(list: unknown): number | undefined {
  if (isAbsent(list)) return 0;
  if (!Array.isArray(list)) return undefined;
  let gas = 0;
  for (const entry of list as readonly unknown[]) {
    const slots = isJson(entry) ? lengthOf(entry["storageKeys"]) : undefined;
    if (slots === undefined) return undefined;
    gas += LISTED_ADDRESS + LISTED_SLOT * slots;
  }
  return gas;
}

const lengthOf = (list: unknown): number | undefined => {
  if (isAbsent(list)) return 0;
  return Array.isArray(list) ? list.length : undefined;
};
