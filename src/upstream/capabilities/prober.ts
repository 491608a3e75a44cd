// Probes the capabilities of one node, one probe after the other, when the node is new or upgraded, and asks its
// version, and what it says that it holds, each hour. It skips probes whose result the replies to callers have already shown.

import { numberIn } from "../../evm/values.ts";
import { parsed } from "../../jsonrpc/raw-json.ts";
import type { Signal } from "../../lib/cancellation.ts";
import type { Clock } from "../../lib/clock.ts";
import { type Family, GATEWAY_CALLS } from "../../namespaces/known-method.ts";
import type { Reply } from "../reply.ts";
import type { Capabilities } from "./capabilities.ts";
import { CLAIMS_CALL, mayClaim, readClaims } from "./claims.ts";
import {
  isAnswered,
  learnFromProbe,
  methodProbes,
  type Probe,
  reachProbes,
  versionIn,
} from "./probes.ts";

export type ProberParts = {
  readonly clock: Pick<Clock, "now" | "after" | "sleep">;
  readonly capabilities: Capabilities;
  /** Replies "busy" when the budget is exhausted. A failure does not count against the node. Never rejects. */
  readonly ask: (method: string, paramsJson: string, signal: Signal) => Promise<Reply>;
  /** Whether the node may be asked now. */
  readonly isUsable: () => boolean;
};

const VERSION_EVERY_MS = 3_600_000;
/** A node that comes and goes is not probed each time. The pause doubles while the node does not answer. */
const LEAST_REST_MS = 60_000;
const LONGEST_REST_MS = 3_600_000;
const BETWEEN_CALLS_MS = 250;

export class Prober {
  #notBeforeMs = Number.NEGATIVE_INFINITY;
  #isAsking = false;
  /** The number of consecutive rounds of probes that ended without an answer. */
  #unanswered = 0;
  /** Probes that failed once. A second failure counts as the probe's answer. */
  readonly #failed = new Set<string>();
  #cancelNext: () => void = () => undefined;
  readonly #closing = new AbortController();
  readonly #family: Family;
  readonly #parts: ProberParts;

  constructor(options: { readonly family: Family }, parts: ProberParts) {
    this.#family = options.family;
    this.#parts = parts;
  }

  /** Must be called when the node has become usable. */
  begin(): void {
    this.#plan(Math.max(0, this.#notBeforeMs - this.#parts.clock.now()));
  }

  close(): void {
    this.#cancelNext();
    this.#closing.abort();
  }

  #plan(restMs: number): void {
    this.#cancelNext();
    if (this.#closing.signal.aborted) return;
    this.#cancelNext = this.#parts.clock.after(restMs, () => void this.#hold());
  }

  async #hold(): Promise<void> {
    const { clock, isUsable } = this.#parts;
    // The end of the running probes, or `begin`, plans the next round.
    if (this.#isAsking || !isUsable()) return;
    this.#isAsking = true;
    const stoppedBy = await this.#askAll();
    this.#isAsking = false;
    this.#unanswered = stoppedBy ? this.#unanswered + 1 : 0;
    const restMs = stoppedBy ? restAfter(stoppedBy, this.#unanswered) : LEAST_REST_MS;
    this.#notBeforeMs = clock.now() + restMs;
    this.#plan(stoppedBy ? restMs : VERSION_EVERY_MS);
  }

  /** @returns The reply that ended the round early, if any. */
  async #askAll(): Promise<Reply | undefined> {
    const { capabilities } = this.#parts;
    const calls = GATEWAY_CALLS[this.#family];
    const version = await this.#ask(...calls.version);
    if (!isAnswered(version)) return version;
    capabilities.learnVersion(versionIn(version));
    const newest = await this.#ask(...calls.head);
    if (!isAnswered(newest)) return newest;
    const head = (newest.kind === "result" ? numberIn(parsed(newest.json)) : undefined) ?? -1;
    const unclaimed = await this.#askClaims(head);
    if (unclaimed) return unclaimed;
    for (const probe of [...methodProbes(this.#family), ...reachProbes(this.#family, head)]) {
      if (isKnown(probe, head, capabilities)) continue;
      const reply = await this.#askProbe(probe);
      if (!isAnswered(reply) && !this.#countFailure(probe, reply)) return reply;
      capabilities.probed(probe.name);
      learnFromProbe(probe, reply, { head, capabilities });
    }
    return undefined;
  }

  /** @returns The reply that ends the round early, if any. */
  async #askClaims(head: number): Promise<Reply | undefined> {
    const { capabilities } = this.#parts;
    if (!mayClaim(this.#family) || head < 0 || capabilities.wasProbed(CLAIMS_CALL.name))
      return undefined;
    const reply = await this.#askProbe(CLAIMS_CALL);
    if (!isAnswered(reply) && !this.#countFailure(CLAIMS_CALL, reply)) return reply;
    // Windows move with the head, so a node that answers is asked again. Others are asked once for each version.
    if (reply.kind === "result") capabilities.claims.learn(readClaims(reply.json, head));
    else capabilities.probed(CLAIMS_CALL.name);
    return undefined;
  }

  async #askProbe({ method, paramsJson }: Probe): Promise<Reply> {
    const { signal } = this.#closing;
    await this.#parts.clock.sleep(BETWEEN_CALLS_MS, signal).catch(() => undefined);
    return this.#ask(method, paramsJson);
  }

  #ask(method: string, paramsJson: string): Promise<Reply> | Reply {
    const { signal } = this.#closing;
    return signal.aborted ? { kind: "aborted" } : this.#parts.ask(method, paramsJson, signal);
  }

  /** @returns Whether the probe has failed before. */
  #countFailure({ name }: Probe, { kind }: Reply): boolean {
    if (kind === "busy" || kind === "aborted") return false;
    if (this.#failed.delete(name)) return true;
    this.#failed.add(name);
    return false;
  }
}

function restAfter(reply: Reply, times: number): number {
  const toldMs = reply.kind === "busy" ? (reply.retryAfterMs ?? 0) : 0;
  const ownMs = LEAST_REST_MS * 2 ** Math.min(times - 1, 10);
  return Math.min(LONGEST_REST_MS, Math.max(toldMs, ownMs));
}

function isKnown(
  { name, method, about }: Probe,
  head: number,
  capabilities: Capabilities,
): boolean {
  if (capabilities.wasProbed(name) || capabilities.missing.has(method)) return true;
  if (!about) return false;
  const { reach, block } = about;
  // There are several history probes, because a node that has a header may lack the receipts.
  return reach === "history"
    ? capabilities.history.isLacking(reach, block, head)
    : capabilities.history.isKnown(reach, block, head);
}
