// How far back a node's state and history reach, as its answers told. Nobody is excluded for that: who
// seems to lack a block is asked last.
import type { MethodTraits } from "../../namespaces/known-method.ts";
import type { Reply } from "../reply.ts";

/** What is kept for long by some nodes only. */
export type Reach = "state" | "history" | "traces";

/** The number of a block that a call speaks of, and of the network's head at that time. */
export type Place = { readonly block: number; readonly head: number };

type Evidence = "has" | "lacks" | "nothing";

type Bound = {
  /** This block and all older ones are lacking: a node that began at a snapshot, or dropped an era. */
  lackedBlock: number;
  /** So many blocks behind the head, and further, all is lacking: a node that keeps the newest states. */
  lackedDepth: number;
  /** The oldest block that it was found to have, as a number and behind the head; -1: none. */
  hadBlock: number;
  hadDepth: number;
};

/** What is known of a reach. */
export type KnownReach =
  | { readonly kind: "unknown" }
  | { readonly kind: "all" }
  | {
      readonly kind: "part";
      /** So many of the newest blocks, at least. */
      readonly newest: number;
      /** And at most: the block behind them was not there. */
      readonly atMost: number;
      /** The oldest block that was there; undefined when none was asked for that was. */
      readonly since: number | undefined;
      /** The newest block that was not there. */
      readonly notAt: number;
    };

export type KnownReaches = Readonly<Record<Reach, KnownReach>>;

/** Who has one of the first blocks has all: the very first says little, as everybody keeps it. */
const FIRST_BLOCKS = 2;

const nothingKnown = (): Bound => ({
  lackedBlock: -1,
  lackedDepth: Number.POSITIVE_INFINITY,
  hadBlock: Number.POSITIVE_INFINITY,
  hadDepth: -1,
});

export class History {
  readonly #bounds = new Map<Reach, Bound>();
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

  lacks(reach: Reach, block: number, head: number): void {
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

  has(reach: Reach, block: number, head: number): void {
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

  /** What was told of a block shows of the others. */
  learn(reach: Reach, evidence: Evidence, { block, head }: Place): void {
    if (evidence === "has") this.has(reach, block, head);
    if (evidence === "lacks") this.lacks(reach, block, head);
  }

  known(): KnownReaches {
    const { state, history, traces } = Object.fromEntries(this.#bounds);
    return { state: knownOf(state), history: knownOf(history), traces: knownOf(traces) };
  }

  /** As JSON would have it: what is infinite is left out. */
  toRecord(): HistoryRecord {
    return Object.fromEntries(
      [...this.#bounds].map(([reach, bound]) => [
        reach,
        Object.fromEntries(Object.entries(bound).filter(([, value]) => Number.isFinite(value))),
      ]),
    );
  }

  restore(record: HistoryRecord): void {
    for (const [reach, bounds] of Object.entries(record)) {
      const told = Object.entries(bounds ?? {}).filter(([, value]) => value !== undefined);
      this.#bounds.set(reach as Reach, { ...nothingKnown(), ...Object.fromEntries(told) });
    }
  }

  forget(): void {
    this.#bounds.clear();
    this.#onChange();
  }

  #of(reach: Reach): Bound {
    const known = this.#bounds.get(reach);
    if (known) return known;
    const bound = nothingKnown();
    this.#bounds.set(reach, bound);
    return bound;
  }
}

/** A node that has no block so far behind the head does not merely lag. */
const OLD_BLOCKS = 256;

/** What an answer tells of whether the node has the block that was asked for. */
export function evidenceOf(
  { isNullNoBlock }: Pick<MethodTraits, "isNullNoBlock">,
  reply: Reply,
  { block, head }: Place,
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

type BoundRecord = { readonly [Key in keyof Bound]?: number | undefined };
export type HistoryRecord = { readonly [Key in Reach]?: BoundRecord | undefined };

function knownOf(bound: Bound = nothingKnown()): KnownReach {
  const { lackedBlock, lackedDepth, hadBlock, hadDepth } = bound;
  if (hadBlock <= FIRST_BLOCKS && lackedBlock < 1) return { kind: "all" };
  if (!Number.isFinite(lackedDepth)) return { kind: "unknown" };
  const since = Number.isFinite(hadBlock) ? hadBlock : undefined;
  return { kind: "part", newest: hadDepth + 1, atMost: lackedDepth, since, notAt: lackedBlock };
}
