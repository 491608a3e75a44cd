// What one node can do, as its answers told: which methods it lacks, how far back it reaches, how much it
// takes at once.

import { sizeRefusal } from "../../evm/log-refusals.ts";
import { parsed } from "../../jsonrpc/raw-json.ts";
import { DAY_MS } from "../../lib/calendar.ts";
import type { Clock } from "../../lib/clock.ts";
import type { MethodTraits, WorkKind } from "../../namespaces/known-method.ts";
import type { Reply } from "../reply.ts";
import type { TraitsOf } from "../upstream-options.ts";
import { evidenceOf, History, type Place, type Reach } from "./history.ts";
import { type CapabilityRecord, type CapabilitySnapshot, isOutdated } from "./kept-capabilities.ts";

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
  isLacking(workKind: WorkKind, { block, head }: Place): boolean {
    const reach = REACHES[workKind];
    return reach !== undefined && this.history.isLacking(reach, block, head);
  }

  /** From any call's answer. @param place Where it is known. */
  learnFrom(
    traits: Pick<MethodTraits, "workKind" | "isNullNoBlock">,
    reply: Reply,
    place: Place | undefined,
  ): void {
    const { workKind } = traits;
    if (workKind === "logs" && reply.kind === "refused") this.#learnWidestLogs(reply);
    const reach = REACHES[workKind];
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

const REACHES: Readonly<Partial<Record<WorkKind, Reach>>> = {
  state: "state",
  execution: "state",
  blocks: "history",
  logs: "history",
  traces: "traces",
};

/** A method that is lacked is asked for again after so long: nodes are upgraded … */
const FIRST_REST_MS = 600_000;
/** … and each time that it is still lacked, after twice as long. */
const LONGEST_REST_MS = DAY_MS;
/** Allow lists have wildcards, so callers may invent names without end, and of any length. */
const MAX_REMEMBERED = 512;
const LONGEST_NAME = 128;
/** The newest, for the same reason: these outlive the process. */
const MAX_RECORDED = 100;

/** A name, the wall clock's time until which it is taken to be lacked, and for how long that was. */
type MissingRecord = readonly (readonly [name: string, untilMs: number, restMs: number])[];

/** The methods that an upstream said it lacks, for a while. */
export class MissingMethods {
  /** By method, until when the node is taken to lack it. Never more than `MAX_REMEMBERED`, oldest first. */
  readonly #lacks = new Map<string, { readonly untilMs: number; readonly restMs: number }>();
  readonly #clock: Pick<Clock, "now" | "wallTime">;
  readonly #onChange: () => void;

  constructor(parts: { clock: Pick<Clock, "now" | "wallTime">; onChange: () => void }) {
    this.#clock = parts.clock;
    this.#onChange = parts.onChange;
  }

  /** How many are taken to be lacked now. */
  get count(): number {
    const nowMs = this.#clock.now();
    return [...this.#lacks.values()].filter(({ untilMs }) => nowMs < untilMs).length;
  }

  has(method: string): boolean {
    const lack = this.#lacks.get(method);
    return lack !== undefined && this.#clock.now() < lack.untilMs;
  }

  /** The name that was remembered longest ago makes room. */
  remember(method: string): void {
    // Calls that were under way together say the same once.
    if (method.length > LONGEST_NAME || this.has(method)) return;
    const before = this.#lacks.get(method);
    const restMs = before ? Math.min(LONGEST_REST_MS, before.restMs * 2) : FIRST_REST_MS;
    this.#lacks.delete(method); // so that it stands last, as the newest
    const [oldest] = this.#lacks.keys();
    if (oldest !== undefined && this.#lacks.size >= MAX_REMEMBERED) this.#lacks.delete(oldest);
    this.#lacks.set(method, { untilMs: this.#clock.now() + restMs, restMs });
    this.#onChange();
  }

  /** The node answered it. */
  found(method: string): void {
    if (this.#lacks.size > 0 && this.#lacks.delete(method)) this.#onChange();
  }

  forget(): void {
    this.#lacks.clear();
    this.#onChange();
  }

  toRecord(): MissingRecord {
    const aheadMs = this.#clock.wallTime() - this.#clock.now();
    return [...this.#lacks]
      .slice(-MAX_RECORDED)
      .map(([name, { untilMs, restMs }]) => [name, Math.round(untilMs + aheadMs), restMs]);
  }

  /** A clock that was set wrong makes no lack longer than it would be otherwise. */
  restore(record: MissingRecord): void {
    const nowMs = this.#clock.now();
    const aheadMs = this.#clock.wallTime() - nowMs;
    for (const [name, untilWallMs, ownMs] of record.slice(-MAX_RECORDED)) {
      const restMs = Math.min(Math.max(ownMs, FIRST_REST_MS), LONGEST_REST_MS);
      this.#lacks.set(name, { untilMs: Math.min(untilWallMs - aheadMs, nowMs + restMs), restMs });
    }
  }
}
