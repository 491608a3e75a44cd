// What one node can do, as its answers told: which methods it lacks, how far back it reaches, how much it
// takes at once.
import { sizeRefusal } from "../../evm/log-refusals.ts";
import { parsed } from "../../jsonrpc/raw-json.ts";
import type { Clock } from "../../lib/clock.ts";
import type { MethodGroup, MethodTraits } from "../../namespaces/known-method.ts";
import type { Reply } from "../reply.ts";
import type { TraitsOf } from "../upstream-options.ts";
import { type CapabilityRecord, type CapabilitySnapshot, isOutdated } from "./capability-record.ts";
import { evidenceOf, History, type Place, type Reach } from "./history.ts";
import { MissingMethods } from "./missing-methods.ts";

export type CapabilitiesParts = {
  readonly clock: Pick<Clock, "now" | "wallTime">;
  readonly traitsOf: TraitsOf;
};

export class Capabilities {
  readonly missing: MissingMethods;
  readonly history: History;
  #version: string | undefined;
  /** By the wall clock, since when it is learned what is known. */
  #learnedAtMs: number;
  readonly #probed = new Set<string>();
  #widestLogs: number | undefined;
  #batch: number | undefined;
  #listener: () => void = () => undefined;
  readonly #clock: CapabilitiesParts["clock"];
  readonly #traitsOf: TraitsOf;

  constructor({ clock, traitsOf }: CapabilitiesParts) {
    const onChange = (): void => this.#listener();
    this.#clock = clock;
    this.#traitsOf = traitsOf;
    this.#learnedAtMs = clock.wallTime();
    this.missing = new MissingMethods({ clock, onChange });
    this.history = new History({ onChange });
  }

  /** Calls the one listener whenever something is learned. */
  onChange(listener: () => void): void {
    this.#listener = listener;
  }

  /** Whether it seems not to have what a call of this kind needs at that place. */
  isLacking(group: MethodGroup, { block, head }: Place): boolean {
    const reach = REACHES[group];
    return reach !== undefined && this.history.isLacking(reach, block, head);
  }

  /** From any call's answer. @param place Where it is known. */
  learnFrom(
    traits: Pick<MethodTraits, "group" | "isNullNoBlock">,
    reply: Reply,
    place: Place | undefined,
  ): void {
    const { group } = traits;
    if (group === "logs" && reply.kind === "refused") this.#learnWidestLogs(reply);
    const reach = REACHES[group];
    if (place && reach) this.history.learn(reach, evidenceOf(traits, reply, place), place);
  }

  /** From the answer to a question that the gateway asked to find out. */
  learnReach(
    reach: Reach,
    { method, reply }: { method: string; reply: Reply },
    place: Place,
  ): void {
    this.history.learn(reach, evidenceOf(this.#traitsOf(method), reply, place), place);
  }

  /** It takes no more calls than these in one request. */
  batchLimitedTo(size: number): void {
    this.#batch = size;
    this.#listener();
  }

  wasProbed(name: string): boolean {
    return this.#probed.has(name);
  }

  probed(name: string): void {
    this.#probed.add(name);
    this.#listener();
  }

  /** What was learned of another version is forgotten, and so is what is too old. */
  learnVersion(version: string): void {
    const before = this.#version;
    const learnedAtMs = this.#learnedAtMs;
    const isOld = isOutdated({ version, learnedAtMs }, this.#clock.wallTime());
    if (isOld || (before !== undefined && before !== version)) this.#forget();
    this.#version = version;
    if (before !== version) this.#listener();
  }

  snapshot(): CapabilitySnapshot {
    return {
      version: this.#version,
      learnedAtMs: this.#learnedAtMs,
      lackedMethods: this.missing.count,
      reaches: this.history.known(),
      widestLogs: this.#widestLogs,
      batch: this.#batch,
    };
  }

  toRecord(): CapabilityRecord {
    return {
      format: 1,
      version: this.#version,
      learnedAtMs: this.#learnedAtMs,
      missing: this.missing.toRecord().map(([name, untilMs, restMs]) => [name, untilMs, restMs]),
      history: this.history.toRecord(),
      probed: [...this.#probed],
      widestLogs: this.#widestLogs,
      batch: this.#batch,
    };
  }

  /** What is too old is left out. */
  restore(record: CapabilityRecord): void {
    if (isOutdated(record, this.#clock.wallTime())) return;
    this.#version = record.version;
    this.#learnedAtMs = record.learnedAtMs;
    this.missing.restore(record.missing);
    this.history.restore(record.history);
    for (const name of record.probed) this.#probed.add(name);
    this.#widestLogs = record.widestLogs;
    this.#batch = record.batch;
  }

  #learnWidestLogs({ message, json }: Extract<Reply, { kind: "refused" }>): void {
    const { data } = (parsed(json) ?? {}) as { data?: unknown };
    const told = sizeRefusal({ message, data }, { from: 0, to: Number.POSITIVE_INFINITY });
    if (told?.widest === undefined || told.widest === this.#widestLogs) return;
    this.#widestLogs = told.widest;
    this.#listener();
  }

  #forget(): void {
    this.#probed.clear();
    this.#widestLogs = undefined;
    this.#batch = undefined;
    this.#learnedAtMs = this.#clock.wallTime();
    this.missing.forget();
    this.history.forget();
  }
}

const REACHES: Readonly<Partial<Record<MethodGroup, Reach>>> = {
  state: "state",
  execution: "state",
  blocks: "history",
  logs: "history",
  traces: "traces",
};
