// Wordings of a node that does not have a method, or has switched it off.
import { withMeaning } from "./dialect.ts";

export const LACKING_METHODS = withMeaning({ kind: "missing" }, [
  {
    of: ["JSON-RPC 2.0"],
    code: -32601,
  },
  {
    // Over WebSocket and IPC (over HTTP anvil answers -32601). anvil answers the same for parameters that it cannot
    // read, so one such reply must not close the method for all callers.
    of: ["anvil"],
    code: -32602,
    words: /^data did not match any variant of untagged enum EthRpcCall$/i,
    means: { kind: "missing", isUnsure: true },
  },
  {
    of: ["conflux-rust"], // over HTTP, which cannot push
    code: -32090,
    words: /^subscriptions are not available on this transport/i,
  },
  {
    // The words are needed because besu uses -32004 for transactions as well.
    of: ["EIP-1474", "Infura", "Tenderly"],
    code: -32004,
    words: /^$|\bmethod\b|\b(un|not )supported|\b(un|not )implemented|\bnot available/i,
  },
  {
    of: ["besu"],
    code: -32604,
    words: /^method not enabled|^the method \w+ is not supported/i,
  },
  {
    of: ["besu"],
    code: -32002,
    words: /^transaction pool not enabled/i,
  },
  {
    of: ["erigon", "conflux-rust", "parity"],
    code: [-32000, -32002, -32603],
    words:
      /^the method is currently not implemented|^this (api|request) is not implemented yet|^not implemented\b/i,
  },
  {
    of: ["nethermind"],
    code: -32600,
    words: /^the method '[^']{1,80}' (is found\b.{1,200}\bis disabled\b|must be authenticated)/i,
  },
  {
    of: ["proxyd", "Chainstack", "GetBlock", "Tenderly", "LlamaRPC", "Flashbots"],
    code: [-32600, -32603, -32000, -32001, -32002, -32005],
    words:
      /^(the |this )?(rpc )?method\b.{0,80}\b(not|unsupported|disabled|blocked)\b.{0,20}\b(found|supported|available|whitelisted|allowed|enabled|exist|implemented|included)\b|^(the )?(method )?[a-z]+_\w{1,60} is (disabled|blocked|unsupported|not (supported|available|allowed))\b|^(unsupported|no such) method\b/i,
  },
  {
    // Not JSON-RPC: the words must name a method, because "Method Not Allowed" is about POST.
    of: ["QuickNode", "proxies"],
    status: [400, 403, 404, 405, 501],
    words:
      /\bmethod:? ["'`]?(eth|net|web3|debug|trace|txpool|cfx|pos|erigon|parity|ots)_\w{1,60}["'`]? .{0,40}\b(not|unsupported|disabled)\b|\b(unsupported|unknown|disallowed) (rpc )?method:? ["'`]?[a-z0-9]+_\w/i,
  },
]);

/** A method that the provider withholds from the gateway's plan. */
export const UNPAID_METHODS = withMeaning({ kind: "missing" }, [
  {
    of: ["Alchemy"],
    code: [-32600, -32000, -32001],
    words: /^unsupported method\b|^[a-z]+_\w{1,60} is not available on (the|your)\b/i,
  },
  {
    of: ["dRPC"],
    code: [35, 23],
    words: /^method is not available on free|^unsupported subscription/i,
  },
  {
    // For custom tracers, and for methods of add-ons and larger plans.
    of: ["QuickNode"],
    code: [-32612, -32613],
  },
  {
    of: ["Unifra", "Ankr", "Blast", "InfStones"],
    code: [-32600, -32603, -32000, -32001, -2031],
    words:
      /^method [a-z]+_\w{1,60} requires paid tier|^\[.{1,200}\] not allowed$|\bonly available (on|for|in|with) (a |the )?paid\b/i,
  },
]);
