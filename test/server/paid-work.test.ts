// A refused request costs its sender more than the gateway; against the real process.
import { connect } from "node:net";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { AttackTarget } from "../../bench/attacks/attack.ts";
import { BOMBS } from "../../bench/attacks/bracket-bombs.ts";
import { postBytes } from "../../bench/attacks/sockets.ts";
import { ask, post } from "../support/ask.ts";
import { type RunningGateway, startGatewayProcess } from "../support/gateway-process.ts";
import { until } from "../support/processes.ts";
import { readToEnd } from "../support/raw-http.ts";
import { result, type ScriptedNode, startScriptedNode } from "../support/scripted-node.ts";

const CALL = '{"jsonrpc":"2.0","id":1,"method":"eth_chainId"}';

let node: ScriptedNode;
let gateway: RunningGateway;

beforeAll(async () => {
  node = await startScriptedNode((call) => result(call, '"0x10"'));
  gateway = await startGatewayProcess({
    limits: { refusals: 10 }, // 200 at once
    keys: [
      { name: "test", key: "test-key" },
      { name: "other", key: "other-key" },
      { name: "narrow", key: "narrow-key", methods: ["eth_chainId"], limits: { batch: 3 } },
      { name: "poor", key: "poor-key", rate: { computeUnits: 1, burst: 60 } },
    ],
    networks: {
      main: {
        ...{ family: "evm", chainId: 1, window: { blocks: 0 } },
        upstreams: [{ url: node.url }],
      },
    },
  });
});
afterAll(async () => {
  await gateway.stop();
  await node.close();
});

/** Sends a request from a loopback address of its own. */
async function send(
  from: string,
  key: string,
  body: Buffer | string,
  headers = "",
  signal?: AbortSignal,
) {
  const target: AttackTarget = { url: gateway.url, network: "main", key, localAddress: from };
  const { hostname, port } = new URL(gateway.url);
  const socket = connect({ host: hostname, port: Number(port), localAddress: from });
  signal?.addEventListener("abort", () => socket.destroy());
  socket.write(postBytes(target, body, `Connection: close\r\n${headers}`));
  const text = await readToEnd(socket);
  return { status: Number(text.slice(9, 12)), text };
}

/** The number of the key's requests that a rule refused. */
async function refusedOf(key: string, rule: "Again" | "Rate"): Promise<number | undefined> {
  const url = gateway.metricsUrl.replace("/metrics", `/usage?rows=none&key=${key}`);
  const { total } = (await (await fetch(url)).json()) as { total: Record<string, number> };
  return total[`refused${rule}`];
}

describe("a body that is little to send and much to read", () => {
  it.each(Object.entries(BOMBS))("%s is refused before it is parsed", async (name, bomb) => {
    const from = `127.0.3.${1 + Object.keys(BOMBS).indexOf(name)}`;
    const { status } = await send(from, "test-key", bomb.body, bomb.headers);
    expect([400, 413], name).toContain(status);
    expect(gateway.log.filter(({ level = 0 }) => level >= 50)).toEqual([]);
  });

  it("ends with its sender turned away, and nobody else", async () => {
    const bomb = BOMBS["packed letters"];
    const from = "127.0.1.2";
    const seen: number[] = [];
    for (let count = 0; count < 5; count += 1)
      seen.push((await send(from, "test-key", bomb?.body ?? "", bomb?.headers)).status);
    expect(seen.slice(0, 2)).toEqual([413, 429]); // each body counts with its unpacked mebibyte
    expect(seen.slice(1).every((status) => status === 429)).toBe(true);
    const { text } = await send(from, "test-key", CALL);
    expect(text).toMatch(/^HTTP\/1.1 429 [\s\S]*Connection: close[\s\S]*Retry-After: \d+/i);
    expect(text).toContain('"too many refused requests","data":{"rule":"refusals"');
    expect((await send(from, "other-key", CALL)).status).toBe(200); // another key at the same address, as behind a NAT
    expect((await send("127.0.1.3", "test-key", CALL)).status).toBe(200); // the same key at another address
    const metrics = await (await fetch(gateway.metricsUrl)).text();
    expect(metrics).toMatch(/headgate_requests_turned_away_total [1-9]/);
    // The second to fifth body, and the call.
    await until("the key's usage tells it", async () => (await refusedOf("test", "Again")) === 5);
  });
});

describe("what is refused is counted", () => {
  it.each([
    ["calls that a key may not make", "127.0.2.2", "narrow-key", CALL.replace("chainId", "call")],
    ["bodies that are none", "127.0.2.3", "test-key", "{"],
  ])("%s", async (_, from, key, body) => {
    const seen: number[] = [];
    while (seen.length < 300 && seen.at(-1) !== 429) {
      const turn = await Promise.all(Array.from({ length: 10 }, () => send(from, key, body)));
      seen.push(...turn.map(({ status }) => status).sort());
    }
    expect(seen.at(-1)).toBe(429);
  });

  it("guessed keys, before their refusals come", async () => {
    // The gateway refuses the first ten at once and delays the others more and more: the test does not wait for those.
    const over = new AbortController();
    const guesses = Array.from({ length: 30 }, () =>
      send("127.0.2.1", "a-guess", CALL, "", over.signal),
    );
    const turnedAway = Promise.any(
      guesses.map(async (guess) => {
        if ((await guess).status !== 429) throw new Error("refused otherwise");
        return guess;
      }),
    );
    expect((await turnedAway).text).toContain("too many refused requests");
    over.abort();
  });

  it("and charged to the key: refusals and bytes", async () => {
    const from = "127.0.2.4";
    const big = `{"jsonrpc":"2.0","id":1,"method":"web3_sha3","params":["0x${"ab".repeat(50_000)}"]}`;
    expect((await send(from, "poor-key", big)).status).toBe(200); // 22 units
    expect((await send(from, "poor-key", big)).status).toBe(200);
    const { text } = await send(from, "poor-key", big);
    expect(text).toMatch(/^HTTP\/1.1 429 [\s\S]*"rate limit exceeded"/);
    expect((await send(from, "poor-key", CALL)).status).toBe(200); // the limit leaves room for a small call
    for (let count = 0; count < 20; count += 1) await send(from, "poor-key", "nonsense");
    expect((await send(from, "poor-key", CALL)).status).toBe(429);
    // The call, and the third body, of which the gateway read no call.
    await until("the key's usage tells it", async () => (await refusedOf("poor", "Rate")) === 2);
  });
});

it("a batch that is too large for its key is refused before it is parsed", async () => {
  const url = gateway.endpoint("main", "narrow-key");
  const response = await post(url, `[${CALL},${CALL},${CALL},${CALL},broken`);
  expect(response.status).toBe(413);
  expect(await response.json()).toMatchObject({
    error: { message: "batch too large", data: { rule: "batch", limit: 3 } },
  });
  expect((await ask(url, "eth_chainId")).result).toBe("0x1");
});
