// Which chain a node is of.
import { parsed } from "../jsonrpc/parsed.ts";
import type { Reply } from "./reply.ts";

/** The chain id, or in plain words why it cannot be told. */
export async function readChainId(
  family: "evm" | "conflux",
  ask: (method: string) => Promise<Reply>,
): Promise<number | string> {
  const reply = await ask(family === "evm" ? "eth_chainId" : "cfx_getStatus");
  if (reply.kind !== "result") return reply.kind === "failed" ? reply.reason : reply.kind;
  const value = parsed(reply.json);
  const text = family === "evm" ? value : (value as { chainId?: unknown } | null)?.chainId;
  const chainId = typeof text === "string" && /^0x[0-9a-f]+$/i.test(text) ? Number(text) : -1;
  return Number.isSafeInteger(chainId) && chainId >= 0 ? chainId : "no chain id in its answer";
}
