import { expect, it } from "vitest";
import { troublesOf } from "../admin/live-network.ts";
import type { LiveStatus } from "../admin/schemas.ts";
import { topLines } from "./top-text.ts";

const upstream: LiveStatus["networks"][number]["upstreams"][number] = {
  ...{ upstream: "own", isUsable: true, head: 23_817_004, lagBlocks: 0, lagSeconds: 0 },
  ...{
    isElsewhere: false,
    isDrained: false,
    inFlight: 3,
    budget: { pausedForMs: 0 },
    lackedMethods: 2,
  },
  groups: [
    { group: "reads", breaker: "closed", errorRate: 0, p95Ms: 4.21 },
    { group: "logs", breaker: "closed", errorRate: 0, p95Ms: 130 },
  ],
  ...{ callsPerSecond: 130.2, failedPerSecond: 0 },
  caught: { lies: 0, proofFailures: 0, dissents: 0 },
  troubles: [],
};
const network: LiveStatus["networks"][number] = {
  ...{ network: "eth-mainnet", family: "evm", chainId: 1, isReady: true, head: 23_817_004 },
  ...{ headAgeSeconds: 4, isStale: false, reorganisations: 2, upstreams: [upstream] },
  ...{ lastReorganisations: [], evidence: [] },
  perSecond: {
    ...{ calls: 812.4, store: 577, merged: 97.5, here: 8.1, failed: 0, refused: 0 },
    ...{ medianMs: 0.412, p99Ms: 12.4 },
  },
};
const status: LiveStatus = { at: "2026-11-23T03:45:12.000Z", networks: [network], calls: [] };
const options = { url: "http://a", columns: 250, rows: 50, isColoured: false };

it("tells of each network and each node, a line each", () => {
  expect(topLines(status, undefined, options)).toEqual([
    "headgate top  http://a  03:45:12 UTC",
    "",
    "NETWORK      HEAD        AGE  CALLS/S  STORE  MERGED  HERE  NODES  P50     P99    FAILED/S  REORGS",
    "eth-mainnet  23,817,004  4 s  812      71 %   12 %    1 %   16 %   0.4 ms  12 ms  0         2",
    "",
    "NODE             HEAD        LAG  CALLS/S  FAILED/S  P95     IN FLIGHT  MONTH LEFT  STATE",
    "eth-mainnet own  23,817,004  0    130      0         130 ms  3          -           well",
  ]);
});

it("says what is the matter, in red where there are colours", () => {
  const illNode = {
    ...upstream,
    ...{ isUsable: false, isElsewhere: true, lagBlocks: 7, lagSeconds: 7_400 },
    groups: [
      { group: "logs", breaker: "open", errorRate: 1 } as const,
      { group: "chain", breaker: "half-open", errorRate: 1 } as const,
    ],
    budget: { pausedForMs: 4_000, monthLeft: 12_000 },
    caught: { lies: 1, proofFailures: 2, dissents: 3 },
  };
  const ill = {
    ...network,
    ...{ isReady: false, whyNotReady: "no node confirmed the head for 64 s", head: undefined },
    upstreams: [{ ...illNode, troubles: troublesOf(illNode) }],
  };
  const lines = topLines({ ...status, networks: [ill] }, undefined, {
    ...{ ...options, isColoured: true },
  });
  const red = lines.filter((line) => line.startsWith("\u001b[31m"));
  expect(red).toHaveLength(3);
  expect(red[1]).toContain("no node confirmed the head for 64 s");
  expect(red[2]).toContain("7 (2 h)");
  expect(red[2]).toContain(
    "unusable, on another branch, circuit breaker open for logs, circuit breaker half-open for chain, paused for 4 s, 1 false answer, 2 failed proofs, 3 disagreements",
  );
});

it("lists slow and failed calls", () => {
  const call: LiveStatus["calls"][number] = {
    ...{ at: "2026-11-23T03:45:11.000Z", network: "eth-mainnet", key: "shop", request: "r" },
    ...{ method: "eth_call", id: "1", outcome: "unavailable", code: -32603, source: "upstream" },
    ...{ bytes: 90, ms: 3_204.5, steps: [], leftOut: 0 },
    asked: [{ upstream: "own", method: "eth_call", atMs: 1, ms: 3_000, kind: "timeout" }],
  };
  const lines = topLines({ ...status, calls: [call] }, undefined, options);
  expect(lines.slice(-2)).toEqual([
    "AT (UTC)  NETWORK      KEY   METHOD    OUTCOME             TOOK      ASKED",
    "03:45:11  eth-mainnet  shop  eth_call  unavailable -32603  3,205 ms  own: timeout",
  ]);
});

it("never writes what a node wrote to steer the terminal, and fits the terminal", () => {
  const nasty = "\u001b]0;title\u0007\u001b[2J\u009b31m\u202e\u2067\u061c\u200fred\u2069\nline";
  const ill = { ...network, isReady: false, whyNotReady: nasty };
  const lines = topLines({ ...status, networks: [ill] }, nasty, {
    ...{ ...options, columns: 40, rows: 5 },
  });
  expect(lines).toHaveLength(5);
  for (const line of lines) expect(line).toMatch(/^[\u0020-\u007e]{0,40}$/);
});

it("says why there is nothing to show", () => {
  expect(topLines(undefined, "connect ECONNREFUSED", options)).toEqual([
    "headgate top  http://a",
    "connect ECONNREFUSED",
  ]);
});
