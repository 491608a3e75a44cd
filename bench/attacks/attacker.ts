// One hostile caller beside the others: attacks one after the other, each for a few seconds.
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

/** In the order in which they are carried out, again and again. */
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

  /** @param options.eachMs How long one attack lasts, in milliseconds. */
  constructor(options: { target: AttackTarget; eachMs: number }) {
    this.#target = options.target;
    this.#eachMs = options.eachMs;
  }

  /** How long it takes until each attack was carried out once, in milliseconds. */
  get roundMs(): number {
    return ATTACKS.length * (this.#eachMs + REST_MS);
  }

  /** The name of the attack that is under way. */
  get current(): string {
    return this.#current;
  }

  start(): void {
    this.#running ??= this.#run();
  }

  /** Resolves when all that was opened is closed. */
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
      // What was sent last is still being answered: the next attack begins on a quiet server.
      await pause(REST_MS, undefined, { signal: this.#ending.signal }).catch(() => undefined);
    }
    this.#current = "none";
  }
}

const REST_MS = 500;
