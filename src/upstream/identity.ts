// Makes sure that a node is there and of the right chain, before it is asked and after it failed.
import type { Logger } from "pino";
import { parsed } from "../jsonrpc/raw-json.ts";
import type { Signal } from "../lib/cancellation.ts";
import type { Clock } from "../lib/clock.ts";
import { deadline } from "../lib/waiting.ts";
import type { Family } from "../namespaces/known-method.ts";
import type { Reply } from "./reply.ts";

export type IdentityState = "checking" | "usable" | "wrong chain";

export type IdentityOptions = { readonly name: string; readonly chainId: number };

export type IdentityParts = {
  readonly clock: Clock;
  readonly log: Logger;
  /** The chain id that the node tells, or in plain words why it tells none. */
  readonly readChainId: (signal: Signal) => Promise<number | string>;
  /** After each look. */
  readonly onLooked: (state: IdentityState) => void;
};

const FIRST_PAUSE_MS = 250;
/** Short, so that a network with one node is back within a second after the node is. */
const LONGEST_PAUSE_MS = 500;
/** A node that does not say who it is within this time is asked again: it may have come back. */
const TIMEOUT_MS = 2_000;
/** One slip is no news, and a node that starts together with us gets about ten seconds. */
const TOLD_AFTER_FAILURES = { atStart: 20, afterwards: 3 };
const WRONG_CHAIN_PAUSE_MS = 30_000;

export class Identity {
  #isChecking = false;
  /** What the log said last: a slip that it never mentioned is not followed by good news either. */
  #reported: "usable" | "not usable" | undefined;
  readonly #closing = new AbortController();
  readonly #options: IdentityOptions;
  readonly #parts: IdentityParts;

  constructor(options: IdentityOptions, parts: IdentityParts) {
    this.#options = options;
    this.#parts = parts;
  }

  /** Something was told of the node: it answered, or was silent for long. */
  get isReported(): boolean {
    return this.#reported !== undefined;
  }

  /** In the background, until the node is the right one. */
  check(): void {
    if (this.#isChecking || this.#closing.signal.aborted) return;
    this.#isChecking = true;
    void this.#checkUntilUsable();
  }

  close(): void {
    this.#closing.abort();
  }

  async #checkUntilUsable(): Promise<void> {
    const { clock, onLooked } = this.#parts;
    const { signal } = this.#closing;
    const startedAt = clock.now();
    let failures = 0;
    for (
      let pauseMs = FIRST_PAUSE_MS;
      !signal.aborted;
      pauseMs = Math.min(pauseMs * 2, LONGEST_PAUSE_MS)
    ) {
      const found = await this.#look();
      if (signal.aborted) return;
      if (found === this.#options.chainId) {
        this.#isChecking = false; // before anybody can find it usable and failing
        onLooked("usable");
        this.#tellUsable(clock.now() - startedAt);
        return;
      }
      failures += 1;
      const failuresToTell = TOLD_AFTER_FAILURES[this.#reported ? "afterwards" : "atStart"];
      if (failures === failuresToTell || typeof found === "number") this.#tellWhyNot(found);
      onLooked(typeof found === "number" ? "wrong chain" : "checking");
      const restMs = typeof found === "number" ? WRONG_CHAIN_PAUSE_MS : pauseMs;
      await clock.sleep(restMs, signal).catch(() => undefined);
    }
  }

  async #look(): Promise<number | string> {
    const { clock } = this.#parts;
    const { signal, done } = deadline(TIMEOUT_MS, this.#closing.signal, clock);
    const found = await this.#parts.readChainId(signal);
    done();
    return found;
  }

  #tellUsable(ms: number): void {
    if (this.#reported === "usable") return;
    this.#reported = "usable";
    const { name: upstream, chainId } = this.#options;
    this.#parts.log.info({ upstream, chainId, ms: Math.round(ms) }, "upstream is usable");
  }

  #tellWhyNot(found: number | string): void {
    this.#reported = "not usable";
    const { log } = this.#parts;
    const { name: upstream, chainId: want } = this.#options;
    if (typeof found === "string")
      log.warn({ upstream, reason: found }, "upstream does not answer");
    else log.error({ upstream, chainId: found, want }, "upstream is of another chain: kept out");
  }
}

/** The chain id, or in plain words why it cannot be told. */
export async function readChainId(
  family: Family,
  ask: (method: string) => Promise<Reply>,
): Promise<number | string> {
  const reply = await ask(family === "evm" ? "eth_chainId" : "cfx_getStatus");
  if (reply.kind !== "result") return reply.kind === "failed" ? reply.reason : reply.kind;
  const value = parsed(reply.json);
  const text = family === "evm" ? value : (value as { chainId?: unknown } | null)?.chainId;
  const chainId = typeof text === "string" && /^0x[0-9a-f]+$/i.test(text) ? Number(text) : -1;
  return Number.isSafeInteger(chainId) && chainId >= 0 ? chainId : "no chain id in its answer";
}
