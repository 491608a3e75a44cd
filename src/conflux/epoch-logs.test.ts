import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { epochLogFilter } from "./epoch-logs.ts";

const topic = `0x${"ab".repeat(32)}`;
const address = "cfx:aarc9abycue0hhzgyrr53m6cxedgccrmmyybjgh4xg";
const epochs =
  "want an epoch number, earliest, latest_checkpoint, latest_finalized, latest_confirmed or latest_state";
const addresses = "want a BASE32 address or an array of such addresses";

describe("an epoch log filter", () => {
  it.each([
    {},
    { fromEpoch: "0x1", toEpoch: "latest_state" },
    { fromEpoch: "earliest", toEpoch: "latest_confirmed" },
    { fromEpoch: "latest_checkpoint", toEpoch: "latest_finalized" },
    { fromEpoch: null, toEpoch: null, blockHashes: null, address: null, topics: null },
    { limit: null, offset: null },
    { limit: "0x0", offset: "0xA" },
    { address },
    { address: [] },
    { address: Array(1000).fill(address) },
    { address: "NET1234:of.no:interest:here" }, // checked where the network is known
    { topics: [] },
    { topics: [topic, null, [topic, topic], []] },
    { topics: [Array(1000).fill(topic)] },
    { blockHashes: [] },
    { blockHashes: Array(129).fill(topic), fromEpoch: "0x1", somethingNew: 1 },
  ])("may be %j", (filter) => {
    expect(epochLogFilter.safeParse(filter).success).toBe(true);
  });

  it.each([
    { filter: "latest_state", why: "want a log filter object" },
    { filter: [], why: "want a log filter object" },
    { filter: { toEpoch: "latest_mined" }, why: `latest_mined is not executed, ${epochs}` },
    { filter: { fromEpoch: "latest" }, why: epochs },
    { filter: { fromEpoch: "LATEST_STATE" }, why: epochs },
    { filter: { fromEpoch: "" }, why: epochs },
    { filter: { fromEpoch: 1 }, why: epochs },
    { filter: { fromEpoch: { blockHash: topic } }, why: epochs },
    { filter: { fromEpoch: "0x01" }, why: "hex number with leading zero digits" },
    { filter: { fromEpoch: "0x" }, why: "empty hex string, want 0x0 for zero" },
    { filter: { blockHashes: topic }, why: "want an array of block hashes" },
    { filter: { blockHashes: [null] }, why: "want a hex string" },
    { filter: { blockHashes: ["0x12"] }, why: "want 32 bytes" },
    { filter: { address: `0x${"8".repeat(40)}` }, why: "want a BASE32 address, such as cfx:…" },
    { filter: { address: 5 }, why: addresses },
    { filter: { address: [address, null] }, why: addresses },
    { filter: { address: Array(1001).fill(address) }, why: "want at most 1000 addresses" },
    { filter: { topics: topic }, why: "want an array of topics" },
    { filter: { topics: Array(5).fill(null) }, why: "want at most 4 topics" },
    { filter: { topics: ["0x12"] }, why: "want 32 bytes" },
    {
      filter: { topics: [[topic, null]] }, // nodes refuse it, too
      why: "want a 32-byte topic, null or an array of topics",
    },
    { filter: { topics: [Array(1001).fill(topic)] }, why: "want at most 1000 alternatives" },
    { filter: { topics: [[[topic]]] }, why: "want a 32-byte topic, null or an array of topics" },
    { filter: { limit: 5 }, why: "want a hex string" },
    { filter: { offset: "5" }, why: "hex string without 0x prefix" },
  ])("may not be $filter: $why", ({ filter, why }) => {
    expect(epochLogFilter.safeParse(filter).error?.issues[0]?.message).toBe(why);
  });

  it("is judged, whatever JSON it is", () => {
    const names = ["fromEpoch", "toEpoch", "blockHashes", "address", "topics", "limit", "offset"];
    fc.assert(
      fc.property(fc.dictionary(fc.constantFrom(...names), fc.jsonValue()), (filter) => {
        const checked = epochLogFilter.safeParse(filter);
        if (!checked.success) expect(checked.error.issues[0]?.message).toBeTruthy();
      }),
    );
  });
});
