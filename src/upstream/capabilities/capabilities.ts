// What one upstream can do, as its replies show: which methods it lacks, how far back it reaches, how much it takes at
// once.
import { sizeRefusal } from "../../evm/log-refusals.ts";
import { parsed } from "../../jsonrpc/raw-json.ts";
import { DAY_MS } from "../../lib/calendar.ts";
import type { Clock } from "../../lib/clock.ts";
import type { MethodTraits, WorkKind } from "../../namespaces/known-method.ts";
import type { Reply } from "../reply.ts";
import {
  type CapabilityRecord,
  isOutdated,
  type KnownReaches,
  knownOf,
  nothingKnown,
  type Reach,
  type ReachBound,
} from "./kept-capabilities.ts";

export type CapabilitiesParts = {
  readonly clock: Pick<Clock, "now" | "wallTime">;
  /** What each method is, as it was declared. */
  readonly traitsOf: (method: string) => MethodTraits;
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
  readonly #traitsOf: CapabilitiesParts["traitsOf"];

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

  /** Whether it seems not to have what a call of this kind needs there. */
  isLacking(workKind: WorkKind, { block, head }: CallPosition): boolean {
    const reach = REACHES[workKind];
    return reach !== undefined && this.history.isLacking(reach, block, head);
  }

  /** From any call's reply. @param position Where it is known. */
  learnFrom(
    traits: Pick<MethodTraits, "workKind" | "isNullNoBlock">,
    reply: Reply,
    position: CallPosition | undefined,
  ): void {
    const { workKind } = traits;
    if (workKind === "logs" && reply.kind === "refused") this.#learnWidestLogs(reply);
    const reach = REACHES[workKind];
    if (position && reach) this.history.learn(reach, evidenceOf(traits, reply, position), position);
  }

  /** From the answer to a question that the gateway asked to find out. */
  learnReach(
    reach: Reach,
    { method, reply }: { method: string; reply: Reply },
    position: CallPosition,
  ): void {
    this.history.learn(reach, evidenceOf(this.#traitsOf(method), reply, position), position);
  }

  /** It takes no more calls than these in one request. */
  batchLimitedTo(size: number): void {
    this.#batch = size;
    this.#listener();
  }

  /** The most calls in one request that it was found to take; undefined: no limit is known. */
  get batch(): number | undefined {
    return this.#batch;
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

  toRecord(): CapabilityRecord {
    return {
      format: 1,
      version: this.#version,
      learnedAtMs: this.#learnedAtMs,
      missing: this.missing.toRecord(),
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
    const refusal = sizeRefusal({ message, data }, { from: 0, to: Number.POSITIVE_INFINITY });
    if (refusal?.widest === undefined || refusal.widest === this.#widestLogs) return;
    this.#widestLogs = refusal.widest;
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

  /** @returns Some of them, the ones that were found last. */
  names(most: number): readonly string[] {
    return [...this.#lacks.keys()].filter((name) => this.has(name)).slice(-most);
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

  toRecord(): CapabilityRecord["missing"] {
    const aheadMs = this.#clock.wallTime() - this.#clock.now();
    return [...this.#lacks]
      .slice(-MAX_RECORDED)
      .map(([name, { untilMs, restMs }]) => [name, Math.round(untilMs + aheadMs), restMs]);
  }

  /** A clock that was set wrong makes no lack longer than it would be otherwise. */
  restore(record: CapabilityRecord["missing"]): void {
    const nowMs = this.#clock.now();
    const aheadMs = this.#clock.wallTime() - nowMs;
    for (const [name, untilWallMs, ownMs] of record.slice(-MAX_RECORDED)) {
      const restMs = Math.min(Math.max(ownMs, FIRST_REST_MS), LONGEST_REST_MS);
      this.#lacks.set(name, { untilMs: Math.min(untilWallMs - aheadMs, nowMs + restMs), restMs });
    }
  }
}

/** The number of a block that a call speaks of, and of the network's head at that time. */
export type CallPosition = { readonly block: number; readonly head: number };

type Evidence = "has" | "lacks" | "nothing";

/** How far back a node's state and history reach, as its replies show. A node that seems to lack a block is asked last. */
export class History {
  readonly #bounds = new Map<Reach, ReachBound>();
  readonly #onChange: () => void;

  constructor(parts: { onChange: () => void }) {
    this.#onChange = parts.onChange;
  }

  /** @param head The number of the network's head. */
  isLacking(reach: Reach, block: number, head: number): boolean {
    const bound = this.#bounds.get(reach);
    return bound !== undefined && (block <= bound.lackedBlock || head - block >= bound.lackedDepth);
  }

  /** Whether asking for this block would tell nothing new. */
  isKnown(reach: Reach, block: number, head: number): boolean {
    const hadBlock = this.#bounds.get(reach)?.hadBlock ?? Number.POSITIVE_INFINITY;
    return hadBlock <= block || this.isLacking(reach, block, head);
  }

  #missed(reach: Reach, block: number, head: number): void {
    const bound = this.#of(reach);
    const depth = Math.max(1, head - block);
    if (block <= bound.lackedBlock && depth >= bound.lackedDepth) return;
    bound.lackedBlock = Math.max(bound.lackedBlock, block);
    bound.lackedDepth = Math.min(bound.lackedDepth, depth);
    // What it had before, and further back, it may have dropped since.
    if (bound.hadBlock <= block) bound.hadBlock = Number.POSITIVE_INFINITY;
    if (bound.hadDepth >= depth) bound.hadDepth = -1;
    this.#onChange();
  }

  #found(reach: Reach, block: number, head: number): void {
    const bound = this.#of(reach);
    const depth = Math.max(0, head - block);
    const { lackedBlock, lackedDepth, hadBlock, hadDepth } = bound;
    if (block > lackedBlock && depth < lackedDepth && block >= hadBlock && depth <= hadDepth)
      return;
    bound.lackedBlock = Math.min(lackedBlock, block - 1);
    bound.lackedDepth = Math.max(lackedDepth, depth + 1);
    bound.hadBlock = Math.min(hadBlock, block);
    bound.hadDepth = Math.max(hadDepth, depth);
    this.#onChange();
  }

  /** What a reply shows of one block it shows of others, too. */
  learn(reach: Reach, evidence: Evidence, { block, head }: CallPosition): void {
    if (evidence === "has") this.#found(reach, block, head);
    if (evidence === "lacks") this.#missed(reach, block, head);
  }

  known(): KnownReaches {
    const { state, history, traces } = Object.fromEntries(this.#bounds);
    return { state: knownOf(state), history: knownOf(history), traces: knownOf(traces) };
  }

  /** As JSON would have it: what is infinite is left out. */
  toRecord(): CapabilityRecord["history"] {
    return Object.fromEntries(
      [...this.#bounds].map(([reach, bound]) => [
        reach,
        Object.fromEntries(Object.entries(bound).filter(([, value]) => Number.isFinite(value))),
      ]),
    );
  }

  restore(record: CapabilityRecord["history"]): void {
    for (const [reach, bounds] of Object.entries(record)) {
      const kept = Object.entries(bounds ?? {}).filter(([, value]) => value !== undefined);
      this.#bounds.set(reach as Reach, { ...nothingKnown(), ...Object.fromEntries(kept) });
    }
  }

  forget(): void {
    this.#bounds.clear();
    this.#onChange();
  }

  #of(reach: Reach): ReachBound {
    const known = this.#bounds.get(reach);
    if (known) return known;
    const bound = nothingKnown();
    this.#bounds.set(reach, bound);
    return bound;
  }
}

/** A node that has no block so far behind the head does not merely lag. */
const OLD_BLOCKS = 256;

/** Whether a reply shows that the node has the block that was asked for. */
export function evidenceOf(
  { isNullNoBlock }: Pick<MethodTraits, "isNullNoBlock">,
  reply: Reply,
  { block, head }: CallPosition,
): Evidence {
  const isOld = head - block >= OLD_BLOCKS;
  switch (reply.kind) {
    case "refused":
      if (reply.lacks === "block") return isOld ? "lacks" : "nothing";
      return reply.lacks ? "lacks" : "nothing";
    case "result":
      if (isText(reply.json, "null")) return isOld && isNullNoBlock ? "lacks" : "nothing";
      // Nodes that dropped the logs and traces of a block answer as if it had none.
      return isText(reply.json, "[]") ? "nothing" : "has";
    default:
      return "nothing";
  }
}

const isText = (json: Buffer, text: string): boolean =>
  json.length === text.length && json.toString("latin1") === text;
