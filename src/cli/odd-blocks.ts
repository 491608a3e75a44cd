// Tries the proofs on two blocks of one node, the newest and an old one, for `headgate check`: it says which parts of
// them are odd, and so would be served without their proof.
import { blockDialect } from "../chain/fetch-block.ts";
import { ingestHere } from "../chain/writing.ts";
import type { NetworkSettings } from "../config/schema.ts";
import { type Clock, systemClock } from "../lib/clock.ts";
import { Turns } from "../lib/turns.ts";
import type { Connection } from "../upstream/connection/connection.ts";
import { nodeCallerOf } from "../upstream/reply.ts";

type TriedNetwork = {
  readonly chainId: number;
  readonly limits: Pick<NetworkSettings["limits"], "block">;
  /** The number of the node's newest block. */
  readonly head: number;
};

/** Reasons come from nodes' values: a longer one is cut, in characters. */
const MOST_REASON = 200;

/** Never rejects. @returns A line for each part that is odd or false; none for a block that the node does not give. */
export async function oddBlockLines(
  network: TriedNetwork,
  connection: Pick<Connection, "send">,
  clock: Clock = systemClock,
): Promise<string[]> {
  const { head } = network;
  const numbers = new Set([head, Math.floor(head / 2)]);
  const lines: string[] = [];
  for (const number of numbers)
    lines.push(...(await tryBlock(number, network, { connection, clock })));
  return lines;
}

async function tryBlock(
  number: number,
  { chainId, limits }: TriedNetwork,
  { connection, clock }: { readonly connection: Pick<Connection, "send">; readonly clock: Clock },
): Promise<string[]> {
  const call = nodeCallerOf(connection);
  const node: Parameters<typeof ingest>[1] = {
    name: "node",
    isMissing: () => false,
    ask: (method, paramsJson) => call(method, paramsJson),
  };
  const ingest = ingestHere({ dialect: blockDialect, turns: new Turns({ clock }) });
  const found = await ingest({ number }, node, {
    ...{ limits: limits.block, rules: { chainId }, receipts: "if held" },
    signal: new AbortController().signal,
  });
  if (found.kind === "refuted") return [falseLine(number, found.part, found.reason)];
  if (found.kind === "garbage") return [falseLine(number, "shape", found.reason)];
  const odd = found.kind === "ingested" ? (found.proof?.odd ?? []) : [];
  return odd.map(
    ({ part, reason }) => `    block ${number} is odd: ${part} (${reason.slice(0, MOST_REASON)})`,
  );
}

const falseLine = (number: number, part: string, reason: string): string =>
  `    block ${number} does not fit its own hashes, and would be refused: ${part} (${reason.slice(0, MOST_REASON)})`;
