import { describe, expect, it } from "vitest";
import {
  beyondEpochs,
  gapTooWide,
  isBeyondHead,
  largestGap,
  reversedEpochs,
  tooManyHashes,
  tooManyLogs,
} from "./epoch-log-errors.ts";

const FILTER_ERROR = "Error processing request: Filter error: ";

describe("a refusal in the words of nodes", () => {
  it.each([
    {
      error: tooManyHashes(129),
      code: -32602,
      message: "filter.block_hashes can contain up to 128 hashes; 129 were provided.",
    },
    {
      error: reversedEpochs(32, 16),
      code: -32016,
      message: `${FILTER_ERROR}Filter has wrong epoch numbers set (from: 32, to: 16)`,
    },
    {
      error: gapTooWide(1, 101, { blocks: 100 }),
      code: -32016,
      message: `${FILTER_ERROR}The gap between from_epoch and to_epoch is larger than max_gap (from: 1, to: 101, max_gap: 100)`,
    },
    {
      error: beyondEpochs(),
      code: -32016,
      message: `${FILTER_ERROR}Invalid params: expected a numbers with less than largest epoch number.`,
    },
  ])("is $message", ({ error, code, message }) => {
    expect([error.code, error.message]).toEqual([code, message]);
  });
});

describe("what a node says", () => {
  it.each([
    // The wording of conflux-rust.
    {
      message: "Invalid parameters: filter",
      data: '"This query results in too many logs, max limitation is 20, please filter results by a smaller epoch/block range"',
    },
    { message: "query returned more than 10000 results" },
    {
      message:
        "result set to be queried is too large with more than 5000 logs, please narrow down your filter condition",
    },
    { message: "query timeout with duration exceeds 3s(s)" },
    { message: "block range too large" },
    { message: "block range is too wide" },
    { message: "block range is bigger than maxBlockRange" },
    { message: "invalid", data: { reason: "exceeds max gap" } },
  ])("is too many logs: $message", (error) => {
    expect(tooManyLogs({ code: -32602, ...error })).toBe(true);
    expect(largestGap({ code: -32602, ...error })).toBeUndefined();
  });

  it.each([
    { message: gapTooWide(1, 151, { blocks: 100 }).message, most: 100 },
    { message: "epoch range exceeds maximum value 1000", most: 1000 },
    { message: "block range too large, max range: 500", most: 500 },
    {
      message:
        "block range is larger than max block range, block range = 5120, max block range = 5000",
      most: 5000,
    },
    { message: "exceed maximum block range: 5000", most: 5000 },
    { message: "exceeds max gap 64", most: 64 },
    { message: "range 1000000 exceeds limit of 10000", most: 10000 },
    { message: "cfx_getLogs is limited to a 10,000 range", most: 10000 },
    { message: "limited to 0 - 1000 blocks range", most: 1000 },
    { message: "You can make requests with up to a 500 block range.", most: 500 },
    { message: "ranges over 10000 blocks are not supported", most: 10000 },
    {
      message: "invalid params",
      data: { payload: "range 9 is bigger than range limit 2" },
      most: 2,
    },
  ])("is a largest gap of $most: $message", ({ most, ...error }) => {
    expect(largestGap({ code: -32016, ...error })).toBe(most);
    expect(tooManyLogs({ code: -32016, ...error })).toBe(false);
  });

  it.each([
    { message: beyondEpochs().message },
    { message: `${FILTER_ERROR}Block 0x1a6d is not executed yet` },
    // A node with 1780 as its newest epoch.
    { message: reversedEpochs(1781, 1780).message },
    {
      message: "Invalid parameters: num",
      data: '"Specified epoch 1048575 is not executed, the latest state epoch is 580"',
    },
  ])("is that it is behind: $message $data", (error) => {
    expect(isBeyondHead({ code: -32016, ...error })).toBe(true);
  });

  it.each([
    { message: `${FILTER_ERROR}Unable to identify block 0x1` },
    { message: tooManyHashes(129).message },
    { message: "rate limit exceeded, limited to 100 requests a second" },
    { message: "Invalid params: unknown field `limit`", data: null },
    { message: `${FILTER_ERROR}Block 0x1a6d has been pruned from db` },
    { message: "", data: { deep: ["x".repeat(100_000)] } },
  ])("is none of these: $message", (said) => {
    const error = { code: -32016, ...said };
    expect([tooManyLogs(error), largestGap(error), isBeyondHead(error)]).toEqual([
      false,
      undefined,
      false,
    ]);
  });
});
