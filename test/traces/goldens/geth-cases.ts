// geth's own vectors, grouped by transaction, with the transaction executed by ethereumjs.
import { createHash } from "node:crypto";
import { type ChainBlock, fieldsOf } from "./chain.ts";
import { executeVector, type GethVector } from "./execute-vector.ts";
import type { ExecutedTransaction } from "./executions.ts";
import { filesIn, readVector } from "./vectors.ts";

export const source = "geth-tracetest";
const folder = `vectors/${source}`;

/** A transaction in a block of its own. */
export type Case = {
  readonly name: string;
  readonly chainId: number;
  readonly block: ChainBlock;
  readonly executed: ExecutedTransaction;
  /** The tracers' results, by the folder of the vector. */
  readonly resultByTracer: Readonly<Record<string, unknown>>;
};

const tracers = ["call_tracer_flat", "call_tracer", "prestate_tracer_with_diff_mode"];

export const gethCases = (): Promise<readonly Case[]> => Promise.all([...groups()].map(readCase));

/** Files by transaction: the first two tracers have the same ones; the prestateTracer's `create` is another one. */
function groups(): ReadonlyMap<string, readonly string[]> {
  const byName = new Map<string, string[]>();
  for (const file of tracers.flatMap((tracer) => filesIn(`${folder}/${tracer}`))) {
    const name = file.slice(folder.length + 1).replace(/^call_tracer(_flat)?/, "call");
    byName.set(name, [...(byName.get(name) ?? []), file]);
  }
  return byName;
}

async function readCase([name, files]: readonly [string, readonly string[]]): Promise<Case> {
  const vectors = files.map((file) => readVector<GethVector>(file));
  const [vector] = vectors;
  if (!vector) throw new Error(`${name} is not there`);
  const executed = await executeVector(vector);
  const hash = `0x${createHash("sha256").update(name).digest("hex")}`;
  const transactions = [fieldsOf(executed.transaction)];
  const results = files.map((file, at) => [file.split("/")[2], vectors[at]?.result]);
  return {
    ...{ name, executed, resultByTracer: Object.fromEntries(results) },
    block: { number: Number(vector.context.number), hash, transactions },
    chainId: Number(vector.genesis.config.chainId),
  };
}
