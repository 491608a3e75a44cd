// The links to nodes, over the real process: compressed answers, connections that the node closes, and what nodes hold.
import { once } from "node:events";
import { createServer, type Server, type ServerResponse } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { gzipSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ask, post } from "../support/ask.ts";
import { type RunningGateway, startGatewayProcess } from "../support/gateway-process.ts";
import { until } from "../support/processes.ts";
import {
  type NodeCall,
  result,
  type ScriptedNode,
  startScriptedNode,
} from "../support/scripted-node.ts";

const HEAD = "0x4e20";
const ADDRESS = `0x${"11".repeat(20)}`;
const CODE = `0x${"60".repeat(400_000)}`;

/** The requests to `compressingNode`: their senders, and how many had compressed answers. */
const seen = { agents: new Set<unknown>(), coded: 0 };

/** A node that compresses each answer, also those to batches, for a gateway that asks for that. */
function compressingNode(): Server {
  const answer = (call: NodeCall): string => {
    if (call.method === "eth_chainId") return result(call, '"0x1"');
    if (call.method === "eth_getCode") return result(call, `"${CODE}"`);
    return result(call, call.method === "eth_blockNumber" ? `"${HEAD}"` : '"0x7"');
  };
  return createServer(async (request, response) => {
    const call = JSON.parse(String(Buffer.concat(await request.toArray())));
    const text = Array.isArray(call) ? `[${call.map(answer).join(",")}]` : answer(call);
    seen.agents.add(request.headers["user-agent"]);
    if (!/gzip/.test(String(request.headers["accept-encoding"]))) return void response.end(text);
    seen.coded += 1;
    response.writeHead(200, { "content-encoding": "gzip" }).end(gzipSync(text));
  });
}

/** A node that resets each connection when a second request comes over it, once it is told to. */
function resettingNode(): { server: Server; begin: () => void; resets: () => number } {
  const used = new WeakSet<Socket>();
  let isOn = false;
  let resets = 0;
  const server = createServer(async (request, response: ServerResponse) => {
    const { socket } = request;
    if (isOn && used.has(socket)) {
      resets += 1;
      socket.resetAndDestroy();
      return;
    }
    used.add(socket);
    const call = JSON.parse(String(Buffer.concat(await request.toArray()))) as NodeCall;
    response.end(result(call, call.method === "eth_chainId" ? '"0x1"' : `"${HEAD}"`));
  });
  const begin = (): void => {
    isOn = true;
  };
  return { server, begin, resets: () => resets };
}

const urlOf = async (server: Server): Promise<string> => {
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
};

/** A node that says from which block on it holds proofs. */
const proofsNode = (oldestBlock: string): Promise<ScriptedNode> =>
  startScriptedNode((call) => {
    if (call.method === "eth_capabilities")
      return result(call, `{"stateproofs":{"disabled":false,"oldestBlock":"${oldestBlock}"}}`);
    return result(call, call.method === "eth_blockNumber" ? `"${HEAD}"` : '"0x7"');
  });

const compressing = compressingNode();
const resetting = resettingNode();
let pruned: ScriptedNode;
let archive: ScriptedNode;
let gateway: RunningGateway;

beforeAll(async () => {
  pruned = await proofsNode("0x4da0");
  archive = await proofsNode("0x0");
  const network = { family: "evm", chainId: 1, window: { blocks: 0 } };
  gateway = await startGatewayProcess({
    networks: {
      coded: {
        ...network,
        upstreams: [{ url: await urlOf(compressing), compression: "on", batch: 10 }],
      },
      reset: {
        ...network,
        upstreams: [{ url: await urlOf(resetting.server), probe: false, connections: 1 }],
      },
      held: {
        ...network,
        upstreams: [
          { url: pruned.url, probe: true },
          { url: archive.url, price: 1, probe: true },
        ],
      },
    },
  });
  await until("all nodes can be asked", async () => {
    const usable = gateway.log.filter(({ msg }) => msg === "upstream is usable");
    return usable.length === 4;
  });
});

afterAll(async () => {
  await gateway.stop();
  await Promise.all([pruned.close(), archive.close()]);
  for (const server of [compressing, resetting.server]) {
    server.closeAllConnections();
    server.close();
  }
});

describe("a node that compresses its answers", () => {
  it("is asked to, and its answers arrive as they were, whole or in a batch", async () => {
    const url = gateway.endpoint("coded");
    expect(await ask(url, "eth_getCode", [ADDRESS, "0x1"])).toHaveProperty("result", CODE);
    const calls = [1, 2].map((id) => ({
      ...{ jsonrpc: "2.0", id, method: "eth_getBalance", params: [ADDRESS, `0x${id}`] },
    }));
    const answers = await (await post(url, JSON.stringify(calls))).json();
    expect(answers).toMatchObject([{ result: "0x7" }, { result: "0x7" }]);
    expect(seen.coded).toBeGreaterThan(2);
    expect([...seen.agents]).toEqual([expect.stringMatching(/^headgate\/\d/)]);
  });
});

describe("a node that resets its idle connections as the next request comes", () => {
  it("answers every call, and stays usable", async () => {
    resetting.begin();
    for (let round = 0; round < 10; round += 1)
      expect(await ask(gateway.endpoint("reset"), "eth_gasPrice")).toHaveProperty("result");
    expect(resetting.resets()).toBeGreaterThan(4);
    expect(gateway.log.filter(({ level }) => Number(level) > 30)).toEqual([]);
  });
});

describe("a node that says that it holds the newest proofs only", () => {
  it("is asked for those first, since it is the cheaper one, and for older ones last", async () => {
    const askedAt = (node: ScriptedNode, at: string): number =>
      node.calls.filter(({ params }) => params[0] === ADDRESS && params[2] === at).length;
    await until("the node was asked what it holds", async () =>
      [pruned, archive].every(({ calls }) =>
        calls.some(({ method }) => method === "eth_capabilities"),
      ),
    );
    // The gateway learns the heads of the nodes by and by.
    let number = 0x100;
    await until("old proofs are asked of the other node", async () => {
      number += 1;
      const at = `0x${number.toString(16)}`;
      await ask(gateway.endpoint("held"), "eth_getProof", [ADDRESS, [], at]);
      return askedAt(archive, at) === 1 && askedAt(pruned, at) === 0;
    });
    await ask(gateway.endpoint("held"), "eth_getProof", [ADDRESS, [], "0x4e00"]);
    expect(askedAt(pruned, "0x4e00")).toBe(1);
  });
});
