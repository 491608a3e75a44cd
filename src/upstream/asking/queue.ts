// The nodes that a call may still go to, in order: those that lack the method are passed over, those
// without budget come back when they have some.
import type { MethodGroup } from "../../namespaces/known-method.ts";
import type { Upstream } from "../upstream.ts";

export type QueuedUpstream = Pick<Upstream, "name" | "isMissing" | "health" | "budget">;

export type Wanted = {
  readonly method: string;
  /** The one of several ways to call it. */
  readonly way: string | undefined;
};

export class Queue<Node extends QueuedUpstream> {
  /** How many lack the method. */
  missing = 0;
  #next: Node[];
  readonly #known: Set<Node>;
  /** Those that have no budget now. */
  #limited: Node[] = [];
  readonly #wanted: Wanted;

  constructor(nodes: readonly Node[], wanted: Wanted) {
    this.#next = [...nodes];
    this.#known = new Set(nodes);
    this.#wanted = wanted;
  }

  get hasNext(): boolean {
    return this.#next.length > 0;
  }

  /** Whether `take` gives one. */
  get hasReady(): boolean {
    for (let node = this.#next[0]; node; node = this.#next[0]) {
      if (this.#isMissing(node)) this.missing += 1;
      else if (this.#waitMs(node) > 0) this.#limited.push(node);
      else return true;
      this.#next.shift();
    }
    return false;
  }

  take(): Node | undefined {
    return this.hasReady ? this.#next.shift() : undefined;
  }

  /** Nodes that were not there at the beginning. */
  add(nodes: readonly Node[]): void {
    for (const node of nodes) {
      if (this.#known.has(node)) continue;
      this.#known.add(node);
      this.#next.push(node);
    }
  }

  /** Nobody waits for the opinion of those who were given up. */
  dropOpen(group: MethodGroup): void {
    const isAsked = (node: Node): boolean => node.health.group(group).breaker !== "open";
    this.#next = this.#next.filter(isAsked);
    this.#limited = this.#limited.filter(isAsked);
  }

  /** It was asked too often. */
  giveBack(node: Node): void {
    this.#limited.push(node);
  }

  get limited(): number {
    return this.#limited.length;
  }

  /** How long until the first of those without budget has some, in milliseconds. */
  get soonestMs(): number {
    return Math.min(...this.#limited.map((node) => this.#waitMs(node)));
  }

  /** Those without budget are next again. */
  comeBack(): void {
    this.#next.push(...this.#limited.splice(0));
  }

  /** One without budget that never told its limit: this is only what it was found to take. */
  get insistent(): Node | undefined {
    const { method } = this.#wanted;
    return this.#limited.find(({ budget }) => budget.mayBeTried(budget.costOf(method)));
  }

  takeLimited(node: Node): Node {
    this.#limited = this.#limited.filter((other) => other !== node);
    return node;
  }

  #isMissing(node: Node): boolean {
    const { method, way } = this.#wanted;
    return node.isMissing(method) || (way !== undefined && node.isMissing(way));
  }

  #waitMs({ budget }: Node): number {
    return budget.waitMs(budget.costOf(this.#wanted.method));
  }
}
