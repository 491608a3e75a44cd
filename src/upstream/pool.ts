// The nodes of one network, asked in order: the next one when one fails.
import { errors, type RpcError } from "../jsonrpc/rpc-error.ts";
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

/** How long a call waits for some node to become usable, in milliseconds. */
const PATIENCE_MS = 3_000;

export class Pool {
  readonly #upstreams: readonly Upstream[];
  /** What ends the waiting of calls that found no usable node. */
  readonly #waiting = new Set<() => void>();
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

  /**
   * The bytes of `result` as a node sent them.
   *
   * @param paramsJson A JSON array.
   * @throws RpcError: the node's own refusal; -32601 when no node has the method; 502 when all
   * failed, 503 when none is usable, 504 when they or the signal ran out of time.
   */
  async call(method: string, paramsJson: string, signal: AbortSignal): Promise<Buffer> {
    const seen: Reply["kind"][] = [];
    const candidates = await this.#candidates(signal);
    if (candidates.length > 0 && signal.aborted) throw errors.upstreamTimeout();
    for (const upstream of candidates) {
      if (upstream.isMissing(method)) {
        seen.push("missing");
        continue;
      }
      const reply = await upstream.ask(method, paramsJson, signal);
      if (reply.kind === "result") return reply.json;
      if (reply.kind === "refused")
        throw errors.refusedByNode(reply.code, reply.message, reply.json);
      if (reply.kind === "aborted") throw errors.upstreamTimeout();
      seen.push(reply.kind);
    }
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
    if (usableOf(this.#upstreams).length > 0) this.#endWaiting();
  }
}

const usableOf = (upstreams: readonly Upstream[]): Upstream[] =>
  upstreams.filter(({ state }) => state === "usable");

/** What a caller is told when no node gave an answer. */
function whyNobody(seen: readonly Reply["kind"][], method: string): RpcError {
  if (seen.length === 0) return errors.noUpstream();
  if (seen.every((kind) => kind === "missing")) return errors.methodNotFound(method);
  if (seen.every((kind) => kind === "timeout" || kind === "missing"))
    return errors.upstreamTimeout();
  return errors.upstreamsFailed();
}
