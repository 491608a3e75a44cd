// What one process does for the networks: all of it, or its part beside other processes.
import type { Chain } from "../chain/chain.ts";
import type { ChainNews } from "../chain/chain-reader.ts";
import type { ChainWriter } from "../chain/chain-view.ts";
import type { WriterThread } from "../chain/thread/writer-thread.ts";
import type { MempoolJournal } from "../filters/mempool-journal.ts";
import type { MempoolWriter } from "../filters/mempool-reader.ts";
import type { State } from "../state/state.ts";
import type { UpstreamOptions } from "../upstream/upstream-options.ts";

/** What a server asks of the writer of one network, and hears from it. */
export type NetworkWriter = ChainWriter & MempoolWriter;
export type RemoteWriter = NetworkWriter & {
  /** Calls `listener` with what was told last, and with all that is told from then on; returns how to stop. */
  onNews(listener: (news: ChainNews) => void): () => void;
};

/** What the writer of one network hands to the servers. */
export type KeptNetwork = {
  readonly writer: NetworkWriter;
  readonly news: () => ChainNews;
  readonly onUpdate: (listener: () => void) => () => void;
};

export type NetworkRole =
  /** Follows and answers. @param thread Takes blocks and writes the stores; left out: nothing is written by another. */
  | { readonly kind: "whole"; readonly thread?: WriterThread }
  /** Follows the chains and writes their stores. @param serve Returns how to stop. */
  | {
      readonly kind: "writer";
      readonly processes: number;
      readonly serve: (network: string, kept: KeptNetwork) => () => void;
    }
  /** Answers callers, and reads what the writer writes. */
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
    fetch: (reference) => chain.fetch(reference),
    tagged: (tag) => chain.tagged(tag),
    keepTrace: (hash, position, json) => chain.keepTrace(hash, position, json),
    keepSegment: (segment, logs) => chain.keepSegment(segment, logs),
    distrust: (upstream) => chain.distrust(upstream),
    beginPending: () => journal.begin({ signal: NEVER }),
    listenToPending: () => journal.listen(),
  },
});

/** A server waits as long as its caller does. */
const NEVER = new AbortController().signal;

type Rated = Pick<UpstreamOptions, "probe" | "rate">;

/** The part of one process in what may be asked of a node. What it can do is asked by one process. */
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

/** What was learned of nodes is read by servers, and written by the writer, who knows more of them. */
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
