// What an update of the chain brings for log subscriptions, found once for all of them: most match nothing of it, and are
// not looked for.
import type { ChainView } from "../chain/chain-view.ts";
import type { Position } from "../chain/stored-block.ts";
import type { LogMatcher } from "../evm/log-filter.ts";

type NewLogsParts = { readonly view: () => ChainView | undefined };

/** More blocks at once are not looked into here: everybody looks. */
const MOST_BLOCKS = 64;

export class NewLogs {
  #head: Position | undefined;
  /** The terms of all logs of the new blocks; undefined when the update was not only new blocks. */
  #terms: ReadonlySet<number> | undefined;
  readonly #parts: NewLogsParts;

  constructor(parts: NewLogsParts) {
    this.#parts = parts;
  }

  /** The chain was updated. */
  look(): void {
    const before = this.#head;
    const view = this.#parts.view();
    this.#head = view?.head;
    this.#terms = view && before && termsSince(before, view);
  }

  /** Whether a subscription may have something to tell since the last look but one. */
  mayMatch(matcher: LogMatcher | "nothing"): boolean {
    const terms = this.#terms;
    if (!terms) return true;
    if (matcher === "nothing") return false;
    return matcher.conditions.every(({ terms: wanted }) => hasOne(wanted, terms));
  }
}

function hasOne(wanted: ReadonlySet<number>, terms: ReadonlySet<number>): boolean {
  for (const term of wanted) if (terms.has(term)) return true;
  return false;
}

/** undefined unless all that happened since is that blocks came, which are stored. */
function termsSince(before: Position, view: ChainView): Set<number> | undefined {
  if (view.head.number - before.number > MOST_BLOCKS) return undefined;
  const terms = new Set<number>();
  let { hash } = before;
  for (let number = before.number + 1; number <= view.head.number; number += 1) {
    const block = view.blockAt(number);
    if (block?.outline.parentHash !== hash) return undefined;
    view.addLogTerms(block, terms);
    hash = block.hash;
  }
  return hash === view.head.hash ? terms : undefined;
}
