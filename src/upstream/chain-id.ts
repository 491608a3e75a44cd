// Which chain a node is of.
import type { Reply } from "./reply.ts";

/** The chain id, or in plain words why it cannot be told. */
export async function readChainId(
  family: "evm" | "conflux",
  ask: (method: string) => Promise<Reply>,
): Promise<number | string> {
  const reply = await ask(family === "evm" ? "eth_chainId" : "cfx_getStatus");
  if (reply.kind !== "result") return reply.kind === "failed" ? reply.reason : reply.kind;
  const value: unknown = JSON.parse(reply.json.toString());
  const text = family === "evm" ? value : (value as { chainId?: unknown } | null)?.chainId;
  const chainId = typeof text === "string" ? Number(text) : Number.NaN;
  return Number.isSafeInteger(chainId) ? chainId : "no chain id in its answer";
}
