// A node of the one true chain, on a port of its own, with a fault that can be changed while it runs.
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as pause } from "node:timers/promises";
import { Random } from "../support/generated-chain/random.ts";
import { textOf } from "../support/request-text.ts";
import { type Fault, HEALTHY } from "./faults.ts";
import { type Answer, liedAbout, NO_STATE, nodeAnswer, STATE_METHODS } from "./node-answers.ts";
import { sendAnswer } from "./send-answer.ts";
import type { NodeView, WorldChain } from "./world-chain.ts";

/** The number of calls by method. */
export type CallCounts = Readonly<Record<string, number>>;

type Call = { readonly id: number; readonly method: string; readonly params: readonly unknown[] };

/** The latency of a healthy answer, in milliseconds. */
const LATENCY_MS = { least: 2, most: 5 };

export class FaultyNode {
  #fault: Fault = HEALTHY;
  #faultSince = 0;
  /** The part of the chain that this node has; undefined: all of it. */
  #part: NodeView | undefined;
  #answered = 0;
  #port = 0;
  readonly #counts: Record<string, number> = {};
  readonly #chain: WorldChain;
  readonly #server = createServer((request, response) => {
    this.#serve(request, response).catch(() => response.destroy());
  });

  readonly #random: Random;

  constructor(options: { seed: number }, parts: { chain: WorldChain }) {
    this.#random = new Random(options.seed);
    this.#chain = parts.chain;
  }

  async open(): Promise<string> {
    if (!this.#server.listening) {
      this.#server.listen(this.#port, "127.0.0.1");
      await once(this.#server, "listening");
    }
    this.#port = (this.#server.address() as AddressInfo).port;
    return `http://127.0.0.1:${this.#port}`;
  }

  async close(): Promise<void> {
    if (!this.#server.listening) return;
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  async setFault(fault: Fault): Promise<void> {
    const { kind: before } = this.#fault;
    this.#fault = fault;
    this.#faultSince = performance.now();
    this.#part = this.#partFor(fault);
    // Requests that were never answered would stay open: the node comes back as after a restart.
    if (before === "hang" || before === "drip") this.#server.closeAllConnections();
    await (fault.kind === "refuse" ? this.close() : this.open());
  }

  counts(): CallCounts {
    return this.#counts;
  }

  #partFor(fault: Fault): NodeView | undefined {
    const head = this.#chain.headNumber();
    if (fault.kind === "stale") return this.#chain.upTo(head - fault.blocks);
    // One block shorter than the true chain: a minority that was left behind.
    if (fault.kind === "fork") return this.#chain.branch(head - 3, 2);
    return undefined;
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const calls = JSON.parse(await textOf(request)) as Call | Call[];
    for (const { method } of [calls].flat()) this.#counts[method] = (this.#counts[method] ?? 0) + 1;
    this.#answered += 1;
    await pause(this.#random.between([LATENCY_MS.least, LATENCY_MS.most]));
    const text = (): string =>
      Array.isArray(calls) ? `[${calls.map((call) => this.#tell(call))}]` : this.#tell(calls);
    const sinceMs = performance.now() - this.#faultSince;
    await sendAnswer(response, this.#fault, { text, turn: this.#answered, sinceMs });
  }

  /** The envelope of one call's answer. */
  #tell({ id, method, params }: Call): string {
    const { kind } = this.#fault;
    const answer = kind === "limited" ? LIMITED : this.#answer(method, params);
    return `{"jsonrpc":"2.0","id":${kind === "wrong id" ? id + 1 : id},${answer}}`;
  }

  #answer(method: string, params: readonly unknown[]): Answer {
    const { kind } = this.#fault;
    if (kind === "no state" && STATE_METHODS.has(method)) return NO_STATE;
    const view = this.#part ?? this.#chain.upTo(this.#chain.headNumber());
    const answer = nodeAnswer(view, method, params ?? []);
    return kind === "lies" ? liedAbout(method, answer) : answer;
  }
}

const LIMITED: Answer = '"error":{"code":-32005,"message":"rate limit exceeded"}';
