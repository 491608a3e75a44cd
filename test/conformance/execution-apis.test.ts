// The recorded exchanges of execution-apis: the gateway gets the same calls, over the chain of the recording.
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ask, post } from "../support/ask.ts";
import { readVector, shapeOf, vectorPaths } from "../support/execution-chain/vectors.ts";
import {
  type ExecutionChain,
  executionChainAvailable,
  startExecutionChain,
} from "../support/execution-chain.ts";
import { type RunningGateway, startGatewayProcess } from "../support/gateway-process.ts";
import { readSamples, samplesAvailable } from "./samples.ts";

/** Exchanges that the test leaves out, with the reason. */
const notAsked: Readonly<Record<string, string>> = {
  "debug_traceTransaction/trace-legacy-transfer.io": "the chain server has no debug methods",
};

/** Samples for which the gateway has an answer of its own: docs/conformance.md. */
const ownAnswers = new Set(["eth_getLogs-12"]);

const paths = executionChainAvailable ? vectorPaths() : [];

let chain: ExecutionChain;
let gateway: RunningGateway;

beforeAll(async () => {
  if (!executionChainAvailable) return;
  chain = await startExecutionChain();
  const { result } = await ask(chain.url, "eth_chainId");
  const upstreams = [{ url: chain.url }];
  const network = { family: "evm", chainId: Number(result), upstreams };
  gateway = await startGatewayProcess({ networks: { vectors: network } });
});

afterAll(async () => {
  await gateway?.stop();
  await chain?.close();
});

if (!executionChainAvailable)
  it.skip("execution-apis: the vectors are not on this machine", () => {});

describe.runIf(executionChainAvailable)("execution-apis", () => {
  it.each(paths.filter((path) => !(path in notAsked)))("%s", async (path) => {
    const { isSpecOnly, exchanges } = readVector(path);
    expect(exchanges).not.toEqual([]);
    for (const exchange of exchanges) await expectAnswer(exchange, isSpecOnly);
  });
});

/** Samples that were recorded later, on the same chain. */
const samples = readSamples().filter(
  ({ name, network }) => network.includes("execution-apis") && !ownAnswers.has(name),
);

describe.runIf(executionChainAvailable && samplesAvailable)("samples of its chain", () => {
  it.each(samples)("$name: $method", async ({ method, params, answer, isSpecOnly }) => {
    const request = JSON.stringify({ jsonrpc: "2.0", id: 1, method, params });
    await expectAnswer({ request, response: `{"jsonrpc":"2.0","id":1,${answer}}` }, isSpecOnly);
  });
});

type Exchange = { readonly request: string; readonly response: string };

async function expectAnswer({ request, response }: Exchange, isSpecOnly: boolean): Promise<void> {
  const text = await (await post(gateway.endpoint("vectors"), request)).text();
  if (isSpecOnly) expect(shapeOf(JSON.parse(text))).toEqual(shapeOf(JSON.parse(response)));
  else expect(text).toBe(response); // also the order of the members
}
