// Blocks with something odd from the only node: a chain that is not listed is followed, and the answers say how much is
// proven.
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { toQuantity } from "../../src/evm/values.ts";
import { post } from "../support/ask.ts";
import {
  type ExecutionChain,
  executionChainAvailable,
  startExecutionChain,
} from "../support/execution-chain.ts";
import { type RunningGateway, startGatewayProcess } from "../support/gateway-process.ts";
import { until } from "../support/processes.ts";
import {
  disguised,
  type Fields,
  inBlocks,
  inLogs,
  inReceipts,
  type LieFrom,
  startLyingNode,
} from "./lying-node.ts";

const UNLISTED = 424_242;
const HEAD = 50;
const NO_BLOOM = `0x${"00".repeat(256)}`;

const inReceipt = (own: Fields): LieFrom =>
  inReceipts((receipts) => receipts.map((receipt) => ({ ...receipt, ...own })));

const rows: readonly { what: string; lie: LieFrom; proof: string; chainId?: number }[] = [
  { what: "nothing", lie: () => (_, honest) => honest, proof: "full" },
  {
    what: "log indexes of its own",
    lie: inLogs((log) => ({ ...log, logIndex: "0x7" })),
    proof: "partial",
  },
  {
    what: "the recipient in a receipt",
    lie: inReceipt({ to: `0x${"22".repeat(20)}` }),
    proof: "partial",
  },
  {
    what: "holes in the indexes",
    lie: inReceipts((all) =>
      all.map((one, index) => ({ ...one, transactionIndex: toQuantity(2 * index) })),
    ),
    proof: "partial",
  },
  {
    what: "a cumulative gas of zero",
    lie: inReceipt({ cumulativeGasUsed: "0x0" }),
    proof: "partial",
  },
  { what: "blooms of nothing", lie: inReceipt({ logsBloom: NO_BLOOM }), proof: "partial" },
  { what: "a receipt that cannot be encoded", lie: inReceipt({ status: null }), proof: "partial" },
  {
    what: "withdrawals of null",
    lie: inBlocks((block) => ({ ...block, withdrawals: null })),
    proof: "partial",
  },
  { what: "the hash of the header", lie: disguised, proof: "none" },
  {
    what: "the hash of the header on a chain of its own hash",
    lie: disguised,
    proof: "none",
    chainId: 314,
  },
];

describe.skipIf(!executionChainAvailable)("an odd block", () => {
  let gateway: RunningGateway;
  const stop: (() => Promise<unknown>)[] = [];

  beforeAll(async () => {
    const chain: ExecutionChain = await startExecutionChain();
    stop.push(() => chain.close());
    const networks = await Promise.all(
      rows.map(async ({ lie, chainId = UNLISTED }, index) => {
        const node = await startLyingNode({
          honestUrl: chain.url,
          chainId,
          head: HEAD,
          lie: lie(0),
        });
        stop.push(() => node.close());
        const settings = { family: "evm", chainId, window: { blocks: 4 }, staleAfter: "1h" };
        return [
          `n-${index}`,
          { ...settings, upstreams: [{ name: "node", url: node.url }] },
        ] as const;
      }),
    );
    gateway = await startGatewayProcess({ networks: Object.fromEntries(networks) });
    stop.push(() => gateway.stop());
  }, 60_000);
  afterAll(async () => {
    for (const each of stop.reverse()) await each();
  });

  const read = async (
    url: string,
  ): Promise<{ number: unknown; source: unknown; proof: unknown }> => {
    // The block itself is proven without its receipts, so the proof of both is told with the receipts.
    const call = { jsonrpc: "2.0", id: 1, method: "eth_getBlockReceipts", params: ["latest"] };
    const response = await post(url, JSON.stringify(call));
    const { result } = (await response.json()) as { result?: readonly { blockNumber: unknown }[] };
    const { headers } = response;
    const [source, proof] = ["source", "proof"].map((each) => headers.get(`x-headgate-${each}`));
    return { number: result?.[0]?.blockNumber, source, proof };
  };

  it.each(rows.map((row, index) => ({ ...row, index })))(
    "is followed and served with proof $proof where it has $what",
    async ({ proof, index }) => {
      const url = gateway.endpoint(`n-${index}`);
      const found = await until("the head is followed", async () => {
        const answer = await read(url);
        return answer.source === "store" && answer;
      });
      expect(found).toEqual({ number: toQuantity(HEAD), source: "store", proof });
      const refused = gateway.log.filter(({ msg }) => String(msg).includes("not a block"));
      expect(refused).toEqual([]);
    },
  );
});
