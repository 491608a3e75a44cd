// A node that tells lies: passes calls on to an honest one and changes the answers as told. Its chain
// may end before the honest one's does, so that a test can let it grow.
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { toQuantity } from "../../src/evm/values.ts";
import { ask } from "../support/ask.ts";

export type Call = { readonly method: string; readonly params: readonly unknown[] };

/**
 * Gives the answer to tell instead of the honest one.
 *
 * @param askHonestly The honest answer to another call.
 */
export type Lie = (
  call: Call,
  honest: unknown,
  askHonestly: (call: Call) => Promise<unknown>,
) => unknown;

export class LyingNode {
  url = "";
  /** How many answers were other than the honest ones. */
  told = 0;
  /** The newest block that the node tells of. */
  head: number;
  /** undefined while the node is honest. */
  lie: Lie | undefined;
  readonly #honestUrl: string;
  readonly #server = createServer((request, response) => {
    this.#serve(request, response).catch(() => response.destroy());
  });

  constructor({ honestUrl, head, lie }: { honestUrl: string; head: number; lie?: Lie }) {
    this.#honestUrl = honestUrl;
    this.head = head;
    this.lie = lie;
  }

  async listen(): Promise<this> {
    await new Promise<void>((resolve) => this.#server.listen(0, "127.0.0.1", resolve));
    this.url = `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
    return this;
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const { id, ...call } = JSON.parse(Buffer.concat(chunks).toString()) as Call & { id: unknown };
    const outcome = await this.#answer(call).then(
      (result) => ({ result }),
      (refusal: Refusal) => ({ error: refusal.error }),
    );
    response
      .writeHead(200, { "content-type": "application/json" })
      .end(JSON.stringify({ jsonrpc: "2.0", id, ...outcome }));
  }

  async #answer(call: Call): Promise<unknown> {
    const honest = await this.#askHonestly(call);
    const lie = this.lie;
    if (!lie) return honest;
    const text = JSON.stringify(honest);
    const answer = await lie(call, honest, (other) => this.#askHonestly(other));
    if (JSON.stringify(answer) !== text) this.told += 1;
    return answer;
  }

  /** What the honest node would say if its chain ended at this node's head. */
  async #askHonestly({ method, params }: Call): Promise<unknown> {
    const head = toQuantity(this.head);
    if (method === "eth_blockNumber") return head;
    const settled = params.map((param) => (TAGS.has(param) ? head : param));
    const { result, error } = await ask(this.#honestUrl, method, settled);
    if (error) throw new Refusal(error);
    return isBeyond(result, this.head) ? null : result;
  }
}

export const startLyingNode = (options: {
  honestUrl: string;
  head: number;
  lie?: Lie;
}): Promise<LyingNode> => new LyingNode(options).listen();

const TAGS: ReadonlySet<unknown> = new Set(["latest", "safe", "finalized"]);

/** The honest node's error object, passed on. */
class Refusal extends Error {
  readonly error: unknown;

  constructor(error: unknown) {
    super("refused");
    this.error = error;
  }
}

/** Whether a block, transaction, receipt, or list of receipts is of a later block. */
function isBeyond(result: unknown, head: number): boolean {
  const item = Array.isArray(result) ? result.at(-1) : result;
  const { number, blockNumber = number } = Object(item) as Record<string, unknown>;
  return typeof blockNumber === "string" && Number(blockNumber) > head;
}
