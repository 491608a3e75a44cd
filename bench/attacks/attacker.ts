// One hostile caller beside the honest ones: it runs the attacks in turn, each for a few seconds.
import { setTimeout as pause } from "node:timers/promises";
import type { Attack, AttackTarget } from "./attack.ts";
import { bracketBombs } from "./bracket-bombs.ts";
import { forwardedStorm } from "./forwarded-storm.ts";
import { garbage } from "./garbage.ts";
import { keyGuessing } from "./key-guessing.ts";
import { pipelinedStorm } from "./pipelined-storm.ts";
import { strangers } from "./strangers.ts";
import { unreadBatches } from "./unread-batches.ts";
import { wideLogs } from "./wide-logs.ts";

/** The attacks in their order, which repeats. */
const ATTACKS: readonly Attack[] = [
  garbage,
  bracketBombs,
  strangers,
  keyGuessing,
  pipelinedStorm,
  wideLogs,
  unreadBatches({ connections: 8, members: 100, filter: { fromBlock: "0x1", toBlock: "latest" } }),
  forwardedStorm({ connections: 32, members: 100, method: "eth_getLogs", reads: true }),
];

export class Attacker {
  readonly #target: AttackTarget;
  readonly #eachMs: number;
  readonly #ending = new AbortController();
  #running: Promise<void> | undefined;
  #current = "none";

  /** @param options.eachMs The duration of one attack, in milliseconds. */
  constructor(options: { target: AttackTarget; eachMs: number }) {
    this.#target = options.target;
    this.#eachMs = options.eachMs;
  }

  /** The duration of one round of all attacks, in milliseconds. */
  get roundMs(): number {
    return ATTACKS.length * (this.#eachMs + REST_MS);
  }

  /** The name of the present attack. */
  get current(): string {
    return this.#current;
  }

  start(): void {
    this.#running ??= this.#run();
  }

  /** Resolves when the attacks' connections are closed. */
  async stop(): Promise<void> {
    this.#ending.abort();
    await this.#running;
  }

  async #run(): Promise<void> {
    for (let turn = 0; !this.#ending.signal.aborted; turn += 1) {
      const attack = ATTACKS[turn % ATTACKS.length] as Attack;
      this.#current = attack.name;
      const over = AbortSignal.any([this.#ending.signal, AbortSignal.timeout(this.#eachMs)]);
      await attack.run(this.#target, over);
      // The gateway still answers the last requests: after the pause the next attack meets a quiet gateway.
      await pause(REST_MS, undefined, { signal: this.#ending.signal }).catch(() => undefined);
    }
    this.#current = "none";
  }
}

const REST_MS = 500;
