// The exchanges of execution-apis: asked at the gateway, over the chain that they were recorded on.
import { readdirSync, readFileSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ask, post } from "../support/ask.ts";
import { vectorFolder } from "../support/execution-chain/execute.ts";
import {
  type ExecutionChain,
  executionChainAvailable,
  startExecutionChain,
} from "../support/execution-chain.ts";
import { type RunningGateway, startGatewayProcess } from "../support/gateway-process.ts";
import { readSamples, samplesAvailable } from "./samples.ts";

/** What is not asked, and why. */
const notAsked: Readonly<Record<string, string>> = {
  "debug_traceTransaction/trace-legacy-transfer.io": "the chain server has no debug methods",
};

/** Samples with an answer of the gateway's own: docs/conformance.md. */
const ownAnswers = new Set(["eth_getLogs-12"]);

const paths = executionChainAvailable
  ? readdirSync(vectorFolder, { recursive: true, encoding: "utf8" })
      .filter((path) => path.endsWith(".io"))
      .sort()
  : [];

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

/** Recorded later, on the same chain. */
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
  else expect(text).toBe(response); // the order of the fields too
}

function readVector(path: string) {
  const lines = readFileSync(`${vectorFolder}${path}`, "utf8").split("\n");
  const after = (mark: string): string[] =>
    lines.filter((line) => line.startsWith(mark)).map((line) => line.slice(mark.length).trim());
  const responses = after("<<");
  return {
    isSpecOnly: after("//").some((comment) => comment.startsWith("speconly:")),
    exchanges: after(">>").map((request, index) => ({ request, response: responses[index] ?? "" })),
  };
}

/** Names and types, without values. */
function shapeOf(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(shapeOf);
  if (typeof value !== "object" || value === null) return typeof value;
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, shapeOf(one)]));
}
