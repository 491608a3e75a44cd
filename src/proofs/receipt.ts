// The encoding of a receipt, as the receipts root covers it.
import { eachInSteps, type Work } from "../lib/turns.ts";
import { isAbsent, isJson, type Json } from "./json.ts";
import type { RlpWriter } from "./rlp-writer.ts";

/** Undefined when a field cannot be encoded. */
export function* encodeReceipt(
  receipt: Json,
  type: number,
  writer: RlpWriter,
): Work<Uint8Array | undefined> {
  const { logs } = receipt;
  if (!Array.isArray(logs)) return undefined;
  writer.rewind(0);
  if (type > 0) writer.raw(Uint8Array.of(type));
  const start = writer.position;
  writeOutcome(receipt, writer);
  writer.quantity(receipt["cumulativeGasUsed"]);
  writer.data(receipt["logsBloom"], 256);
  const firstLog = writer.position;
  yield* eachInSteps(logs, (log) => writeLog(isJson(log) ? log : {}, writer));
  writer.enlist(firstLog);
  writer.enlist(start);
  const bytes = writer.since(0);
  return bytes && Uint8Array.from(bytes);
}

/** Before Byzantium the state root after the transaction, since then whether it succeeded. */
function writeOutcome({ root, status }: Json, writer: RlpWriter): void {
  if (isAbsent(root) || root === "0x") writer.quantity(status);
  else writer.data(root, 32);
}

const writeLog = ({ address, topics, data }: Json, writer: RlpWriter): void =>
  writer.list(() => {
    writer.data(address, 20);
    writer.listOf(topics, (topic) => writer.data(topic, 32));
    writer.data(data);
  });
