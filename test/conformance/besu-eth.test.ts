// Besu's own test cases for the methods of the catalogue: the gateway passes its answers on, except where it must
// differ.
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ask, type Envelope } from "../support/ask.ts";
import { type RunningGateway, startGatewayProcess } from "../support/gateway-process.ts";
import { type RecordedNode, startRecordedNode } from "../support/recorded-node.ts";

const folder = fileURLToPath(new URL("../../../shared/vectors/besu-eth/specs/", import.meta.url));

type Case = {
  readonly name: string;
  readonly request: { readonly method: string; readonly params: readonly unknown[] };
  readonly response: Envelope;
};

const NO_BLOCK = "want a block number, latest, earliest, pending, safe or finalized";
const refusal = (message: string) => ({ error: { code: -32602, message } });

/** The gateway's own answers; docs/conformance.md gives the reasons. */
const ownAnswers: Readonly<Record<string, object>> = {
  eth_getBlockReceipts_invalidParams_tag: refusal(`invalid argument 0: ${NO_BLOCK}`),
  eth_getCode_illegalRangeLessThan: refusal(`invalid argument 1: ${NO_BLOCK}`),
  eth_getCode_invalidParams: refusal("missing value for required argument 0"),
  eth_getCode_blockHashNotExist: { error: { code: -32001, message: "header not found" } },
  eth_getLogs_fromBlockExceedToBlock: refusal("invalid block range params"),
  eth_getLogs_toBlockOutOfRange: refusal("block range extends beyond current head block"),
};

/** Any filter id: the gateway makes its own. */
const anyId = { result: expect.stringMatching(/^0x[0-9a-f]+$/) };

const HEAD = {
  number: "0x20",
  hash: "0x71d59849ddd98543bdfbe8548f5eed559b07b8aaf196369f39134500eab68e53",
  parentHash: "0x0f765087745aa259d9e5ac39c367c57432a16ed98e3b0d81c5b51d10f301dc49",
  timestamp: "0x561bc33d",
  transactions: [],
};

const isThere = existsSync(folder);
const cases: Case[] = isThere
  ? readdirSync(folder)
      .sort()
      .map((name) => ({
        name: name.replace(".json", ""),
        ...JSON.parse(readFileSync(`${folder}${name}`, "utf8")),
      }))
  : [];

let node: RecordedNode;
let gateway: RunningGateway;

beforeAll(async () => {
  node = await startRecordedNode(
    cases.map(({ request, response }) => ({ ...request, answer: answerText(response) })),
    { eth_chainId: "0x1", eth_blockNumber: "0x20", eth_getBlockByNumber: HEAD },
  );
  const network = { family: "evm", chainId: 1, upstreams: [{ url: node.url }] };
  gateway = await startGatewayProcess({ networks: { besu: network } });
});

afterAll(async () => {
  await gateway?.stop();
  await node?.close();
});

if (!isThere) it.skip("Besu's cases are not on this machine", () => {});

describe.runIf(isThere)("Besu's cases", () => {
  it.each(cases)("$name", async ({ name, request, response }) => {
    const { result, error } = await ask(gateway.endpoint("besu"), request.method, request.params);
    const got = error ? { error } : { result };
    const isNewFilter = /^eth_new.*Filter$/.test(request.method);
    const own = isNewFilter ? anyId : ownAnswers[name];
    expect(got).toEqual(own ?? withoutEnvelope(response));
  });
});

const withoutEnvelope = ({ result, error }: Envelope): object => (error ? { error } : { result });

const answerText = (response: Envelope): string =>
  JSON.stringify(withoutEnvelope(response)).slice(1, -1);
