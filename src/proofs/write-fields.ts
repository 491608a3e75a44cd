// Writes the members of a JSON object as RLP, by the forms of `evm/chains/encoding.ts`.
import type { Field, FieldKind, HeaderForm } from "../evm/chains/encoding.ts";
import { numberIn, toQuantity } from "../evm/values.ts";
import { isAbsent, isJson, type Json } from "./json.ts";
import type { RlpWriter } from "./rlp-writer.ts";

/** Writes each field. A member that is missing or malformed makes the writer's result invalid. */
export function writeFields(writer: RlpWriter, owner: Json, fields: readonly Field[]): void {
  for (const [name, kind] of fields)
    writeField(writer, { owner, value: memberOf(owner, name) }, kind);
}

/** Also writes, in their order, those of the later fields that the object has. */
export function writeForm(
  writer: RlpWriter,
  owner: Json,
  { fields, later = [] }: Pick<HeaderForm, "fields" | "later">,
): void {
  writeFields(writer, owner, fields);
  for (const field of later)
    if (!isAbsent(memberOf(owner, field[0]))) writeFields(writer, owner, [field]);
}

/** The member with this name, or with the first of these names, parted by `|`, that the object has. */
export function memberOf(owner: Json, name: string): unknown {
  if (!name.includes("|")) return owner[name];
  const found = name.split("|").find((each) => !isAbsent(owner[each]));
  return found === undefined ? undefined : owner[found];
}

export const writeAccessList = (writer: RlpWriter, accessList: unknown): void =>
  writer.listOf(accessList, (item) => {
    const { address, storageKeys } = isJson(item) ? item : {};
    writer.list(() => {
      writer.data(address, 20);
      writer.listOf(storageKeys, (key) => writer.data(key, 32));
    });
  });

type Member = { readonly owner: Json; readonly value: unknown };

function writeField(writer: RlpWriter, { owner, value }: Member, kind: FieldKind): void {
  if (typeof kind === "number") writer.data(value, kind);
  else if (typeof kind === "string") writeNamed[kind](writer, value);
  else if ("list" in kind) writer.list(() => writeForm(writer, owner, kind.list));
  else if ("object" in kind)
    writer.list(() => writeFields(writer, isJson(value) ? value : {}, kind.object));
  else writer.listOf(value, (item) => writeItem(writer, item, kind.each));
}

function writeItem(writer: RlpWriter, item: unknown, kind: readonly Field[] | FieldKind): void {
  const owner = isJson(item) ? item : {};
  if (isFields(kind)) writer.list(() => writeFields(writer, owner, kind));
  else writeField(writer, { owner, value: item }, kind);
}

const isFields = (kind: readonly Field[] | FieldKind): kind is readonly Field[] =>
  Array.isArray(kind);

type Write = (writer: RlpWriter, value: unknown) => void;

const writeNamed: Readonly<Record<Extract<FieldKind, string>, Write>> = {
  quantity: (writer, value) => writer.quantity(value),
  count: (writer, value) => writer.quantity(isAbsent(value) ? "0x0" : value),
  data: (writer, value) => writer.data(value),
  "bare data": (writer, value) => writer.data(withPrefix(value)),
  step: (writer, value) => writer.quantity(integerOf(value)),
  "bytes or nothing": (writer, value) => writer.data(isAbsent(value) ? "0x" : value),
  flag: (writer, value) => writer.quantity(isAbsent(value) ? "0x0" : flags.get(value)),
  "zeros or nothing": (writer, value) => {
    if (!isAbsent(value) && !(typeof value === "string" && /^0x0*$/.test(value)))
      writer.data(undefined);
  },
  true: (writer) => writer.quantity("0x1"),
  "zero hash": (writer) => writer.data(`0x${"00".repeat(32)}`),
  "access list": writeAccessList,
  items: writeItems,
  seconds: (writer, value) => writer.quantity(inMilliseconds(value)),
};

const flags: ReadonlyMap<unknown, string> = new Map<unknown, string>([
  [true, "0x1"],
  [false, "0x0"],
]);

const withPrefix = (value: unknown): unknown =>
  typeof value === "string" && !value.startsWith("0x") ? `0x${value}` : value;

/** As QUANTITY; what is no integer stays as it is, and cannot be written. */
function integerOf(value: unknown): unknown {
  if (typeof value === "number" && Number.isSafeInteger(value) && value >= 0)
    return toQuantity(value);
  return typeof value === "string" && /^\d{1,20}$/.test(value) ? toQuantity(BigInt(value)) : value;
}

/** The time, given in seconds. */
function inMilliseconds(value: unknown): string | undefined {
  const time = (numberIn(value) ?? Number.NaN) * 1000;
  return Number.isSafeInteger(time) ? toQuantity(time) : undefined;
}

function writeItems(writer: RlpWriter, value: unknown): void {
  const items: readonly unknown[] = Array.isArray(value) ? value : [];
  const isWritable = items.length > 0 && items.every((item) => isBytes(item));
  // No number of items is invalid by itself, so a text that is no DATA marks the result.
  if (isWritable) for (const item of items) writer.raw(Buffer.from(String(item).slice(2), "hex"));
  else writer.data(undefined);
}

const isBytes = (item: unknown): boolean =>
  typeof item === "string" && /^0x([0-9a-f]{2})*$/i.test(item);
