// A block of 200,000 transactions (2,000 in `npm test`), above the limit of `limits.block` and below it: no other
// caller waits for it, and the chain goes on.
import { afterAll, beforeAll, expect, it } from "vitest";
import { post } from "../support/ask.ts";
import { atDepth } from "../support/depth.ts";
import { type RunningGateway, startGatewayProcess } from "../support/gateway-process.ts";
import { type HugeNode, startHugeNode } from "../support/huge-chain/start.ts";
import { until } from "../support/processes.ts";

const TRANSACTIONS = atDepth(2_000, 200_000);
/** A limit below TRANSACTIONS; the deep run takes the default. */
const bound = atDepth({ limits: { block: { transactions: 1_000 } } }, {});
/** The longest wait of other callers, in milliseconds, on a machine that does other work. */
const LONGEST_STALL_MS = 2_000; // some 300 on an idle machine; it was 8,000

let node: HugeNode;
let gateway: RunningGateway;

beforeAll(async () => {
  node = await startHugeNode(TRANSACTIONS);
  const common = { family: "evm", chainId: 1337, upstreams: [{ name: "node", url: node.url }] };
  gateway = await startGatewayProcess({
    networks: {
      bounded: { ...common, ...bound },
      generous: {
        ...common,
        limits: { block: { bytes: "256MiB", transactions: TRANSACTIONS } },
      },
    },
  });
});
afterAll(async () => {
  await gateway?.stop();
  node?.stop();
});

/** Whether the store has the block: the gateway tells the nodes' head earlier. */
const isFollowedTo = async (number: string): Promise<boolean> => {
  const heads = await Promise.all(
    ["bounded", "generous"].map((network) => sourceOf(network, number)),
  );
  return heads.every((source) => source === "store full");
};

const sourceOf = async (network: string, number: string): Promise<string> => {
  const body = {
    jsonrpc: "2.0",
    id: 1,
    method: "eth_getBlockTransactionCountByNumber",
    params: [number],
  };
  const { headers } = await post(gateway.endpoint(network), JSON.stringify(body));
  return `${headers.get("x-headgate-source")} ${headers.get("x-headgate-proof")}`;
};

/** Requests the gateway's health in a loop; returns the time of the slowest answer, in milliseconds. */
async function slowestHealth(signal: AbortSignal): Promise<number> {
  let slowest = 0;
  while (!signal.aborted) {
    const startedAt = performance.now();
    const response = await fetch(`${gateway.url}/healthz`);
    await response.text();
    slowest = Math.max(slowest, performance.now() - startedAt);
  }
  return slowest;
}

it("keeps nobody waiting, is followed where it may be, and stepped over where it may not", async () => {
  await until("both are followed", () => isFollowedTo("0x0"));
  const over = new AbortController();
  const slowest = slowestHealth(over.signal);
  node.setHead(1);
  const isTaken = async (): Promise<boolean> =>
    (await sourceOf("generous", "0x1")) === "store full";
  await until("the huge block is taken in", isTaken, 120_000);
  await until("the huge block is refused", async () => refusals().length > 0);
  over.abort();
  const stalledMs = Math.round(await slowest);
  console.info(`the slowest answer to /healthz took ${stalledMs} ms`);
  expect(await sourceOf("bounded", "0x1")).not.toMatch(/^store/);

  node.setHead(2);
  await until("both are at the head", () => isFollowedTo("0x2"));
  expect(await sourceOf("generous", "0x1")).toBe("store full");
  expect(await sourceOf("bounded", "0x1")).toBe("upstream none");
  expect(new Set(refusals().map(({ network }) => network))).toEqual(new Set(["bounded"]));
  const metrics = await (await fetch(gateway.metricsUrl)).text();
  expect(metrics).toMatch(
    /headgate_blocks_too_large_total\{network="bounded",upstream="node"\} \d+\n/,
  );
  expect(stalledMs).toBeLessThan(LONGEST_STALL_MS);
}, 240_000);

const refusals = () =>
  gateway.log.filter(
    ({ msg }) => msg === "a block is larger than limits.block allows: it is not taken in",
  );
