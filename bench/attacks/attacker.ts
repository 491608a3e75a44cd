// One hostile caller beside the honest ones: it runs all attacks in rounds, each for a few seconds, in an order by chance.
import { setTimeout as pause } from "node:timers/promises";
import { Random } from "../../test/support/generated-chain/random.ts";
import type { Attack, AttackTarget } from "./attack.ts";
import { type BeyondScope, beyondScope } from "./beyond-scope.ts";
import { bracketBombs } from "./bracket-bombs.ts";
import { callersWords } from "./callers-words.ts";
import { forwardedStorm } from "./forwarded-storm.ts";
import { garbage } from "./garbage.ts";
import { keyGuessing } from "./key-guessing.ts";
import { type NarrowedKey, narrowedKey } from "./narrowed-key.ts";
import { ownWork } from "./own-work.ts";
import { pipelinedStorm } from "./pipelined-storm.ts";
import { sideDoors } from "./side-doors.ts";
import { strangers } from "./strangers.ts";
import { tokenGuessing } from "./token-guessing.ts";
import { unreadBatches } from "./unread-batches.ts";
import { unreadPushes } from "./unread-pushes.ts";
import { wideFilters } from "./wide-filters.ts";
import { wideLogs } from "./wide-logs.ts";

export type AttackerOptions = BeyondScope &
  NarrowedKey & {
    readonly target: AttackTarget;
    /** The duration of one attack, in milliseconds. */
    readonly eachMs: number;
    readonly seed: number;
  };

const attacksOf = (options: AttackerOptions): readonly Attack[] => [
  garbage,
  bracketBombs,
  strangers,
  keyGuessing,
  pipelinedStorm,
  wideLogs,
  unreadBatches({ connections: 8, members: 100, filter: { fromBlock: "0x1", toBlock: "latest" } }),
  forwardedStorm({ connections: 32, members: 100, method: "eth_getLogs", reads: true }),
  sideDoors,
  callersWords,
  unreadPushes,
  ownWork,
  beyondScope(options),
  narrowedKey(options),
  tokenGuessing(options),
  wideFilters,
];

export class Attacker {
  readonly #target: AttackTarget;
  readonly #eachMs: number;
  readonly #attacks: readonly Attack[];
  readonly #random: Random;
  readonly #ending = new AbortController();
  #running: Promise<void> | undefined;
  #current = "none";

  constructor(options: AttackerOptions) {
    this.#attacks = attacksOf(options);
    this.#random = new Random(options.seed);
    this.#target = options.target;
    this.#eachMs = options.eachMs;
  }

  /** The duration of one round of all attacks, in milliseconds. */
  get roundMs(): number {
    return this.#attacks.length * (this.#eachMs + REST_MS);
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
    let left: Attack[] = [];
    while (!this.#ending.signal.aborted) {
      if (left.length === 0) left = [...this.#attacks];
      const [attack] = left.splice(this.#random.below(left.length), 1) as [Attack];
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
