// A node that answers at once, so that a measurement contains only the gateway's work.
import { createServer } from "node:http";
import { listen } from "./listen.ts";

const word = (seed: number): string => `0x${seed.toString(16).padStart(64, "0")}`;

/** About 1 MB: 1,750 transfer logs as nodes write them. */
const logs = JSON.stringify(
  Array.from({ length: 1_750 }, (_, index) => ({
    address: "0xdac17f958d2ee523a2206206994597c13d831ec7",
    topics: [word(1), word(index), word(index * 7)],
    data: word(index * 1_000_003),
    blockNumber: "0x10",
    transactionHash: word(index * 31),
    transactionIndex: "0x1f",
    blockHash: word(99),
    logIndex: `0x${index.toString(16)}`,
    removed: false,
  })),
);

const results: Readonly<Record<string, string | undefined>> = {
  eth_chainId: '"0x1"',
  eth_blockNumber: '"0x1326a1e"',
  eth_getCode: '"0x6080604052600080fd"',
  eth_getLogs: logs,
};

type Call = { id: number; method: string };

const answer = ({ id, method }: Call): string =>
  `{"jsonrpc":"2.0","id":${id},"result":${results[method] ?? "null"}}`;

listen(
  createServer((request, response) => {
    let text = "";
    request.on("data", (chunk) => {
      text += chunk;
    });
    request.on("end", () => {
      const call = JSON.parse(text) as Call | Call[];
      const body = Array.isArray(call) ? `[${call.map(answer).join(",")}]` : answer(call);
      const length = Buffer.byteLength(body);
      response
        .writeHead(200, { "content-type": "application/json", "content-length": length })
        .end(body);
    });
  }),
);
