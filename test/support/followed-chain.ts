// The followed chain without a whole process, over nodes that answer from a generated chain: for tests of many steps.
import { pino } from "pino";
import { Chain } from "../../src/chain/chain.ts";
import type { ChainView } from "../../src/chain/chain-view.ts";
import { blockDialect } from "../../src/chain/fetch-block.ts";
import { HeadFreshness } from "../../src/chain/freshness.ts";
import type { WriterThread } from "../../src/chain/thread/writer-thread.ts";
import { systemClock } from "../../src/lib/clock.ts";
import { Turns } from "../../src/lib/turns.ts";
import { Metrics } from "../../src/observe/metrics.ts";
import { answerOf } from "./generated-chain/answers.ts";
import type { GeneratedChain } from "./generated-chain.ts";

/** A node that answers from the model while `isAlive`. */
export class ModelNode {
  readonly name: string;
  isAlive = true;
  /** The node takes calls, and answers none. */
  isSilent = false;
  /** The latency of an answer, in milliseconds. */
  delayMs = 0;
  /** The node fails the next call of this method. */
  failsNext: string | undefined;
  /** Changes the node's answers; left out: the node is honest. */
  change: ((honest: unknown, method: string) => unknown) | undefined;
  /** The number of calls. */
  asked = 0;
  /** Whether the follower has said that this node is on another branch. */
  isOnOtherBranch = false;
  readonly #model: GeneratedChain;

  constructor(name: string, model: GeneratedChain) {
    this.name = name;
    this.#model = model;
  }

  readonly noteHead = (_head: unknown, isOnOtherBranch: boolean): void => {
    this.isOnOtherBranch = isOnOtherBranch;
  };
  readonly isMissing = (): boolean => false;
  readonly confirmIdentity = async (): Promise<boolean> => true;
  readonly announcements = {
    canSubscribe: false,
    watchHeads: async (): Promise<boolean> => false,
    watchPending: async (): Promise<boolean> => false,
  };
  readonly ask = async (method: string, paramsJson: string) => {
    this.asked += 1;
    if (!this.isAlive) return { kind: "failed", reason: "it is away" } as const;
    if (this.isSilent) await new Promise(() => undefined);
    if (this.delayMs > 0) await systemClock.sleep(this.delayMs);
    if (this.failsNext === method) {
      this.failsNext = undefined;
      return { kind: "failed", reason: "it fails once" } as const;
    }
    const json = answerOf(this.#model, method, JSON.parse(paramsJson));
    if (json === undefined) return { kind: "missing" } as const;
    const told = this.change ? JSON.stringify(this.change(JSON.parse(json), method)) : json;
    return { kind: "result", json: Buffer.from(told) } as const;
  };
}

export type FollowedChain = {
  readonly chain: Chain;
  readonly pool: ConstructorParameters<typeof Chain>[1]["pool"];
  /** The view once the chain is at the model's head, and its window, which a test may have changed, is full. */
  settled(windowBlocks?: number): Promise<ChainView>;
};

export const UNLIMITED = { bytes: 1e9, transactions: 1e9, logs: 1e9 };

export async function followChain(
  model: GeneratedChain,
  options: {
    path: string;
    windowBlocks: number;
    nodes?: readonly ModelNode[];
    thread?: WriterThread;
  },
): Promise<FollowedChain> {
  const { path, windowBlocks, nodes = [new ModelNode("node", model)] } = options;
  const pool = {
    nodes: nodes as never,
    usable: () => nodes.filter(({ isAlive }) => isAlive) as never,
    bestForBlocks: () => nodes.filter(({ isAlive }) => isAlive) as never,
    isSettled: () => true,
    onChange: () => () => undefined,
  };
  const parts = {
    clock: systemClock,
    log: pino({ level: "silent" }),
    metrics: new Metrics(),
  };
  const chain = new Chain(
    {
      network: "test",
      chainId: 1,
      path,
      windowBlocks,
      bytes: 2 ** 30,
      proof: "strict",
      limits: UNLIMITED,
      upstreams: [],
    },
    {
      ...{ ...parts, pool, dialect: blockDialect },
      freshness: new HeadFreshness({ network: "test" }, parts),
      turns: new Turns({ clock: systemClock }),
      thread: options.thread,
    },
  );
  await chain.start();
  const settled = async (window = windowBlocks): Promise<ChainView> => {
    const oldest = Math.max(model.firstNumber, model.head.number - window + 1);
    const giveUpAt = performance.now() + 10_000;
    while (performance.now() < giveUpAt) {
      const view = chain.views.view();
      if (view?.head.hash === model.head.hash && view.tail <= oldest) return view;
      await chain.look();
      await new Promise(setImmediate); // nodes that answer at once would block the event loop
    }
    const { head, tail } = chain.views.view() ?? {};
    throw new Error(
      `want ${model.head.number} from ${oldest}, are at ${head?.number} from ${tail}`,
    );
  };
  return { chain, pool, settled };
}
