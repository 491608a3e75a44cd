// The chain below a fleet: mines, reorganises, and reads the canonical logs and hashes from the node.
import { inputWord } from "../../packages/devnet/src/contracts.ts";
import type { Log } from "../filters/filter-client.ts";
import { reorganise } from "../filters/reorganise.ts";
import { post, read } from "../support/ask.ts";
import { until } from "../support/processes.ts";
import type { Fleet } from "./fleet.ts";

type Block = { readonly number: string; readonly hash: string };

/** The depth of the deepest reorg in the tests. */
const DEEPEST = 12;

export class ChainOfFleet {
  /** The number of each block by its hash, also of dropped blocks. */
  readonly heights = new Map<string, number>();
  readonly #from: string;
  readonly #fleet: Fleet;

  private constructor(options: { readonly from: string }, parts: { readonly fleet: Fleet }) {
    this.#from = options.from;
    this.#fleet = parts.fleet;
  }

  static async of(fleet: Fleet): Promise<ChainOfFleet> {
    const [from = ""] = await read<string[]>(fleet.anvil.url, "eth_accounts");
    await read(fleet.anvil.url, "anvil_mine", "0x20"); // no reorg reaches below these blocks
    return new ChainOfFleet({ from }, { fleet });
  }

  get emitter(): string {
    return this.#fleet.anvil.emitter;
  }

  get #url(): string {
    return this.#fleet.anvil.url;
  }

  async head(): Promise<number> {
    return Number((await this.#latest()).number);
  }

  logs(): Promise<Log[]> {
    const filter = { fromBlock: "0x0", toBlock: "latest", address: this.emitter };
    return read(this.#url, "eth_getLogs", filter);
  }

  /** Emits a log, in a block of its own. */
  async emit(): Promise<void> {
    const hash = await this.send({ to: this.emitter, data: inputWord(9), gas: "0x100000" });
    await until("it is mined", () => read(this.#url, "eth_getTransactionReceipt", hash));
    await this.#remember();
  }

  /** Sends a transaction. @returns Its hash. */
  send(transaction: object): Promise<string> {
    return read(this.#url, "eth_sendTransaction", { from: this.#from, ...transaction });
  }

  async mine(blocks: number): Promise<void> {
    await read(this.#url, "anvil_mine", `0x${blocks.toString(16)}`);
    await this.#remember();
  }

  /** Replaces the last blocks by others. */
  async reorganise(depth: number): Promise<void> {
    await reorganise(this.#url, depth);
    await this.#remember();
  }

  /** Resolves when the named gateways, by default all, have the node's head. */
  async settled(...sides: readonly number[]): Promise<void> {
    const all = sides.length > 0 ? sides : [0, 1];
    await Promise.all(all.map((side) => this.#isAtHead(side)));
  }

  /** The canonical logs and hashes after a poll. anvil may mine a block again that a reorg dropped. */
  async canonicalEnd(since: number, poll: () => Promise<unknown>) {
    for (;;) {
      await this.settled();
      const { hash, number } = await this.#latest();
      await poll();
      await this.#remember();
      const logs = await this.logs();
      const hashes = await this.#hashesFrom(since + 1, Number(number));
      if ((await this.#latest()).hash === hash) return { logs, hashes };
    }
  }

  #isAtHead(side: number): Promise<unknown> {
    const gateway = this.#fleet.gateways[side === 0 ? 0 : 1];
    const question = { jsonrpc: "2.0", id: 1, method: "eth_getBlockByNumber" };
    const body = JSON.stringify({ ...question, params: ["latest", false] });
    return until("the gateway has the node's head", async () => {
      const response = await post(gateway.endpoint(), body);
      const { result } = (await response.json()) as { result?: Block };
      // Until the gateway follows the chain again, the node answers.
      const isStored = response.headers.get("x-headgate-source") === "store";
      return isStored && result?.hash === (await this.#latest()).hash;
    });
  }

  #latest(): Promise<Block> {
    return read(this.#url, "eth_getBlockByNumber", "latest", false);
  }

  async #remember(): Promise<void> {
    const head = await this.head();
    const first = Math.max(0, head - DEEPEST);
    for (const [index, hash] of (await this.#hashesFrom(first, head)).entries())
      this.heights.set(hash, first + index);
  }

  async #hashesFrom(first: number, last: number): Promise<string[]> {
    const numbers = Array.from({ length: Math.max(0, last + 1 - first) }, (_, n) => first + n);
    const blocks = numbers.map((each) =>
      read<Block>(this.#url, "eth_getBlockByNumber", `0x${each.toString(16)}`, false),
    );
    return (await Promise.all(blocks)).map(({ hash }) => hash);
  }
}
