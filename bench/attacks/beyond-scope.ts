// Calls with a key that is bound to one contract for what lies beyond it: in each parameter's place, and in each member's.
import type { Attack } from "./attack.ts";
import { answerTo, callBytes, overAndOver } from "./sockets.ts";

export type BeyondScope = {
  /** A key that is bound to `contract`. */
  readonly key: string;
  readonly contract: string;
  readonly onBreach: (what: string) => void;
};

const AT_ONCE = 2;
const OTHER = `0x${"22".repeat(20)}`;

export const beyondScope = ({ key, contract, onBreach }: BeyondScope): Attack => ({
  name: "beyond the scope",
  run: (target, signal) => {
    const calls = callsBeyond(contract);
    return overAndOver(AT_ONCE, signal, async (turn) => {
      const [method, ...params] = calls[turn % calls.length] ?? ["eth_getLogs"];
      const text = await answerTo(target, callBytes({ ...target, key }, method, params), signal);
      if (text.includes('"result":'))
        onBreach(`a bound key was answered ${method} ${JSON.stringify(params)}`);
    });
  },
});

const callsBeyond = (own: string): readonly (readonly [string, ...unknown[]])[] => {
  const code = { [own]: { code: "0x60" } };
  return [
    ["eth_call", { to: OTHER }, "latest"],
    ["eth_call", { to: own }, "latest", code],
    ["eth_call", { to: own, authorizationList: [] }, "latest"],
    ["eth_estimateGas", { to: own }, "latest", code],
    ["linea_estimateGas", { to: own }, code],
    ["zks_estimateFee", { to: own }, code],
    ["zkevm_getBatchByNumber", "0x1", true],
    ["eth_getLogs", { address: [own, OTHER] }],
    ["eth_getLogs", {}],
    ["eth_newFilter", { address: OTHER }],
    ["eth_getTransactionReceiptsByBlock", "latest"],
    ["debug_traceCall", { to: own }, "latest", { tracer: "{}" }],
  ];
};
