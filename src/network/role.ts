// The role of one process in a network: the process does everything, or it is the writer or a server beside others.
import type { Chain } from "../chain/chain.ts";
import type { ChainNews } from "../chain/chain-reader.ts";
import type { ChainWriter } from "../chain/chain-view.ts";
import type { WriterThread } from "../chain/thread/writer-thread.ts";
import type { MempoolJournal } from "../filters/mempool-journal.ts";
import type { MempoolWriter } from "../filters/mempool-reader.ts";
import type { State } from "../state/state.ts";
import type { UpstreamOptions } from "../upstream/upstream-options.ts";

/** The requests of a server to the writer of one network. */
export type NetworkWriter = ChainWriter & MempoolWriter;
export type RemoteWriter = NetworkWriter & {
  /** Calls `listener` with the last news, and with all later news. @returns A function that stops it. */
  onNews(listener: (news: ChainNews) => void): () => void;
};

/** The interface of one network's writer to the servers. */
export type KeptNetwork = {
  readonly writer: NetworkWriter;
  readonly news: () => ChainNews;
  readonly onUpdate: (listener: () => void) => () => void;
};

export type NetworkRole =
  /** Follows the chain and answers callers. `thread` ingests blocks and writes the store; left out: this thread does. */
  | { readonly kind: "whole"; readonly thread?: WriterThread }
  /** Follows the chains and writes their stores. `serve` links a network to the servers, and returns how to unlink. */
  | {
      readonly kind: "writer";
      readonly processes: number;
      readonly serve: (network: string, kept: KeptNetwork) => () => void;
    }
  /** Answers callers from the stores that the writer writes. */
  | {
      readonly kind: "server";
      readonly processes: number;
      readonly writerOf: (network: string) => RemoteWriter;
    };

export const keptNetwork = (chain: Chain, journal: MempoolJournal): KeptNetwork => ({
  news: () => chain.news(),
  onUpdate: (listener) => chain.onUpdate(listener),
  writer: {
    look: () => chain.look(),
    hurry: () => chain.hurry(),
    fetch: (...wanted) => chain.fetch(...wanted),
    tagged: (tag) => chain.tagged(tag),
    keepTrace: (hash, position, json) => chain.keepTrace(hash, position, json),
    keepSegment: (segment, logs) => chain.keepSegment(segment, logs),
    distrust: (upstream) => chain.distrust(upstream),
    beginPending: () => journal.begin({ signal: NEVER }),
    listenToPending: () => journal.listen(),
  },
});

/** A signal that never aborts: the server that sent the request has its own timeout. */
const NEVER = new AbortController().signal;

type Rated = Pick<UpstreamOptions, "probe" | "rate">;

/** The settings of an upstream for one process: an equal share of its rate. Only the writer probes its capabilities. */
export function shareOf<Upstream extends Rated>(upstream: Upstream, role: NetworkRole): Upstream {
  if (role.kind === "whole") return upstream;
  const { rate } = upstream;
  const { perSecond, burst } = rate;
  const share = (value: number | undefined): number | undefined =>
    value === undefined ? undefined : value / role.processes;
  return {
    ...upstream,
    probe: upstream.probe && role.kind === "writer",
    rate: {
      ...rate,
      perSecond: share(perSecond),
      burst: burst && Math.max(1, burst / role.processes),
    },
  };
}

/**
 * The state as the upstreams of one process use it. Servers read the learned capabilities (`abilities`). Their updates of
 * them have no effect, since the writer probes and learns more.
 */
export const stateFor = (
  role: NetworkRole,
  state: Pick<State, "get" | "update">,
): Pick<State, "get" | "update"> =>
  role.kind !== "server"
    ? state
    : {
        get: (key) => state.get(key),
        update: async (keys, next, options) =>
          keys[0]?.startsWith("abilities ")
            ? { isChanged: false, texts: keys.map(() => undefined) }
            : state.update(keys, next, options),
      };
