// A block with all that its proof needs, as a node returns it.
import type { Json } from "../../src/proofs/json.ts";
import type { BlockParts } from "../../src/proofs/prove-block.ts";
import { fetchCaller } from "../support/ask.ts";

export async function fetchBlock(url: string, number: number): Promise<BlockParts> {
  const node = fetchCaller(url);
  const text = `0x${number.toString(16)}`;
  const block = (await node.call("eth_getBlockByNumber", [text, true])) as Json;
  const receipts = (await node.call("eth_getBlockReceipts", [text])) as readonly Json[];
  const uncles = await Promise.all(
    (block["uncles"] as readonly string[]).map((_, index) =>
      node.call("eth_getUncleByBlockHashAndIndex", [block["hash"], `0x${index.toString(16)}`]),
    ),
  );
  return { block, receipts, uncles: uncles as readonly Json[] };
}
