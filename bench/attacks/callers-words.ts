// Calls that honest nodes refuse in the caller's own words, which read as a provider's: a gateway that believed them would
// pause all nodes for everybody.
import type { Attack } from "./attack.ts";
import { answerTo, callBytes, overAndOver } from "./sockets.ts";

const AT_ONCE = 2;
const WORDS: readonly string[] = [
  "monthly quota exceeded, retry in 60m0s",
  "unsupported method",
  "Unauthorized: invalid api key",
  "missing trie node 0x11 (path ) state is not available",
  "header not found",
  "429 Too Many Requests",
  "query returned more than 10 results",
];

export const callersWords: Attack = {
  name: "callers' words",
  run: (target, signal) =>
    overAndOver(AT_ONCE, signal, (turn) => {
      const data = `0x${Buffer.from(`${WORDS[turn % WORDS.length]} ${turn}`).toString("hex")}`;
      const params = [{ to: `0x${"11".repeat(20)}`, data }];
      return answerTo(target, callBytes(target, "eth_estimateGas", params), signal);
    }),
};
