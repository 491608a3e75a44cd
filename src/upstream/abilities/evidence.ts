// What an answer tells of whether the node has the block that was asked for. Pure.
import type { Reply } from "../reply.ts";

export type Evidence = "has" | "lacks" | "nothing";

/** The number of a block that a call speaks of, and of the network's head at that time. */
export type Place = { readonly block: number; readonly head: number };

/** Null in answer to these means that there is no such block; of others it may mean something else. */
const NULL_IS_NO_BLOCK: ReadonlySet<string> = new Set([
  "eth_getBlockByNumber",
  "eth_getBlockReceipts",
  "eth_getTransactionReceiptsByBlock",
  "eth_getBlockTransactionCountByNumber",
  "eth_getUncleCountByBlockNumber",
  "trace_block",
  "cfx_getBlockByEpochNumber",
  "cfx_getBlocksByEpoch",
  "cfx_getEpochReceipts",
]);

/** A node that has no block so far behind the head does not merely lag. */
const OLD_BLOCKS = 256;

export function evidenceOf(method: string, reply: Reply, { block, head }: Place): Evidence {
  const isOld = head - block >= OLD_BLOCKS;
  switch (reply.kind) {
    case "refused":
      if (reply.lacks === "block") return isOld ? "lacks" : "nothing";
      return reply.lacks ? "lacks" : "nothing";
    case "result":
      if (isText(reply.json, "null"))
        return isOld && NULL_IS_NO_BLOCK.has(method) ? "lacks" : "nothing";
      // Nodes that dropped the logs and traces of a block answer as if it had none.
      return isText(reply.json, "[]") ? "nothing" : "has";
    default:
      return "nothing";
  }
}

const isText = (json: Buffer, text: string): boolean =>
  json.length === text.length && json.toString("latin1") === text;
