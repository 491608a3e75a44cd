// Asks a node itself whether an error that a caller may have worded is true: harmless calls of the gateway's own, few
// of them, since callers can provoke such errors at will.
import type { Signal } from "../../lib/cancellation.ts";
import type { Clock } from "../../lib/clock.ts";
import { keepNewest } from "../../lib/keep-newest.ts";
import { type Family, GATEWAY_CALLS, type MethodTraits } from "../../namespaces/known-method.ts";
import type { Reply } from "../reply.ts";
import { type CallPosition, type Capabilities, reachOf } from "./capabilities.ts";
import { learnFromProbe, methodProbes, probeAt } from "./probes.ts";

export type WordCheckParts = {
  readonly clock: Pick<Clock, "now">;
  readonly capabilities: Capabilities;
  /** Makes one of the gateway's own calls, from whose reply the node's budget, health and methods are learned. */
  readonly ask: (
    method: string,
    paramsJson: string,
    purpose: "check" | "probe",
    signal: Signal,
  ) => Promise<Reply>;
};

/** The rest between two calls about the same thing, in milliseconds. */
const REST_MS = { busy: 1_000, reach: 1_000, execution: 1_000, method: 60_000 };
/** Calls of an account without code, which every node can run. */
const EXECUTIONS: Readonly<Record<Family, readonly [method: string, paramsJson: string]>> = {
  evm: ["eth_call", `[{"to":"0x${"0".repeat(40)}"},"latest"]`],
  conflux: ["cfx_call", `[{"to":"0x1${"0".repeat(39)}"},"latest_state"]`],
};
/** The methods whose last call is remembered. */
const MOST_METHODS = 64;

export class WordCheck {
  #busy: { readonly sinceMs: number; readonly verdict: Promise<boolean> } | undefined;
  #reachedAtMs = Number.NEGATIVE_INFINITY;
  #executedAtMs = Number.NEGATIVE_INFINITY;
  /** The times of the last calls, by method. */
  readonly #calledAtMs = new Map<string, number>();
  readonly #closing = new AbortController();
  readonly #family: Family;
  readonly #parts: WordCheckParts;

  constructor(options: { readonly family: Family }, parts: WordCheckParts) {
    this.#family = options.family;
    this.#parts = parts;
  }

  close(): void {
    this.#closing.abort();
  }

  /** Asks whether the node refuses a cheap call of the gateway's own, too. The answer may be a second old. Never rejects. */
  askIfBusy(): Promise<boolean> {
    const now = this.#parts.clock.now();
    if (!this.#busy || now - this.#busy.sinceMs >= REST_MS.busy)
      this.#busy = { sinceMs: now, verdict: this.#askHead() };
    return this.#busy.verdict;
  }

  /** Asks for a method that the node seems to lack, without parameters: that asks for nothing. */
  method(name: string, { isRepeatable, workKind }: MethodTraits): void {
    const now = this.#parts.clock.now();
    const restedMs = now - (this.#calledAtMs.get(name) ?? Number.NEGATIVE_INFINITY);
    if (!isRepeatable || workKind === "submission" || restedMs < REST_MS.method) return;
    keepNewest(this.#calledAtMs, [name, now], MOST_METHODS);
    const probe = methodProbes(this.#family).find(({ method }) => method === name);
    void this.#ask(name, probe?.paramsJson ?? "[]", "probe");
  }

  /** Asks for data of a block that the node seems to lack. */
  reach({ workKind }: Pick<MethodTraits, "workKind">, { block, head }: CallPosition): void {
    const { clock, capabilities } = this.#parts;
    const reach = reachOf(workKind);
    const probe = reach && probeAt(this.#family, { reach, block });
    const isKnown = reach && capabilities.history.isLacking(reach, block, head);
    if (!probe || isKnown || clock.now() - this.#reachedAtMs < REST_MS.reach) return;
    this.#reachedAtMs = clock.now();
    void this.#ask(probe.method, probe.paramsJson, "probe").then((reply) =>
      learnFromProbe(probe, reply, { head, capabilities }),
    );
  }

  /** Lets a node that seems to fail run a call of the gateway's own, which counts for its health. */
  execution({ workKind }: Pick<MethodTraits, "workKind">): void {
    const now = this.#parts.clock.now();
    if (workKind !== "execution" || now - this.#executedAtMs < REST_MS.execution) return;
    this.#executedAtMs = now;
    const [method, paramsJson] = EXECUTIONS[this.#family];
    void this.#ask(method, paramsJson, "check");
  }

  async #askHead(): Promise<boolean> {
    const [method, paramsJson] = GATEWAY_CALLS[this.#family].head;
    const { kind } = await this.#ask(method, paramsJson, "check");
    return kind === "busy";
  }

  #ask(method: string, paramsJson: string, purpose: "check" | "probe"): Promise<Reply> {
    const { signal } = this.#closing;
    const failed: Reply = { kind: "failed", reason: "the node could not be asked" };
    return signal.aborted
      ? Promise.resolve(failed)
      : this.#parts.ask(method, paramsJson, purpose, signal).catch(() => failed);
  }
}
