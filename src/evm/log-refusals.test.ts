import { describe, expect, it } from "vitest";
import { servedMsOf } from "../../test/support/served-time.ts";
import { hasTooManyCriteria, mostAddressesIn, sizeRefusal } from "./log-refusals.ts";

const asked = { from: 0, to: 10_000_000 };
/** For each refusal: the node or provider, the kind, the text, and the number of blocks that the text contains. */
const seen: readonly (readonly [string, "range" | "results", string, number?])[] = [
  [
    "Thirdweb",
    "range",
    "Log response size exceeded. Maximum allowed number of requested blocks is 1000",
    1000,
  ],
  [
    "Infura, Erigon, Polygon zkEVM, Tenderly, zkSync; reth, LlamaRPC; Nethermind; Erigon; Arbitrum",
    "results",
    "query returned more than 10000 results",
  ],
  [
    "Infura, Erigon, Polygon zkEVM, Tenderly, zkSync; reth, LlamaRPC; Nethermind; Erigon; Arbitrum",
    "results",
    "query exceeds max results 20000, retry with the range 6000000-6000509",
  ],
  [
    "Infura, Erigon, Polygon zkEVM, Tenderly, zkSync; reth, LlamaRPC; Nethermind; Erigon; Arbitrum",
    "results",
    "Too many logs requested. Max logs per response is 20000.",
  ],
  [
    "Infura, Erigon, Polygon zkEVM, Tenderly, zkSync; reth, LlamaRPC; Nethermind; Erigon; Arbitrum",
    "results",
    "query returns too many logs, narrow your filter: 20000",
  ],
  [
    "Infura, Erigon, Polygon zkEVM, Tenderly, zkSync; reth, LlamaRPC; Nethermind; Erigon; Arbitrum",
    "results",
    "logs matched by query exceeds limit of 10000",
  ],
  ["Alchemy", "results", "Log response size exceeded. Please reduce query block range."],
  ["Infura, Arbitrum, Conflux", "results", "query timeout exceeded"],
  ["Infura, Arbitrum, Conflux", "results", "log query timed out"],
  ["Infura, Arbitrum, Conflux", "results", "please narrow down your filter condition"],
  ["1RPC, Ankr, Optimism", "results", "response size should not greater than 10000000 bytes"],
  ["1RPC, Ankr, Optimism", "results", "backend response too large"],
  ["QuickNode, 1RPC, BlockPI, Blast", "range", "eth_getLogs is limited to a 10,000 range", 10_000],
  ["QuickNode, 1RPC, BlockPI, Blast", "range", "eth_getLogs is limited to 0 - 50 blocks range", 50],
  ["QuickNode, 1RPC, BlockPI, Blast", "range", "eth_getLogs is limited to 1024 block range", 1024],
  ["Alchemy", "range", "You can make eth_getLogs requests with up to a 500 block range.", 500],
  [
    "geth, reth, publicnode, cdk-erigon, Cloudflare",
    "range",
    "exceed maximum block range: 50000",
    50_000,
  ],
  [
    "geth, reth, publicnode, cdk-erigon, Cloudflare",
    "range",
    "query exceeds max block range 100000",
    100_000,
  ],
  [
    "geth, reth, publicnode, cdk-erigon, Cloudflare",
    "range",
    "block range too large, max range: 1000",
    1000,
  ],
  [
    "geth, reth, publicnode, cdk-erigon, Cloudflare",
    "range",
    "Invalid eth_getLogs request. 'fromBlock'-'toBlock' range too large. Max range: 800",
    800,
  ],
  ["Infura, Tenderly, Conflux", "range", "range 1000000 exceeds limit of 10000", 10_000],
  [
    "Infura, Tenderly, Conflux",
    "range",
    "range 25887126 - 25897126 exceeds limit of 10000",
    10_000,
  ],
  ["Infura, Tenderly, Conflux", "range", "range 9009594 is bigger than range limit 2000", 2000],
  [
    "Conflux; dRPC",
    "range",
    "Filter error: The gap between from and to is larger than max_gap (max_gap: 1000)",
    1000,
  ],
  ["Conflux; dRPC", "range", "ranges over 10000 blocks are not supported on freetier", 10_000],
  [
    "Avalanche, Moonbeam, Sei",
    "range",
    "requested too many blocks from 0 to 16777216, maximum is set to 2048",
    2048,
  ],
  ["Avalanche, Moonbeam, Sei", "range", "block range is too wide (maximum 1024)", 1024],
  [
    "Avalanche, Moonbeam, Sei",
    "range",
    "block range too large (2000), maximum allowed is 1000 blocks",
    1000,
  ],
  [
    "Blast, SimplyVC, Coinbase",
    "range",
    "exceeds the range allowed for your plan (5000 > 3000)",
    3000,
  ],
  ["Blast, SimplyVC, Coinbase", "range", "too wide blocks range, the limit is 100", 100],
  ["Blast, SimplyVC, Coinbase", "range", "please limit the query to at most 1000 blocks", 1000],
  ["BNB Smart Chain", "range", "limit exceeded"],
  ["Ankr, Base, Besu, Bor, Chainstack, Erigon, Scroll", "range", "block range is too wide"],
  ["Ankr, Base, Besu, Bor, Chainstack, Erigon, Scroll", "range", "requested range too large"],
  [
    "Ankr, Base, Besu, Bor, Chainstack, Erigon, Scroll",
    "range",
    "Requested range exceeds maximum RPC range limit",
  ],
  [
    "Ankr, Base, Besu, Bor, Chainstack, Erigon, Scroll",
    "range",
    "block range exceeds configured limit",
  ],
  ["Ankr, Base, Besu, Bor, Chainstack, Erigon, Scroll", "range", "Block range limit exceeded."],
  [
    "Ankr, Base, Besu, Bor, Chainstack, Erigon, Scroll",
    "range",
    "query block range exceeds server limit, narrow your filter: 1000",
  ],
  [
    "Ankr, Base, Besu, Bor, Chainstack, Erigon, Scroll",
    "range",
    "block range is bigger than maxBlockRange",
  ],
  ["Alchemy", "results", "Response size is larger than 150MB limit"],
  ["Oasis", "range", "invalid request: max allowed of rounds in logs query is: 100", 100],
  ["Harmony", "range", "GetLogs query must be smaller than size 1024", 1024],
  ["Ankr", "range", "maximum [from, to] blocks distance: 800", 800],
  ["Swell", "range", "block range greater than 500 max", 500],
  ["Somnia", "range", "block range exceeds 1000", 1000],
  ["Tron", "range", "exceed max block range: 5000", 5000],
  ["Moonriver", "range", "block range is too wide (maximum 1024)", 1024],
  ["Aurora", "range", "up to a 10000 block range", 10_000],
  ["eRPC", "range", "range threshold exceeded"],
  ["Valtitude", "range", "allowed block range threshold exceeded"],
  ["providers", "range", "query exceeds limit: at most 2000 blocks", 2000],
  ["providers", "range", "You can query no more than 5,000 blocks at once", 5000],
  ["providers", "range", "maximum of 3000 blocks per request", 3000],
  ["providers", "range", "limited to 100 blocks", 100],
  ["providers", "range", "exceeds 10000 blocks", 10_000],
  [
    "providers",
    "range",
    "the difference between fromBlock and toBlock must be less than 2000",
    2000,
  ],
  ["providers", "range", "distance between fromBlock and toBlock exceeds maximum 1000", 1000],
  ["providers", "range", "block span exceeds 250", 250],
  ["providers", "range", "Consider reducing your block range: too large"],
  ["providers", "range", "too many blocks requested"],
  ["providers", "range", "please use a smaller block range"],
  ["providers", "range", "eth_getLogs: requested block window is over the allowed maximum"],
  ["providers", "range", "Please reduce the number of blocks"],
  ["providers", "range", "split your query into smaller ranges"],
  ["providers", "results", "Cannot create a string longer than 0x1fffffe8 characters"],
  ["providers", "results", "too many events, try paginating"],
  ["providers", "results", "query is too expensive"],
  ["providers", "results", "result exceeds 10 MB"],
  ["providers", "results", "payload too large"],
  ["providers", "results", "returned more than 100 logs"],
  ["providers", "range", "Exceeded maximum block range"],
  ["providers", "range", "fromBlock and toBlock difference should be less than 10000", 10_000],
  ["providers", "range", "toBlock - fromBlock > 1024", 1024],
  ["providers", "range", "the number of blocks must be below 1000", 1000],
  ["providers", "range", "block count exceeds 500", 500],
  ["providers", "range", "you can only query 1000 blocks", 1000],
  ["providers", "range", "interval too large"],
  ["providers", "range", "exceeds max block span"],
  ["providers", "results", "query too broad"],
  ["providers", "results", "query exceeds limit"],
  ["providers", "results", "too much data"],
];

const rows = seen.map(([of, about, message, widest]) => {
  const want = widest === undefined ? { about } : { about, widest };
  return { of, message, want };
});

it.each(rows)("$of: $message", ({ message, want }) => {
  expect(sizeRefusal({ message }, asked)).toEqual(want);
});

it.each(rows)("the same as data: $message", ({ message, want }) => {
  expect(sizeRefusal({ message: "invalid params", data: { payload: message } }, asked)).toEqual(
    want,
  );
});

describe("a range that the node proposes", () => {
  const from = 0x3d7773;
  it.each([
    [
      "query returned more than 10000 results. Try with this block range [0x3D7773, 0x3D7966].",
      { about: "results", hint: 0x3d7966 },
    ],
    [
      "Log response size exceeded. You can make eth_getLogs requests with up to a 2K block range and no limit on the response size, or you can request any block range with a cap of 10K logs in the response. Based on your parameters and the response size limit, this block range should work: [0x3d7773, 0x3d7966]",
      { about: "results", hint: 0x3d7966 },
    ],
    [
      "Under the Free tier plan, you can make eth_getLogs requests with up to a 10 block range. Based on your parameters, this block range should work: [0x3d7773, 0x3d777c]. Upgrade to PAYG for expanded block range.",
      { about: "range", widest: 10, hint: 0x3d777c },
    ],
    [
      "query exceeds max results 20000, retry with the range 4028275-4028300",
      { about: "results", hint: 4028300 },
    ],
    // The asked range itself (as reth); reversed; too long; with another begin; without a number.
    ["query exceeds max results 20000, retry with the range 4028275-4030000", { about: "results" }],
    ["returned more than 5 results. Try with [0x3d7773, 0x3d7772]", { about: "results" }],
    ["returned more than 5 results. Try with [0x3d7773, 0xffffffff]", { about: "results" }],
    ["returned more than 5 results. Try with [0x3d7774, 0x3d7780]", { about: "results" }],
    ["returned more than 5 results. Try with [0x3d7773, latest]", { about: "results" }],
  ])("%s", (message, want) => {
    expect(sizeRefusal({ message }, { from, to: 4_030_000 })).toEqual(want);
  });

  it("may stand in the data alone", () => {
    const data = { from: "0xa", limit: 10000, to: "0xC" };
    const error = { message: "query returned more than 10000 results", data };
    expect(sizeRefusal(error, { from: 10, to: 20 })).toEqual({ about: "results", hint: 12 });
  });
});

it("names a width only when that is fewer blocks than were asked for", () => {
  const message = "exceed maximum block range: 1000";
  expect(sizeRefusal({ message }, { from: 1, to: 1000 })).toEqual({ about: "range" });
  expect(sizeRefusal({ message }, { from: 1, to: 1001 })).toEqual({ about: "range", widest: 1000 });
  const none = { message: "exceed maximum block range: 0" };
  expect(sizeRefusal(none, asked)).toEqual({ about: "range" });
});

it.each([
  "invalid block range params",
  "block range extends beyond current head block",
  "rate limit exceeded",
  "daily request count exceeded, request rate limited",
  "rate limited to 10 requests",
  "unknown block",
  "exceed max topics",
  "exceed max addresses or topics per search position",
  "This query contains 5006 filters. The current limit is 5000.",
  "header not found",
  "pruned history unavailable",
  "execution reverted: block range is too wide",
  "begin block is greater than end block",
  "Please specify less number of addresses. (max 50)",
  "Receipt not available for 'From' block",
  "missing trie node 0x11",
  "failed to load state at height 5",
  "block 5 is not available, lowest height is 100",
  "block not found",
  "invalid address",
  "",
])("is not about size: %s", (message) => {
  expect(sizeRefusal({ message }, asked)).toBeUndefined();
});

it("tells limits of addresses and topics apart", () => {
  const says = (message: string) => hasTooManyCriteria({ message });
  expect(says("exceed max addresses or topics per search position")).toBe(true);
  expect(says("This query contains 5006 filters. The current limit is 5000.")).toBe(true);
  expect(says("block range is too wide")).toBe(false);
});

it.each([
  ["Please specify less number of addresses. (max 50)", 50],
  ["exceed maximum number of addresses, limit is 20", 20],
  ["Please, specify less number of addresses", undefined],
  ["too many addresses: up to 1000 addresses are allowed", 1000],
  ["maximum number of addresses: 0", undefined],
])("%s: a limit of addresses", (message, most) => {
  expect(hasTooManyCriteria({ message })).toBe(true);
  expect(mostAddressesIn({ message })).toBe(most);
});

it("is read quickly, whatever a node writes", async () => {
  const words = [
    "range ",
    "1,",
    "[0x",
    "limited to 0 - ",
    "max range ",
    '"from":"0x1"',
    "too many blocks ",
    "difference between ",
    "reduce ",
    "response ",
    "block range ",
    "at most 1,1,1 ",
    "maximum number of ",
  ];
  const ownMs = await servedMsOf(() => {
    for (const word of words)
      sizeRefusal({ message: word.repeat(300_000), data: word.repeat(300_000) }, asked);
  });
  expect(ownMs).toBeLessThan(500);
});
