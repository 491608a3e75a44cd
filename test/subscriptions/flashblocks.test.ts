// Two nodes with Flashblocks (a pending block that grows), of which one is behind, and one dies: callers never see the
// block go back.
import { once } from "node:events";
import { afterAll, beforeAll, expect, it } from "vitest";
import { type WebSocket, WebSocketServer } from "ws";
import { read } from "../support/ask.ts";
import { type RunningGateway, startGatewayProcess } from "../support/gateway-process.ts";
import { until } from "../support/processes.ts";
import { SocketCaller } from "../support/socket-caller.ts";

type Call = { readonly id: number; readonly method: string; readonly params: readonly unknown[] };
type PendingBlock = { readonly number: string; readonly transactions: readonly string[] };

const hex = (number: number): string => `0x${number.toString(16)}`;

/** The pending block of a node: a Flashblock adds one transaction, ten of them are a block. */
class FlashNode {
  /** The Flashblocks since the beginning. */
  at = 1_000;
  readonly #server = new WebSocketServer({ port: 0, host: "127.0.0.1" });
  readonly #subscribers = new Set<WebSocket>();

  async start(): Promise<string> {
    this.#server.on("connection", (socket) =>
      socket.on("message", (text) => this.#answer(socket, JSON.parse(String(text)))),
    );
    await once(this.#server, "listening");
    return `ws://127.0.0.1:${(this.#server.address() as { port: number }).port}`;
  }

  get isSubscribed(): boolean {
    return this.#subscribers.size > 0;
  }

  #answer(socket: WebSocket, { id, method, params }: Call): void {
    const result = this.#resultOf(method, params);
    const answer = result === undefined ? { error: { code: -32601, message: "no" } } : { result };
    socket.send(JSON.stringify({ jsonrpc: "2.0", id, ...answer }));
    if (method === "eth_subscribe" && params[0] === "newFlashblocks") this.#subscribers.add(socket);
  }

  #resultOf(method: string, [first]: readonly unknown[]): unknown {
    if (method === "eth_chainId") return "0x1";
    if (method === "eth_blockNumber") return hex(Math.floor(this.at / 10) - 1);
    if (method === "eth_subscribe") return first === "newFlashblocks" ? "0xf1" : undefined;
    if (method !== "eth_getBlockByNumber") return undefined;
    const number = Math.floor(this.at / 10);
    if (first !== "pending")
      return { number: hex(number - 1), hash: hex(number), timestamp: "0x1" };
    const transactions = Array.from({ length: 1 + (this.at % 10) }, (_, n) => `0x${number}${n}`);
    return { number: hex(number), hash: null, parentHash: "0x0", transactions };
  }

  /** Goes on to this Flashblock, and pushes each on the way. */
  advance(to: number): void {
    while (this.at < to) {
      this.at += 1;
      const number = Math.floor(this.at / 10);
      const result = {
        payload_id: hex(number),
        index: this.at % 10,
        metadata: { block_number: number },
      };
      const params = { subscription: "0xf1", result };
      for (const socket of this.#subscribers)
        socket.send(JSON.stringify({ jsonrpc: "2.0", method: "eth_subscription", params }));
    }
  }

  die(): void {
    for (const socket of this.#server.clients) socket.terminate();
    this.#server.close();
  }
}

let nodes: readonly [FlashNode, FlashNode];
let gateway: RunningGateway;
let caller: SocketCaller;

beforeAll(async () => {
  nodes = [new FlashNode(), new FlashNode()];
  const [one, other] = await Promise.all(nodes.map((node) => node.start()));
  gateway = await startGatewayProcess({
    networks: {
      flash: {
        ...{ family: "evm", chainId: 1, window: { blocks: 0 }, pending: "node" },
        upstreams: [
          { name: "one", url: one, probe: false },
          { name: "other", url: other, probe: false },
        ],
      },
    },
  });
  caller = await SocketCaller.open(gateway.endpoint("flash"));
});

afterAll(async () => {
  await caller?.close();
  await gateway?.stop();
  for (const node of nodes) node.die();
});

const position = async (): Promise<number> => {
  const url = gateway.endpoint("flash");
  const block = await read<PendingBlock>(url, "eth_getBlockByNumber", "pending", false);
  return Number(block.number) * 10 + block.transactions.length - 1;
};

it("the pending block and its Flashblocks never go back, also when the leading node dies", async () => {
  await position(); // waits until a node can be asked
  const id = await caller.subscribe("newFlashblocks");
  const [leading, lagging] = nodes[0].isSubscribed ? nodes : [nodes[1], nodes[0]];
  const seen: number[] = [];
  const look = async (): Promise<void> => void seen.push(await position());
  for (let step = 0; step < 25; step += 1) {
    leading.advance(leading.at + 1);
    lagging.advance(leading.at - 3);
    await Promise.all([look(), look(), look()]);
  }
  leading.die();
  const waiting = look();
  for (let step = 0; step < 4; step += 1) {
    await until("the other node is subscribed to", async () => lagging.isSubscribed);
    lagging.advance(lagging.at + 1);
  }
  await waiting;
  lagging.advance(1_040);
  await look();
  expect(seen).toEqual(seen.toSorted((a, b) => a - b));
  expect(seen.at(-1)).toBe(1_040);

  type Payload = { readonly index: number; readonly metadata: { readonly block_number: number } };
  const told = (): number[] =>
    caller.resultsOf<Payload>(id).map(({ index, metadata }) => metadata.block_number * 10 + index);
  await until("the last Flashblock is told", async () => told().at(-1) === 1_040);
  expect(told()).toEqual(Array.from({ length: 40 }, (_, index) => 1_001 + index));
  const metrics = await (await fetch(gateway.metricsUrl)).text();
  expect(metrics).toMatch(/headgate_relayed_subscriptions_moved_total\{network="flash"\} 1/);
});
