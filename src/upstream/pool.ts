// The nodes of one network, asked in order: the next one when one fails.
import { errors, type RpcError } from "../jsonrpc/rpc-error.ts";
import type { BodyReader } from "./connection/connection.ts";
import type { Reply } from "./reply.ts";
import {
  Upstream,
  type UpstreamOptions,
  type UpstreamParts,
  type UpstreamState,
} from "./upstream.ts";

export type PoolOptions = Pick<
  UpstreamOptions,
  "network" | "family" | "chainId" | "responseBytes"
> & {
  readonly upstreams: readonly Pick<
    UpstreamOptions,
    "name" | "url" | "headers" | "connections" | "timeoutMs"
  >[];
};

export type CallOptions = {
  /**
   * Of a result or a refusal: whether one node alone is not believed in it, such as null from one that
   * may lag. Then the next is asked; when nobody says better, the first such answer counts after all.
   */
  readonly isDoubtful?: (reply: Reply) => boolean;
  /** The name of the node to ask first. */
  readonly first?: string | undefined;
  /** The one of several ways to call the method: a node may have the method, and not this way. */
  readonly variant?: Variant | undefined;
  /** Makes what reads the answer while it comes: one for each node that is asked. */
  readonly reader?: (() => BodyReader) | undefined;
};

type Variant = {
  readonly name: string;
  /** Whether a node says with this that it does not have it. Remembered like a missing method. */
  readonly isMissing: (reply: Said) => boolean;
};

/** What a node answers for itself: another one is not asked. */
type Said = Extract<Reply, { kind: "result" | "refused" }>;

/** How long a call waits for some node to become usable, in milliseconds. */
const PATIENCE_MS = 3_000;

export class Pool {
  readonly #upstreams: readonly Upstream[];
  /** What ends the waiting of calls that found no usable node. */
  readonly #waiting = new Set<() => void>();
  readonly #listeners = new Set<() => void>();
  readonly #clock: UpstreamParts["clock"];

  constructor({ upstreams, ...shared }: PoolOptions, parts: UpstreamParts) {
    this.#clock = parts.clock;
    this.#upstreams = upstreams.map(
      (upstream) => new Upstream({ ...shared, ...upstream }, parts, () => this.#onChange()),
    );
  }

  /** Begins to check the nodes, in the background. */
  start(): void {
    for (const upstream of this.#upstreams) upstream.check();
  }

  async close(): Promise<void> {
    await Promise.all(this.#upstreams.map((upstream) => upstream.close()));
    this.#endWaiting();
  }

  status(): { name: string; state: UpstreamState }[] {
    return this.#upstreams.map(({ name, state }) => ({ name, state }));
  }

  /** The nodes that may be asked now, in the order of the configuration. */
  usable(): readonly Upstream[] {
    return usableOf(this.#upstreams);
  }

  /** Each node was found usable, or of another chain, or did not answer since a while. */
  isSettled(): boolean {
    return this.#upstreams.every(({ isSettled }) => isSettled);
  }

  /** Calls `listener` whenever a node becomes usable or is no longer; returns how to stop. */
  onChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /**
   * The bytes of `result` as a node sent them.
   *
   * @param paramsJson A JSON array.
   * @throws RpcError: the node's own refusal; -32601 when no node has the method; 502 when all
   * failed, 503 when none is usable, 504 when they or the signal ran out of time.
   */
  async call(
    method: string,
    paramsJson: string,
    signal: AbortSignal,
    { isDoubtful, first, variant, reader }: CallOptions = {},
  ): Promise<Buffer> {
    const seen: Reply["kind"][] = [];
    const candidates = await this.#candidates(signal);
    if (candidates.length > 0 && signal.aborted) throw errors.upstreamTimeout();
    let doubtful: Said | undefined;
    for (const upstream of startingWith(first, candidates)) {
      if (upstream.isMissing(method) || (variant && upstream.isMissing(variant.name))) {
        seen.push("missing");
        continue;
      }
      const options = { reader: reader?.(), way: variant?.name };
      const reply = await upstream.ask(method, paramsJson, signal, options);
      if (reply.kind === "result" || reply.kind === "refused") {
        if (variant?.isMissing(reply)) {
          upstream.rememberMissing(variant.name);
          seen.push("missing");
          continue;
        }
        if (!isDoubtful?.(reply)) return saidBy(reply);
        doubtful ??= reply;
        continue;
      }
      if (reply.kind === "aborted") throw errors.upstreamTimeout();
      seen.push(reply.kind);
    }
    if (doubtful) return saidBy(doubtful);
    throw whyNobody(seen, method);
  }

  /** The usable nodes in order; waits a little when there is none, as after a start. */
  async #candidates(signal: AbortSignal): Promise<readonly Upstream[]> {
    const usable = usableOf(this.#upstreams);
    if (usable.length > 0 || signal.aborted) return usable;
    await this.#someChange(signal);
    return usableOf(this.#upstreams);
  }

  /** Resolves when some node is usable, when patience ends, with the signal, or with the pool. */
  #someChange(signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const done = (): void => {
        cancel();
        signal.removeEventListener("abort", done);
        this.#waiting.delete(done);
        resolve();
      };
      const cancel = this.#clock.after(PATIENCE_MS, done);
      signal.addEventListener("abort", done, { once: true });
      this.#waiting.add(done);
    });
  }

  #endWaiting(): void {
    for (const done of [...this.#waiting]) done();
  }

  #onChange(): void {
    for (const listener of [...this.#listeners]) listener();
    if (usableOf(this.#upstreams).length > 0) this.#endWaiting();
  }
}

const usableOf = (upstreams: readonly Upstream[]): Upstream[] =>
  upstreams.filter(({ state }) => state === "usable");

function startingWith(
  name: string | undefined,
  candidates: readonly Upstream[],
): readonly Upstream[] {
  const first = candidates.find((upstream) => upstream.name === name);
  if (!first || first === candidates[0]) return candidates;
  return [first, ...candidates.filter((upstream) => upstream !== first)];
}

/** @throws RpcError when the node said no. */
function saidBy(reply: Said): Buffer {
  if (reply.kind === "result") return reply.json;
  throw errors.refusedByNode(reply.code, reply.message, reply.json);
}

/** What a caller is told when no node gave an answer. */
function whyNobody(seen: readonly Reply["kind"][], method: string): RpcError {
  if (seen.length === 0) return errors.noUpstream();
  if (seen.every((kind) => kind === "missing")) return errors.methodNotFound(method);
  if (seen.every((kind) => kind === "timeout" || kind === "missing"))
    return errors.upstreamTimeout();
  return errors.upstreamsFailed();
}
