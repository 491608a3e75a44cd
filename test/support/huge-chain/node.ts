// A node of three blocks, the second of which is huge; in a process of its own, since the huge block keeps it as busy
// as the gateway. Arguments: the number of transactions in the huge block, and the first head. `{"head": n}` over its
// channel moves the head.
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { toQuantity } from "../../../src/evm/values.ts";
import { hugeBlock, type MadeBlock } from "./huge-block.ts";

const [count = "1000", first = "0"] = process.argv.slice(2);
let head = Number(first);
const genesis = hugeBlock({ number: 0, parentHash: `0x${"11".repeat(32)}`, transactions: 1 });
const huge = hugeBlock({ number: 1, parentHash: genesis.hash, transactions: Number(count) });
const last = hugeBlock({ number: 2, parentHash: huge.hash, transactions: 1 });
const blocks: readonly MadeBlock[] = [genesis, huge, last];

const find = (reference: unknown): MadeBlock | undefined => {
  const upToHead = blocks.slice(0, head + 1);
  if (reference === "latest") return upToHead.at(-1);
  return upToHead.find(
    ({ hash, number }) => hash === reference || toQuantity(number) === reference,
  );
};

type Asked = { readonly id: number; readonly method: string; readonly params: readonly unknown[] };

function resultOf({ method, params }: Asked): Buffer | undefined {
  const block = find(params[0]);
  switch (method) {
    case "eth_chainId":
      return Buffer.from('"0x539"');
    case "eth_blockNumber":
      return Buffer.from(JSON.stringify(toQuantity(head)));
    case "eth_getBlockByNumber":
    case "eth_getBlockByHash":
      return block ? (params[1] ? block.whole : block.withHashes) : Buffer.from("null");
    case "eth_getBlockTransactionCountByNumber":
      return Buffer.from(JSON.stringify(block ? toQuantity(block.transactions) : null));
    case "eth_getBlockReceipts":
      return block?.receipts ?? Buffer.from("null");
    default:
      return undefined;
  }
}

const server = createServer((request, response) => {
  const chunks: Buffer[] = [];
  request.on("data", (chunk: Buffer) => chunks.push(chunk));
  request.on("end", () => {
    const asked = JSON.parse(Buffer.concat(chunks).toString()) as Asked;
    const result = resultOf(asked);
    response.writeHead(200, { "content-type": "application/json" });
    response.write(`{"jsonrpc":"2.0","id":${asked.id},`);
    if (result) {
      response.write('"result":');
      response.write(result);
    } else response.write('"error":{"code":-32601,"message":"the method does not exist"}');
    response.end("}");
  });
});
server.listen(0, "127.0.0.1", () =>
  process.send?.({ port: (server.address() as AddressInfo).port }),
);
process.on("message", (told: { head: number }) => {
  head = told.head;
});
process.on("disconnect", () => process.exit(0));
