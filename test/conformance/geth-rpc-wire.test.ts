// geth's transcripts of JSON-RPC exchanges: the gateway sends the same envelopes, with real methods for geth's test
// methods.
import { once } from "node:events";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { WebSocket } from "ws";
import { post } from "../support/ask.ts";
import { type RunningGateway, startGatewayProcess } from "../support/gateway-process.ts";
import { type RecordedNode, startRecordedNode } from "../support/recorded-node.ts";

const folder = fileURLToPath(new URL("../../../shared/vectors/geth-rpc-wire/", import.meta.url));

const ADDRESS = `0x${"ab".repeat(20)}`;
const CHAIN_ID = '"0x539"';
const STORED = `"0x${"00".repeat(31)}07"`;

/** geth's echo takes two or three arguments, like eth_getStorageAt. */
const realMethods = [
  { test: /test_echo(WithCtx)?/g, real: "eth_getStorageAt" },
  { test: /test_noArgsRets/g, real: "eth_chainId" },
  { test: /"x", ?(3|99)/g, real: `"${ADDRESS}", "0x0"` },
  { test: /\["x"\]/g, real: `["${ADDRESS}"]` },
  { test: /\{"S": ?"foo"\}/g, real: '"latest"' },
];

/** Different answers by the specification or a decision: docs/conformance.md. */
const ownAnswers: Readonly<Record<string, { status: number; body: string }>> = {
  '[{"jsonrpc":"2.0","method":"test_echo","params":["x",99]}]': {
    status: 200,
    body: `[{"jsonrpc":"2.0","id":0,"result":${STORED}}]`,
  },
  '{"jsonrpc":"2.0","method":"test_echo","params":{"int":23},"id":3}': {
    status: 400,
    body: '{"jsonrpc":"2.0","id":3,"error":{"code":-32600,"message":"invalid request: params must be an array"}}',
  },
};

type Exchange = { readonly title: string; readonly sent: string; readonly want: string };

const isThere = existsSync(folder);
const exchanges = isThere
  ? readdirSync(folder)
      .filter((name) => name.startsWith("reqresp-"))
      .flatMap(readExchanges)
  : [];

let node: RecordedNode;
let gateway: RunningGateway;

beforeAll(async () => {
  const answer = `"result":${STORED}`;
  node = await startRecordedNode(
    [
      { method: "eth_getStorageAt", params: [ADDRESS, "0x0"], answer },
      { method: "eth_getStorageAt", params: [ADDRESS, "0x0", "0x1"], answer },
    ],
    { eth_chainId: JSON.parse(CHAIN_ID), eth_blockNumber: "0x1" },
  );
  const upstreams = [{ url: node.url }];
  const network = { family: "evm", chainId: Number(JSON.parse(CHAIN_ID)), upstreams };
  gateway = await startGatewayProcess({ networks: { wire: network } });
});

afterAll(async () => {
  await gateway?.stop();
  await node?.close();
});

if (!isThere) it.skip("geth's wire transcripts are not on this machine", () => {});

describe.runIf(isThere)("geth's wire transcripts", () => {
  it.each(exchanges)("$title: $sent", async ({ sent, want }) => {
    const response = await post(gateway.endpoint("wire"), withRealMethods(sent));
    const { status, body } = ownAnswers[sent] ?? { status: 200, body: withRealResults(want) };
    expect({ status: response.status, body: await response.text() }).toEqual({ status, body });
  });

  it.each(exchanges)("over a WebSocket, $title: $sent", async ({ sent, want }) => {
    const socket = new WebSocket(gateway.endpoint("wire").replace("http:", "ws:"));
    await once(socket, "open");
    socket.send(withRealMethods(sent));
    const [message] = (await once(socket, "message")) as [Buffer];
    expect(String(message)).toBe(ownAnswers[sent]?.body ?? withRealResults(want));
    socket.close();
  });
});

function readExchanges(name: string): Exchange[] {
  const lines = readFileSync(`${folder}${name}`, "utf8").split("\n");
  return lines.flatMap((line, index) => {
    if (!line.startsWith("--> ")) return [];
    const next = lines[index + 1] ?? "";
    const want = next.startsWith("<-- ") ? next.slice(4) : "";
    return [{ title: name.replace(/\.js$/, ""), sent: line.slice(4), want }];
  });
}

const withRealMethods = (text: string): string =>
  realMethods.reduce((changed, { test, real }) => changed.replaceAll(test, real), text);

const withRealResults = (text: string): string =>
  text
    .replaceAll(/"result":\{"String".*?"Args":(null|\{[^}]*\})\}/g, `"result":${STORED}`)
    .replaceAll('"result":null', `"result":${CHAIN_ID}`);
