// A contract that emits the logs that its input describes, so that a test can have any logs.

export type Emission = { readonly topics: readonly string[]; readonly data: string };

const word = (digits: string): string => digits.padStart(64, "0");
const ENTRY_BYTES = 256;

/** Input of the contract: each entry is a count, four topics, a length, and two words of data. */
export const inputOf = (emissions: readonly Emission[]): string =>
  `0x${emissions
    .map(({ topics, data }) => {
      const digits = data.slice(2);
      const four = [0, 1, 2, 3].map((index) => (topics[index] ?? "0x").slice(2).padStart(64, "0"));
      const length = word((digits.length / 2).toString(16));
      return [word(topics.length.toString(16)), ...four, length, digits.padEnd(128, "0")].join("");
    })
    .join("")}`;

const push2 = (value: number): string => `61${value.toString(16).padStart(4, "0")}`;
const push1 = (value: number): string => `60${value.toString(16).padStart(2, "0")}`;
const CALLDATASIZE = "36";
const CALLDATACOPY = "37";
const MLOAD = "51";
const JUMP = "56";
const JUMPI = "57";
const JUMPDEST = "5b";
const STOP = "00";

/** A loop over the entries of the input: copy the entry to memory, jump to the LOG with its count, continue. */
function runtimeCode(): string {
  const LOOP = 2;
  const stopAtEnd = (stop: number): string => `80${CALLDATASIZE}1115${push2(stop)}${JUMPI}`;
  const copy = `${push2(ENTRY_BYTES)}81${push1(0)}${CALLDATACOPY}`;
  const choose = (places: readonly number[]): string =>
    places
      .map((place, count) => `${push1(0)}${MLOAD}${push1(count)}14${push2(place)}${JUMPI}`)
      .join("");
  const emit = (count: number, then: number): string => {
    const topics = Array.from({ length: count }, (_, index) => push1(32 * (count - index)) + MLOAD);
    const length = push1(0xa0) + MLOAD;
    return `${JUMPDEST}${topics.join("")}${length}${push1(0xc0)}a${count}${push2(then)}${JUMP}`;
  };
  const again = `${JUMPDEST}${push2(ENTRY_BYTES)}01${push2(LOOP)}${JUMP}`;
  // Every jump takes two bytes, so that the lengths, and with them the targets, do not depend on the targets.
  const sizeOf = (code: string): number => code.length / 2;
  const none = [0, 0, 0, 0, 0];
  const head = (places: readonly number[], stop: number): string =>
    push1(0) + JUMPDEST + stopAtEnd(stop) + copy + choose(places) + STOP;
  let at = sizeOf(head(none, 0));
  const cases = none.map((_, count) => {
    const place = at;
    at += sizeOf(emit(count, 0));
    return place;
  });
  const next = at;
  const end = next + sizeOf(again);
  const emits = cases.map((_, count) => emit(count, next)).join("");
  return head(cases, end) + emits + again + JUMPDEST + STOP;
}

const runtime = runtimeCode();

/** The creation code that deploys the contract. */
export const creationCode = ((): string => {
  const prologue = (codeAt: number): string =>
    `${push2(runtime.length / 2)}${push1(codeAt)}${push1(0)}39${push2(runtime.length / 2)}${push1(0)}f3`;
  return `0x${prologue(prologue(0).length / 2)}${runtime}`;
})();
