// The capabilities of one upstream, learned from its replies: missing methods, how far back it reaches, and how much it
// accepts in one request.
import { sizeRefusal } from "../../evm/log-refusals.ts";
import { parsed } from "../../jsonrpc/raw-json.ts";
import { DAY_MS } from "../../lib/calendar.ts";
import type { Clock } from "../../lib/clock.ts";
import { keepNewest } from "../../lib/keep-newest.ts";
import type { MethodTraits, WorkKind } from "../../namespaces/known-method.ts";
import { LearnedWords, type RefusalWords } from "../error-dialects/learned-words.ts";
import type { Reply } from "../reply.ts";
import {
  type CapabilityRecord,
  isOutdated,
  type KnownReaches,
  knownOf,
  nothingKnown,
  type Reach,
  type ReachBound,
} from "./capability-store.ts";
import { ClaimedReaches, resourceOf } from "./claims.ts";

export type CapabilitiesParts = {
  readonly clock: Pick<Clock, "now" | "wallTime">;
  /** The traits of each method, as declared. */
  readonly traitsOf: (method: string) => MethodTraits;
};

export class Capabilities {
  readonly missing: MissingMethods;
  readonly history: History;
  /** The words with which the node refuses calls that other nodes answer. */
  readonly words: LearnedWords;
  /** The data that the node says it holds. */
  readonly claims = new ClaimedReaches();
  /** How far back the node gave logs: some nodes keep blocks whose receipts and logs they drop. Not kept over restarts. */
  readonly #logs = new History({ onChange: () => undefined });
  #version: string | undefined;
  /** When the gateway began to learn the present knowledge, in milliseconds of the wall clock. */
  #learnedAtMs: number;
  readonly #probed = new Set<string>();
  #widestLogs: number | undefined;
  #batch: number | undefined;
  #listener: () => void = () => undefined;
  readonly #clock: CapabilitiesParts["clock"];
  readonly #traitsOf: CapabilitiesParts["traitsOf"];

  constructor(parts: CapabilitiesParts) {
    const { clock, traitsOf } = parts;
    const onChange = (): void => this.#listener();
    this.#clock = clock;
    this.#traitsOf = traitsOf;
    this.#learnedAtMs = clock.wallTime();
    this.missing = new MissingMethods({ clock, onChange });
    this.history = new History({ onChange });
    // Kept as long as all knowledge about the node's version.
    this.words = new LearnedWords({ livesMs: Number.POSITIVE_INFINITY }, parts);
  }

  /** Sets the only listener, which is called whenever something is learned. */
  onChange(listener: () => void): void {
    this.#listener = listener;
  }

  /** Whether the node seems to lack the data that a call of this kind, or of this method, needs at this block. */
  isLacking(workKind: WorkKind, position: CallPosition, method = ""): boolean {
    const reach = REACHES[workKind];
    const { block, head } = position;
    if (workKind === "logs" && this.#logs.isLacking(LOGS, block, head)) return true;
    if (reach !== undefined && this.history.isLacking(reach, block, head)) return true;
    return this.claims.isLacking(resourceOf(method, workKind), position);
  }

  /** Lifts a claim of the node that its reply to a call contradicts. */
  correctClaims(
    { method, traits }: { readonly method: string; readonly traits: MethodTraits },
    reply: Reply,
    position: CallPosition,
  ): void {
    const resource = resourceOf(method, traits.workKind);
    if (!this.claims.isLacking(resource, position)) return;
    if (evidenceOf(traits, reply, position) === "has") this.claims.contradict(resource, position);
  }

  /** Whether the node has the logs of this block, as far as its replies to other log queries show. */
  logsAt({ block, head }: CallPosition): LogsReach {
    if (this.isLacking("logs", { block, head })) return "lacks";
    const isRecent = head - block < RECENT_LOGS;
    return isRecent || this.#logs.hasShown(LOGS, block, head) ? "has" : "unknown";
  }

  /** Must be called when the node found no logs in a range in which another node found some. */
  learnNoLogs(found: Buffer, position: CallPosition): void {
    this.#logs.learn(LOGS, "lacks", positionOfLogs(found, position));
  }

  /** Learns from the reply to any call. @param position The block of the call, if known. */
  learnFrom(
    traits: Pick<MethodTraits, "workKind" | "isNullNoBlock">,
    reply: Reply,
    position: CallPosition | undefined,
  ): void {
    const { workKind } = traits;
    if (workKind === "logs" && reply.kind === "refused") this.#learnWidestLogs(reply);
    const reach = REACHES[workKind];
    if (!position || !reach) return;
    const evidence = evidenceOf(traits, reply, position);
    this.history.learn(reach, evidence, position);
    if (workKind === "logs" && reply.kind === "result")
      this.#logs.learn(LOGS, evidence, positionOfLogs(reply.json, position));
  }

  /** Learns from the reply to one of the gateway's own probes. */
  learnReach(
    reach: Reach,
    { method, reply }: { method: string; reply: Reply },
    position: CallPosition,
  ): void {
    // No node has a reason to refuse such a call but that it lacks the data, whatever its words.
    const isUnable = reply.kind === "refused" && reply.doubt === "unknown" && isOld(position);
    const evidence = isUnable ? "lacks" : evidenceOf(this.#traitsOf(method), reply, position);
    this.history.learn(reach, evidence, position);
  }

  /** To be called when another node answered a call that this one refused in unknown words. */
  learnWords(method: string, refusal: RefusalWords): void {
    if (this.words.remember(method, refusal)) this.#listener();
  }

  /** Must be called when the node accepts no more calls than this in one request. */
  batchLimitedTo(size: number): void {
    this.#batch = size;
    this.#listener();
  }

  /** The most calls that the node accepts in one request; undefined: no limit is known. */
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

  /** Forgets the knowledge about another version, and outdated knowledge. */
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
      words: this.words.toRecord().map(([method, words]) => [method, words]),
    };
  }

  /** Restores a kept record, unless it is outdated. */
  restore(record: CapabilityRecord): void {
    if (isOutdated(record, this.#clock.wallTime())) return;
    this.#version = record.version;
    this.#learnedAtMs = record.learnedAtMs;
    this.missing.restore(record.missing);
    this.history.restore(record.history);
    for (const name of record.probed) this.#probed.add(name);
    this.#widestLogs = record.widestLogs;
    this.#batch = record.batch;
    this.words.restore(record.words ?? []);
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
    this.words.forgetAll();
    this.missing.forget();
    this.history.forget();
    this.claims.learn({});
    this.#logs.forget();
  }
}

/** The gateway's knowledge of a node's logs at a block. */
export type LogsReach = "has" | "lacks" | "unknown";

/** No node drops the logs of so many newest blocks; queries of callers that poll ask for no older ones. */
const RECENT_LOGS = 16;

/** The only reach of a node's logs. */
const LOGS: Reach = "history";

const REACHES: Readonly<Partial<Record<WorkKind, Reach>>> = {
  state: "state",
  execution: "state",
  blocks: "history",
  logs: "history",
  traces: "traces",
};

/** The data that a call of this kind needs; undefined where it needs none of old blocks. */
export const reachOf = (workKind: WorkKind): Reach | undefined => REACHES[workKind];

/** The gateway asks for a missing method again after this time, because nodes are upgraded … */
const FIRST_REST_MS = 600_000;
/** … and after twice the time whenever the method is still missing, up to this. */
const LONGEST_REST_MS = DAY_MS;
/** Allow lists have wildcards, so callers may invent any number of method names, of any length. */
const MAX_REMEMBERED = 512;
const LONGEST_NAME = 128;
/** Only the newest names are kept over restarts, for the same reason. */
const MAX_RECORDED = 100;

/** The methods that an upstream said it lacks, each remembered for a while. */
export class MissingMethods {
  /** By method: until when it counts as missing. At most `MAX_REMEMBERED` methods, oldest first. */
  readonly #lacks = new Map<string, { readonly untilMs: number; readonly restMs: number }>();
  readonly #clock: Pick<Clock, "now" | "wallTime">;
  readonly #onChange: () => void;

  constructor(parts: { clock: Pick<Clock, "now" | "wallTime">; onChange: () => void }) {
    this.#clock = parts.clock;
    this.#onChange = parts.onChange;
  }

  /** The number of methods that count as missing now. */
  get count(): number {
    const nowMs = this.#clock.now();
    return [...this.#lacks.values()].filter(({ untilMs }) => nowMs < untilMs).length;
  }

  /** @returns The most recently found missing methods, at most `most`. */
  names(most: number): readonly string[] {
    return [...this.#lacks.keys()].filter((name) => this.has(name)).slice(-most);
  }

  has(method: string): boolean {
    const lack = this.#lacks.get(method);
    return lack !== undefined && this.#clock.now() < lack.untilMs;
  }

  /** Remembers that a method is missing. If too many are remembered, the oldest is forgotten. */
  remember(method: string): void {
    // Calls that were sent together report the same missing method, which counts once.
    if (method.length > LONGEST_NAME || this.has(method)) return;
    const before = this.#lacks.get(method);
    const restMs = before ? Math.min(LONGEST_REST_MS, before.restMs * 2) : FIRST_REST_MS;
    const lack = { untilMs: this.#clock.now() + restMs, restMs };
    keepNewest(this.#lacks, [method, lack], MAX_REMEMBERED);
    this.#onChange();
  }

  /** Must be called when the node answered a call of the method. */
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

  /** Restores a kept record. Even if a clock was wrong, no method counts as missing for longer than its pause. */
  restore(record: CapabilityRecord["missing"]): void {
    const nowMs = this.#clock.now();
    const aheadMs = this.#clock.wallTime() - nowMs;
    for (const [name, untilWallMs, ownMs] of record.slice(-MAX_RECORDED)) {
      const restMs = Math.min(Math.max(ownMs, FIRST_REST_MS), LONGEST_REST_MS);
      this.#lacks.set(name, { untilMs: Math.min(untilWallMs - aheadMs, nowMs + restMs), restMs });
    }
  }
}

/** The number of the block that a call is about, and the number of the network's head at that time. */
export type CallPosition = { readonly block: number; readonly head: number };

type Evidence = "has" | "lacks" | "nothing";

/** How far back a node's data reach, as its replies show. A node that seems to lack a block is asked last. */
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

  /** Whether a call for this block would show nothing new. */
  isKnown(reach: Reach, block: number, head: number): boolean {
    const hadBlock = this.#bounds.get(reach)?.hadBlock ?? Number.POSITIVE_INFINITY;
    return hadBlock <= block || this.isLacking(reach, block, head);
  }

  /** Whether the node showed that it has this block: one as old, by number and by depth, or an older one. */
  hasShown(reach: Reach, block: number, head: number): boolean {
    const bound = this.#bounds.get(reach);
    return bound !== undefined && block >= bound.hadBlock && head - block <= bound.hadDepth;
  }

  #missed(reach: Reach, block: number, head: number): void {
    const bound = this.#of(reach);
    const depth = Math.max(1, head - block);
    if (block <= bound.lackedBlock && depth >= bound.lackedDepth) return;
    bound.lackedBlock = Math.max(bound.lackedBlock, block);
    bound.lackedDepth = Math.min(bound.lackedDepth, depth);
    // The node may have dropped data that it once had, at this block and before.
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

  /** Learns from a reply about one block, which also says something about other blocks. */
  learn(reach: Reach, evidence: Evidence, { block, head }: CallPosition): void {
    if (evidence === "has") this.#found(reach, block, head);
    if (evidence === "lacks") this.#missed(reach, block, head);
  }

  known(): KnownReaches {
    const { state, history, traces } = Object.fromEntries(this.#bounds);
    return { state: knownOf(state), history: knownOf(history), traces: knownOf(traces) };
  }

  /** The bounds as JSON, without infinite numbers. */
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

/** A node that lacks a block this far behind the head does not merely lag. */
const OLD_BLOCKS = 256;

const isOld = ({ block, head }: CallPosition): boolean => head - block >= OLD_BLOCKS;

/** Whether a reply shows that the node has, or lacks, the data of the call's block. */
export function evidenceOf(
  { isNullNoBlock }: Pick<MethodTraits, "isNullNoBlock">,
  reply: Reply,
  position: CallPosition,
): Evidence {
  switch (reply.kind) {
    case "refused":
      if (reply.lacks === "block") return isOld(position) ? "lacks" : "nothing";
      return reply.lacks ? "lacks" : "nothing";
    case "result":
      if (isText(reply.json, "null")) return isOld(position) && isNullNoBlock ? "lacks" : "nothing";
      // Nodes that dropped the logs or traces of a block answer as if the block had none.
      return isText(reply.json, "[]") ? "nothing" : "has";
    default:
      return "nothing";
  }
}

const isText = (json: Buffer, text: string): boolean =>
  json.length === text.length && json.toString("latin1") === text;

/** The position of the first log in a node's answer, which shows nothing about older blocks of the range. */
function positionOfLogs(json: Buffer, position: CallPosition): CallPosition {
  const at = json.indexOf(BLOCK_NUMBER);
  const text = at < 0 ? "" : json.toString("latin1", at, at + READ_BYTES);
  const number = /^"blockNumber"\s*:\s*"(0x[0-9a-f]{1,13})"/i.exec(text)?.[1];
  return number === undefined ? position : { block: Number(number), head: position.head };
}

const BLOCK_NUMBER = Buffer.from('"blockNumber"');
const READ_BYTES = 40;
