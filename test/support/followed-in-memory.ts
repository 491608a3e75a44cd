// A follower over a store in memory and scripted nodes, on a clock that moves only when told to: for tests in which
// chains and nodes are odd and minutes must pass.
import { pino } from "pino";
import type { BlockRecord } from "../../src/chain/block-record.ts";
import { BlockSource } from "../../src/chain/block-source.ts";
import { blockDialect } from "../../src/chain/fetch-block.ts";
import { Follower } from "../../src/chain/follower.ts";
import { Prover } from "../../src/chain/prover.ts";
import type { Position } from "../../src/chain/stored-block.ts";
import { ingestHere } from "../../src/chain/writing.ts";
import type { Signal } from "../../src/lib/cancellation.ts";
import { Turns } from "../../src/lib/turns.ts";
import type { Reply } from "../../src/upstream/reply.ts";
import { FakeClock } from "./fake-clock.ts";
import { answerOf } from "./generated-chain/answers.ts";
import type { GeneratedBlock, GeneratedChain } from "./generated-chain.ts";

/** The answer of a node in the place of the honest one; undefined: the honest one. "silent": none until its timeout. */
export type Odd = (call: {
  readonly method: string;
  readonly params: readonly unknown[];
  readonly honest: string;
}) => Reply | "silent" | undefined;

export const result = (value: unknown): Reply => ({
  kind: "result",
  json: Buffer.from(typeof value === "string" ? value : JSON.stringify(value)),
});

/** After this time a call that gets no answer ends, in milliseconds, as calls of the follower do. */
const TIMEOUT_MS = 5_000;

/** A node over a generated chain, up to a head of its own. */
export class OddNode {
  readonly name: string;
  /** How many heights its head is below the chain's head; "stopped": at the first block. */
  lag: number | "stopped" = 0;
  odd: Odd = () => undefined;
  model: GeneratedChain;
  /** For the timeout of calls that get no answer; left out: these calls wait until they are aborted. */
  clock: Pick<FakeClock, "after"> | undefined;
  readonly isMissing = (): boolean => false;
  /** Whether the node tells the chain id of the network. */
  isOfNetwork = true;
  /** Whether the follower said last that the node is on another branch. */
  isOnOtherBranch = false;
  readonly confirmIdentity = async (): Promise<boolean> => this.isOfNetwork;
  readonly noteHead = (_: unknown, isOnOtherBranch: boolean): void => {
    this.isOnOtherBranch = isOnOtherBranch;
  };
  readonly announcements = {
    canSubscribe: false,
    watchHeads: async (): Promise<boolean> => false,
  };

  constructor(name: string, model: GeneratedChain) {
    this.name = name;
    this.model = model;
  }

  get head(): GeneratedBlock {
    const { model, lag } = this;
    let number = lag === "stopped" ? model.firstNumber : model.head.number - lag;
    while (number > model.firstNumber && !model.block(number)) number -= 1;
    return model.block(number) ?? (model.block(model.firstNumber) as GeneratedBlock);
  }

  readonly ask = async (method: string, paramsJson: string, signal: Signal): Promise<Reply> => {
    const reply = this.reply(method, JSON.parse(paramsJson) as unknown[]);
    if (reply !== "silent") return reply;
    if (signal.aborted) return { kind: "failed", reason: "aborted" };
    return new Promise<Reply>((resolve) => {
      signal.addEventListener("abort", () => resolve({ kind: "failed", reason: "aborted" }));
      this.clock?.after(TIMEOUT_MS, () => resolve({ kind: "timeout" }));
    });
  };

  /** The answer to a call, without the wait of a node that is silent. */
  reply(method: string, [first, ...rest]: readonly unknown[]): Reply | "silent" {
    const params = [first === "latest" ? `0x${this.head.number.toString(16)}` : first, ...rest];
    const found = answerOf(this.model, method, params) ?? "null";
    const said = JSON.parse(found) as { number?: string; blockNumber?: string } | null;
    const number = Number(said?.number ?? said?.blockNumber ?? 0);
    const honest = number > this.head.number ? "null" : found;
    return this.odd({ method, params, honest }) ?? result(honest);
  }
}

/** The part of a store that a follower uses. */
class MemoryStore {
  readonly #canonical = new Map<number, string>();
  readonly #outlines = new Map<string, BlockRecord["outline"]>();
  #head: Position | undefined;
  #tail: number | undefined;
  readonly size: { windowBlocks: number; bytes: number };
  readonly tables: object;

  constructor(windowBlocks: number) {
    this.size = { windowBlocks, bytes: 1e9 };
    const read = {
      head: () => this.#head,
      tail: () => this.#tail,
    };
    this.tables = Object.defineProperties(
      {
        bytes: 0,
        note: () => undefined,
        hashAt: (number: number) => this.#canonical.get(number),
        outline: (hash: string) => this.#outlines.get(hash),
      },
      { head: { get: read.head }, tail: { get: read.tail } },
    );
  }

  readonly setNote = async (): Promise<void> => undefined;

  async clear(): Promise<void> {
    this.#canonical.clear();
    this.#outlines.clear();
    this.#head = this.#tail = undefined;
  }

  async startAt(record: BlockRecord): Promise<void> {
    await this.clear();
    this.#tail = record.outline.number;
    this.#put(record);
  }

  async apply(update: { removed: number; added: readonly BlockRecord[] }): Promise<void> {
    const top = (this.#head?.number ?? 0) - update.removed;
    for (const number of [...this.#canonical.keys()])
      if (number > top) this.#canonical.delete(number);
    const hash = this.#canonical.get(top);
    if (hash) this.#head = { number: top, hash };
    for (const record of update.added) this.#put(record);
    const first = (this.#head?.number ?? 0) - this.size.windowBlocks + 1;
    for (const number of [...this.#canonical.keys()].sort((a, b) => a - b)) {
      if (number < first) this.#canonical.delete(number);
      else {
        this.#tail = number;
        return;
      }
    }
  }

  #put({ hash, outline }: BlockRecord): void {
    this.#canonical.set(outline.number, hash);
    this.#outlines.set(hash, outline);
    this.#head = { number: outline.number, hash };
  }
}

export type FollowedInMemory = {
  readonly follower: Follower;
  readonly clock: FakeClock;
  readonly head: () => Position | undefined;
  readonly lines: { readonly msg: string; readonly level: number }[];
  /** The hash that each confirmation was about. */
  readonly confirmed: (string | undefined)[];
  /** The gauges as of the last look. */
  readonly gauges: { isPassingThrough: boolean; behindBlocks: number };
  /** Lets time pass, in steps that are short beside the follower's pauses. */
  pass(ms: number): Promise<void>;
};

const UNLIMITED = { bytes: 1e9, transactions: 1e9, logs: 1e9 };
const STEP_MS = 50;

export function followInMemory(
  nodes: readonly OddNode[],
  options: {
    readonly windowBlocks?: number;
    readonly configured?: number;
    /** The nodes that can be asked now; all of them by default. */
    readonly usable?: () => readonly OddNode[];
    readonly chainId?: number;
    readonly proof?: "strict" | "available";
  } = {},
): FollowedInMemory {
  const { windowBlocks = 64, chainId = 1, proof = "available", usable = () => nodes } = options;
  const startedAt = 1_000 * Math.max(...nodes.map(({ model }) => model.head.timestamp));
  const clock = Object.assign(new FakeClock(), {
    wallTime: (): number => startedAt + clock.now(),
  });
  for (const node of nodes) node.clock = clock;
  const lines: { msg: string; level: number }[] = [];
  const log = pino({ level: "info" }, { write: (line: string) => lines.push(JSON.parse(line)) });
  const store = new MemoryStore(windowBlocks) as never as ConstructorParameters<
    typeof Follower
  >[1]["store"] &
    ConstructorParameters<typeof Prover>[1]["store"];
  const gauges = { isPassingThrough: false, behindBlocks: 0 };
  const nothing = (): undefined => undefined;
  const metrics = {
    ...{ blockProven: nothing, proofFailed: nothing, blockTooLarge: nothing },
    ...{ blockPartOdd: nothing, headMoved: nothing, otherChainRefused: nothing },
    followed: (_: string, now: typeof gauges) => void Object.assign(gauges, now),
  };
  const prover = new Prover({ network: "n", mode: proof, chainId }, { store, log, metrics });
  const source = new BlockSource(
    { network: "n", limits: UNLIMITED },
    {
      ingest: ingestHere({ dialect: blockDialect, turns: new Turns({ clock }) }) as never,
      ...{ prover, clock, log, metrics, allNodes: usable as never },
    },
  );
  const confirmed: (string | undefined)[] = [];
  const follower = new Follower(
    { network: "n" },
    {
      ...{ store, dialect: blockDialect, source, prover, clock, log, metrics },
      nodes: usable as never,
      isComplete: () => usable().length === nodes.length,
      isStrict: () => prover.isStrict,
      writing: { prepare: async () => undefined, why: () => undefined },
      onConfirmed: () => confirmed.push(store.tables.head?.hash),
      onLive: nothing,
    },
  );
  follower.start();
  const pass = async (ms: number): Promise<void> => {
    for (let passed = 0; passed < ms; passed += STEP_MS) {
      await clock.advance(STEP_MS);
      for (let turn = 0; turn < 3; turn += 1) await new Promise(setImmediate);
    }
  };
  return { follower, clock, head: () => store.tables.head, lines, confirmed, gauges, pass };
}
