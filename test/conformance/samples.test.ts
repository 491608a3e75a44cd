// The gateway passes recorded answers of real networks on unchanged.
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { post } from "../support/ask.ts";
import { type RunningGateway, startGatewayProcess } from "../support/gateway-process.ts";
import { type RecordedNode, type Recording, startRecordedNode } from "../support/recorded-node.ts";
import { readSamples, type Sample, samplesAvailable } from "./samples.ts";

type Network = {
  readonly recordedOn: string;
  readonly family: "evm" | "conflux";
  readonly chainId: number;
  readonly head: string;
  /** The limits of the recorded node. */
  readonly limits?: object;
};

const networks: Readonly<Record<string, Network>> = {
  "cfx-testnet": {
    recordedOn: "cfx-core-testnet",
    family: "conflux",
    chainId: 1,
    head: "0x4351311", // as recorded beside `cfx_getLogs-2`
    limits: { logs: { blocks: 1_000 } },
  },
  "espace-testnet": {
    recordedOn: "cfx-espace-testnet",
    family: "evm",
    chainId: 71,
    head: "0x5000000",
  },
  "geth-test-chain": {
    recordedOn: "geth test chain (execution-apis)",
    family: "evm",
    chainId: 3_503_995_874_084_926,
    head: "0x36",
  },
};

const samples = readSamples();

const BOTH = "cannot specify both BlockHash and FromBlock/ToBlock, choose one or the other";
const bothGiven = () => `"error":{"code":-32602,"message":"${BOTH}"}`;

/** The gateway's own answers; docs/conformance.md gives the reasons. */
const deviations: Readonly<Record<string, () => string>> = {
  "eth_getLogs-6": bothGiven,
  "eth_getLogs-12": bothGiven,
  "eth_getLogs-4": () => '"result":[]', // without a range: the logs of the head, not of all blocks
  // The node refuses block hashes beside epochs; by the specification block hashes override epochs.
  "cfx_getLogs-7": () => answerOfSample("cfx_getLogs-9"),
  "cfx_getLogs-8": () => answerOfSample("cfx_getLogs-10"),
};

const answerOfSample = (wanted: string): string =>
  samples.find(({ name }) => name === wanted)?.answer ?? "";

const nodes: Record<string, RecordedNode> = {};
let gateway: RunningGateway;

beforeAll(async () => {
  const settings: Record<string, object> = {};
  for (const [name, network] of Object.entries(networks)) {
    const node = await startRecordedNode(recordingsOf(network), ownAnswers(network));
    nodes[name] = node;
    const { family, chainId, limits } = network;
    settings[name] = { family, chainId, limits, upstreams: [{ url: node.url }] };
  }
  gateway = await startGatewayProcess({ networks: settings });
});

afterAll(async () => {
  await gateway?.stop();
  for (const node of Object.values(nodes)) await node.close();
});

const samplesOf = ({ recordedOn }: Network): Sample[] =>
  samples.filter(({ network }) => network === recordedOn);

/** The samples, and answers to the gateway's own calls: a block by hash, the head by its number, an empty head. */
const recordingsOf = (network: Network): Recording[] => [
  ...samplesOf(network),
  ...samplesOf(network)
    .filter(({ params }) => params[0] === "latest")
    .map((sample) => ({ ...sample, params: [network.head, ...sample.params.slice(1)] })),
  {
    method: "eth_getBlockByHash",
    params: ["0x199ab67c87a39c45acb2ed878ae1b6d3bae22fba16f51dced036babf9b6daf62", false],
    answer: '"result":{}',
  },
  { method: "cfx_epochNumber", params: ["latest_checkpoint"], answer: '"result":"0x433bea0"' },
  {
    method: "eth_getLogs",
    params: [{ fromBlock: network.head, toBlock: network.head }],
    answer: '"result":[]',
  },
];

const ownAnswers = ({ chainId, head }: Network) => ({
  eth_chainId: `0x${chainId.toString(16)}`,
  eth_blockNumber: head,
  net_version: String(chainId),
  cfx_getStatus: { chainId: `0x${chainId.toString(16)}`, epochNumber: head },
  cfx_epochNumber: head,
});

if (!samplesAvailable) it.skip("recorded samples: none on this machine", () => {});

describe.runIf(samplesAvailable).each(Object.entries(networks))("%s", (name, network) => {
  const [other, same] = partition(samplesOf(network), (sample) => sample.name in deviations);

  it.each(same)("$name: $method", async (sample) => {
    expect(await answerFrom(name, sample)).toBe(envelope(sample.answer));
  });

  it.each(other)("$name: $method, otherwise than recorded", async (sample) => {
    expect(await answerFrom(name, sample)).toBe(envelope(deviations[sample.name]?.() ?? ""));
  });
});

/** Samples whose signatures lack leading zeros; the specification wants 32 bytes: docs/conformance.md. */
const shortSignatures = [
  "eth_getBlockByHash-2",
  "eth_getBlockByHash-6",
  "eth_getBlockByNumber-11",
  "eth_getBlockByNumber-13",
  "eth_getBlockByNumber-14",
  "eth_getBlockByNumber-4",
  "eth_getTransactionByHash-5",
  "eth_getTransactionByHash-6",
];

describe.runIf(samplesAvailable)("r and s of fewer than 32 bytes", () => {
  const isShort = ({ answer }: Sample): boolean => /"[rs]":"0x[0-9a-f]{1,63}"/.test(answer);

  it("are in these samples of real nodes", () => {
    expect(samples.filter(isShort).map(({ name }) => name)).toEqual(shortSignatures);
  });

  it.each(shortSignatures)("are passed on as the node gives them: %s", async (wanted) => {
    const sample = samples.find(({ name }) => name === wanted) as Sample;
    const [network = ""] =
      Object.entries(networks).find(([, { recordedOn }]) => recordedOn === sample.network) ?? [];
    expect(await answerFrom(network, sample)).toBe(envelope(sample.answer));
  });
});

async function answerFrom(network: string, { method, params }: Sample): Promise<string> {
  const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method, params });
  const response = await post(gateway.endpoint(network), body);
  return response.text();
}

const envelope = (answer: string): string => `{"jsonrpc":"2.0","id":1,${answer}}`;

const partition = <Item>(
  items: readonly Item[],
  isFirst: (item: Item) => boolean,
): [Item[], Item[]] => [items.filter(isFirst), items.filter((item) => !isFirst(item))];
