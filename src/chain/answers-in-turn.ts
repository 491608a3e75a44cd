// The same asked of several nodes: one after the other, the next one early when one takes long.
import type { Clock } from "../lib/clock.ts";
import { within } from "../lib/waiting.ts";

export type NodeAnswer<Node, Answer> = { readonly node: Node; readonly answer: Answer };

/** A node is given so long, in milliseconds, before the next one is asked beside it. */
const SLOW_MS = 500;
/** Made once: nobody reads where it was made. */
const UNWANTED = new Error("no more answers are wanted");

/**
 * Gives the answers as they come, as long as somebody wants more of them; then what still runs is aborted.
 *
 * @param parts.ask Never rejects.
 */
export async function* answersInTurn<Node, Answer>(
  nodes: readonly Node[],
  signal: AbortSignal,
  parts: {
    readonly ask: (node: Node, signal: AbortSignal) => Promise<Answer>;
    readonly clock: Pick<Clock, "sleep">;
  },
): AsyncGenerator<NodeAnswer<Node, Answer>, void> {
  const ending = new AbortController();
  const end = (): void => ending.abort(signal.reason);
  signal.addEventListener("abort", end, { once: true });
  if (signal.aborted) end();
  const waiting = [...nodes];
  const running = new Map<Node, Promise<NodeAnswer<Node, Answer>>>();
  const askNext = (): void => {
    const node = waiting.shift();
    if (node !== undefined)
      running.set(
        node,
        parts.ask(node, ending.signal).then((answer) => ({ node, answer })),
      );
  };
  try {
    askNext();
    while (running.size > 0) {
      const first = await within(SLOW_MS, Promise.race(running.values()), parts);
      if (!first) askNext();
      else {
        running.delete(first.node);
        yield first;
        if (running.size === 0) askNext();
      }
    }
  } finally {
    signal.removeEventListener("abort", end);
    ending.abort(UNWANTED);
  }
}
