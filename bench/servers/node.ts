// A node over three generated chains, in a process of its own, so that its cost is measured apart from the gateway's.
// `/quiet` has many small blocks, `/busy` has few full ones, and `/growing` gets a block of 600 logs each second from the
// message `grow`, until `rest`.
import { createServer } from "node:http";
import { answerOf } from "../../test/support/generated-chain/answers.ts";
import { GeneratedChain } from "../../test/support/generated-chain.ts";
import { textOf } from "../../test/support/request-text.ts";
import { BUSY_BLOCKS, QUIET_BLOCKS } from "../chains.ts";
import { listen } from "./listen.ts";

const quiet = new GeneratedChain({ seed: 11, transactions: [1, 1], logs: [1, 1] });
quiet.extend(QUIET_BLOCKS);
const busy = new GeneratedChain({ seed: 12, transactions: [15, 15], logs: [100, 100] });
busy.extend(BUSY_BLOCKS);
const growing = new GeneratedChain({
  ...{ seed: 13, transactions: [200, 200], logs: [600, 600] },
  ...{ addresses: 300, topics: 3000, blockSeconds: 1 },
});
growing.extend(8);

type Call = { readonly id: unknown; readonly method: string; readonly params: readonly unknown[] };
const chains: Readonly<Record<string, GeneratedChain>> = {
  "/quiet": quiet,
  "/busy": busy,
  "/growing": growing,
};

/** The result of every contract call: one word. */
const WORD = `"0x${"2a".padStart(64, "0")}"`;

const answer = (chain: GeneratedChain, { id, method, params }: Call): string => {
  const result = method === "eth_call" ? WORD : answerOf(chain, method, params);
  const outcome = result ? `"result":${result}` : '"error":{"code":-32601,"message":"not found"}';
  return `{"jsonrpc":"2.0","id":${JSON.stringify(id)},${outcome}}`;
};

let timer: NodeJS.Timeout | undefined;
process.on("message", (order: "grow" | "rest") => {
  clearInterval(timer);
  if (order === "grow") timer = setInterval(() => growing.extend(1), 1000);
});

listen(
  createServer(async (request, response) => {
    const chain = chains[request.url ?? ""] ?? quiet;
    const asked = JSON.parse(await textOf(request)) as Call | Call[];
    const body = Array.isArray(asked)
      ? `[${asked.map((call) => answer(chain, call)).join(",")}]`
      : answer(chain, asked);
    const length = Buffer.byteLength(body);
    response.writeHead(200, { "content-type": "application/json", "content-length": length });
    response.end(body);
  }),
);
