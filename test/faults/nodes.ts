// Handles for the nodes of the one true chain, which live in a process of their own.
import { type ChildProcess, fork } from "node:child_process";
import type { Fault } from "./faults.ts";
import type { CallCounts } from "./faulty-node.ts";
import { WorldChain, type WorldTime } from "./world-chain.ts";

/** An order to the process of the nodes. */
export type Order =
  | { readonly kind: "open" }
  | { readonly kind: "fault"; readonly node: number; readonly fault: Fault }
  | { readonly kind: "count"; readonly node: number }
  | { readonly kind: "close"; readonly node: number };

export type NodeHandle = {
  readonly url: string;
  setFault(fault: Fault): Promise<void>;
  counts(): Promise<CallCounts>;
  close(): Promise<void>;
};

export class Nodes {
  /** The chain that healthy nodes have. */
  readonly chain: WorldChain;
  readonly #process: ChildProcess;
  readonly #waiting = new Map<number, (value: unknown) => void>();
  #orders = 0;

  constructor(options: { seed: number; blockMs: number }) {
    const time: WorldTime = { ...options, startedAtMs: Date.now() };
    this.chain = new WorldChain(time);
    const script = new URL("./node-process.ts", import.meta.url).pathname;
    this.#process = fork(script, [JSON.stringify(time)], { execArgv: [] });
    this.#process.on("message", ({ number, value }: { number: number; value: unknown }) => {
      this.#waiting.get(number)?.(value);
      this.#waiting.delete(number);
    });
  }

  get pid(): number | undefined {
    return this.#process.pid;
  }

  async open(): Promise<NodeHandle> {
    const { index, url } = (await this.#order({ kind: "open" })) as { index: number; url: string };
    return {
      url,
      setFault: async (fault) => {
        await this.#order({ kind: "fault", node: index, fault });
      },
      counts: async () => (await this.#order({ kind: "count", node: index })) as CallCounts,
      close: async () => {
        await this.#order({ kind: "close", node: index });
      },
    };
  }

  stop(): void {
    this.#process.kill("SIGKILL");
  }

  #order(order: Order): Promise<unknown> {
    this.#orders += 1;
    const number = this.#orders;
    return new Promise((resolve) => {
      this.#waiting.set(number, resolve);
      this.#process.send({ number, order });
    });
  }
}
