// The upstreams that a call may still go to, in order: those that lack the method are passed over, those
// without budget come back when they have some.
import type { WorkKind } from "../../namespaces/known-method.ts";
import type { Upstream } from "../upstream.ts";

export type WantedMethod = {
  readonly method: string;
  /** The one of several ways to call it. */
  readonly way: string | undefined;
};

export class CandidateList {
  /** How many lack the method. */
  missing = 0;
  #next: Upstream[];
  /** Those that have no budget now. */
  #limited: Upstream[] = [];
  /** All that were ever here. */
  #known: readonly Upstream[];
  readonly #wanted: WantedMethod;

  constructor(upstreams: readonly Upstream[], wanted: WantedMethod) {
    this.#next = [...upstreams];
    this.#known = upstreams;
    this.#wanted = wanted;
  }

  get hasNext(): boolean {
    return this.#next.length > 0;
  }

  /** Passes over those in front that cannot be asked now. @returns The first that can; it stays. */
  advance(): Upstream | undefined {
    for (let first = this.#next[0]; first; first = this.#next[0]) {
      if (this.#isMissing(first)) this.missing += 1;
      else if (this.#waitMs(first) > 0) this.#limited.push(first);
      else return first;
      this.#next.shift();
    }
    return undefined;
  }

  take(): Upstream | undefined {
    return this.advance() && this.#next.shift();
  }

  /** Upstreams that were not there at the beginning. */
  add(upstreams: readonly Upstream[]): void {
    const added = upstreams.filter((upstream) => !this.#known.includes(upstream));
    if (added.length === 0) return;
    this.#known = [...this.#known, ...added];
    this.#next.push(...added);
  }

  /** Those whose circuit breaker is open are not asked for a cross-check. */
  dropOpen(workKind: WorkKind): void {
    const isAsked = ({ health }: Upstream): boolean => health.ofKind(workKind).breaker !== "open";
    this.#next = this.#next.filter(isAsked);
    this.#limited = this.#limited.filter(isAsked);
  }

  /** It was asked too often. */
  giveBack(upstream: Upstream): void {
    this.#limited.push(upstream);
  }

  get limited(): number {
    return this.#limited.length;
  }

  /** How long until the first of those without budget has some, in milliseconds. */
  get soonestMs(): number {
    return Math.min(...this.#limited.map((upstream) => this.#waitMs(upstream)));
  }

  /** Those without budget are next again. */
  comeBack(): void {
    this.#next.push(...this.#limited.splice(0));
  }

  /** One without budget that never told its limit: this is only what it was found to take. */
  get insistent(): Upstream | undefined {
    const { method } = this.#wanted;
    return this.#limited.find(({ budget }) => budget.mayBeTried(budget.costOf(method)));
  }

  takeLimited(upstream: Upstream): Upstream {
    this.#limited = this.#limited.filter((other) => other !== upstream);
    return upstream;
  }

  #isMissing(upstream: Upstream): boolean {
    const { method, way } = this.#wanted;
    return upstream.isMissing(method) || (way !== undefined && upstream.isMissing(way));
  }

  #waitMs({ budget }: Upstream): number {
    return budget.waitMs(budget.costOf(this.#wanted.method));
  }
}
