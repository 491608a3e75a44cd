import { describe, expect, it } from "vitest";
import { FakeClock } from "../../test/support/fake-clock.ts";
import type { SubscriptionListener } from "../upstream/connection/connection.ts";
import type { Reply } from "../upstream/reply.ts";
import { RelayedSubscriptions } from "./relayed-subscriptions.ts";
import type { PushChannel } from "./subscription.ts";

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** A node that announces the events of the test. */
class Announcer {
  listener: SubscriptionListener | undefined;
  isAway = false;
  readonly head = undefined;

  readonly announcements = {
    watch: async (_: string, listener: SubscriptionListener): Promise<boolean> => {
      if (this.isAway) return false;
      this.listener = listener;
      return true;
    },
  };

  async ask(): Promise<Reply> {
    return { kind: "missing" };
  }
}

function channelOf(taken: () => Promise<boolean>) {
  const ending = new AbortController();
  const pushed: string[] = [];
  const closed: string[] = [];
  const held = { bytes: 0 };
  const channel: PushChannel = {
    ...{ holder: "key", signal: ending.signal, subscriptions: 0, pushed: 0, arrived: 0 },
    push: (make) => {
      pushed.push(String(make()[1]));
      return taken();
    },
    ready: async () => !ending.signal.aborted,
    hold: (bytes) => {
      held.bytes += bytes;
    },
    confirm: () => undefined,
    moreArrived: async () => undefined,
    allows: () => true,
    close: (why) => closed.push(why),
  };
  return { channel, pushed, closed, ending, held };
}

const delivery = { onSent: (task: (wasSent: boolean) => void) => task(true) };
const request = { signal: new AbortController().signal, delivery };

function world({ perKey = 10, chain }: { perKey?: number; chain?: object } = {}) {
  const nodes = [new Announcer(), new Announcer()];
  const clock = new FakeClock();
  const counted: string[] = [];
  const metrics = {
    relayMoved: (network: string) => void counted.push(`${network} moved`),
    relayRepeated: (network: string) => void counted.push(`${network} repeated`),
  };
  const parts = { pool: { usable: () => nodes }, clock, chain, metrics } as never;
  const options = { network: "n", prefix: "eth", perKey } as const;
  return { nodes, clock, counted, relayed: new RelayedSubscriptions(options, parts) };
}

describe("a relayed subscription", () => {
  it("goes on from another node, and tells once what both announce", async () => {
    const { nodes, relayed, counted } = world();
    const { channel, pushed } = channelOf(async () => true);
    await relayed.begin(["newHeads"], request, channel);
    nodes[0]?.listener?.onEvent(Buffer.from('{"hash":"0x1"}'));
    await turn();
    Object.assign(nodes[0] ?? {}, { isAway: true });
    nodes[0]?.listener?.onEnd();
    await turn();
    nodes[1]?.listener?.onEvent(Buffer.from('{"hash":"0x1"}'));
    nodes[1]?.listener?.onEvent(Buffer.from('{"hash":"0x2"}'));
    await turn();
    expect(pushed).toEqual(['{"hash":"0x1"}', '{"hash":"0x2"}']);
    expect(counted).toEqual(["n moved", "n repeated"]);
  });

  const payload = (number: number, index: number) => ({
    payload_id: `0x${number}`,
    index,
    metadata: { block_number: number },
  });
  const log = (blockNumber: string, logIndex: string, more: object = {}) => ({
    ...{ blockNumber, logIndex, transactionHash: "0xa", blockHash: `0x${logIndex}`, ...more },
  });
  const sent = (blockNumber: string, transactionIndex: string) => ({
    ...{ hash: `${blockNumber}${transactionIndex}`, blockNumber, transactionIndex },
  });
  const block = (number: string, ...transactions: string[]) => ({
    ...{ number, hash: `${number}${transactions.length}`, transactions },
  });

  /** `first` is said by a node that dies, `second` by the next one; `pushed` is the part of `second` that is pushed. */
  it.each([
    {
      kind: "newFlashblocks",
      first: [payload(100, 0), payload(100, 1), payload(100, 2)],
      second: [payload(100, 1), payload(100, 2), payload(100, 3), payload(101, 0)],
      pushed: [payload(100, 3), payload(101, 0)],
    },
    {
      kind: "newFlashblocks", // only the first payload of a block names the block
      first: [
        { payload_id: "0x1", index: 0, base: { block_number: "0x64" } },
        { payload_id: "0x1", index: 4 },
      ],
      second: [
        { payload_id: "0x1", index: 3 },
        { payload_id: "0x1", index: 4 },
        { payload_id: "0x1", index: 5 },
      ],
      pushed: [{ payload_id: "0x1", index: 5 }],
    },
    {
      kind: "newFlashblocks", // of nodes that push the block so far
      first: [block("0x64", "a"), block("0x64", "a", "b")],
      second: [block("0x63", "x"), block("0x64", "a"), block("0x64", "a", "b"), block("0x65", "c")],
      pushed: [block("0x65", "c")],
    },
    {
      kind: "pendingLogs",
      first: [log("0x64", "0x0"), log("0x64", "0x9")],
      second: [log("0x64", "0x9", { blockHash: "0xff" }), log("0x64", "0x3"), log("0x64", "0xa")],
      pushed: [log("0x64", "0xa")],
    },
    {
      kind: "newFlashblockTransactions",
      first: [sent("0x64", "0x0"), sent("0x64", "0x5")],
      second: [sent("0x64", "0x4"), sent("0x64", "0x5"), sent("0x64", "0x6")],
      pushed: [sent("0x64", "0x6")],
    },
    {
      kind: "newFlashblockTransactions", // their hashes alone
      first: ["0xa", "0xb"],
      second: ["0xb", "0xc"],
      pushed: ["0xc"],
    },
  ])("of $kind repeats nothing and does not go back with another node %#", async (given) => {
    const { nodes, relayed, counted } = world();
    const { channel, pushed } = channelOf(async () => true);
    await relayed.begin([given.kind], request, channel);
    const say = async (node: number, items: readonly unknown[]): Promise<void> => {
      for (const item of items) {
        nodes[node]?.listener?.onEvent(Buffer.from(JSON.stringify(item)));
        await turn();
      }
    };
    await say(0, given.first);
    Object.assign(nodes[0] ?? {}, { isAway: true });
    nodes[0]?.listener?.onEnd();
    await turn();
    await say(1, given.second);
    expect(pushed.map((each) => JSON.parse(each))).toEqual([...given.first, ...given.pushed]);
    const dropped = given.second.length - given.pushed.length;
    expect(counted).toEqual(["n moved", ...Array(dropped).fill("n repeated")]);
  });

  it("of Flashblocks goes on when the chain has gone back for good", async () => {
    const { nodes, relayed, clock } = world();
    const { channel, pushed } = channelOf(async () => true);
    await relayed.begin(["newFlashblocks"], request, channel);
    const say = (item: object) => nodes[0]?.listener?.onEvent(Buffer.from(JSON.stringify(item)));
    say(payload(100, 5));
    say(payload(90, 1));
    await clock.advance(10_000);
    say(payload(90, 2));
    await turn();
    expect(pushed.map((each) => JSON.parse(each))).toEqual([payload(100, 5), payload(90, 2)]);
  });

  it("closes the socket of a caller that takes nothing, before much waits for it", async () => {
    const { nodes, relayed } = world();
    const { channel, closed, held } = channelOf(() => new Promise(() => undefined));
    await relayed.begin(["newPendingTransactions"], request, channel);
    for (let event = 0; event < 10; event += 1)
      nodes[0]?.listener?.onEvent(Buffer.from(`"0x${event}"`));
    await turn();
    expect(held.bytes).toBe(50); // with the event that is being pushed
    for (let event = 10; event < 5_000; event += 1)
      nodes[0]?.listener?.onEvent(Buffer.from(`"0x${event}"`));
    expect(closed).toEqual(["behind"]);
    await turn();
    expect([channel.subscriptions, held.bytes]).toEqual([0, 0]);
  });

  it("closes the socket also when a node announces much before it is known what was missed", async () => {
    const { nodes, relayed } = world();
    const { channel, closed } = channelOf(async () => true);
    await relayed.begin(["newHeads"], request, channel);
    nodes[0]?.listener?.onEvent(Buffer.from('{"hash":"0x1"}'));
    Object.assign(nodes[0] ?? {}, { isAway: true });
    Object.assign(nodes[1] ?? {}, { ask: () => new Promise(() => undefined) });
    nodes[0]?.listener?.onEnd();
    await turn();
    const large = Buffer.from(`{"hash":"0x2","extra":"${"x".repeat(2 ** 20)}"}`);
    for (let event = 0; event < 4; event += 1) nodes[1]?.listener?.onEvent(large);
    expect(closed).toEqual(["behind"]);
  });

  it("closes the socket when too much waits for all subscriptions of its key, and for no other key", async () => {
    const { nodes, relayed } = world();
    const slow = channelOf(() => new Promise(() => undefined));
    const other = channelOf(async () => true);
    Object.assign(other.channel, { holder: "other" });
    const listeners: (SubscriptionListener | undefined)[] = [];
    for (const { channel } of [other, ...Array.from({ length: 6 }, () => slow)]) {
      await relayed.begin(["newPendingTransactions", true], request, channel);
      listeners.push(nodes[0]?.listener);
    }
    const large = (hash: number): Buffer =>
      Buffer.from(`{"hash":"0x${hash}","extra":"${"x".repeat(2 ** 20)}"}`);
    for (let event = 0; event < 3; event += 1)
      for (const listener of listeners) listener?.onEvent(large(event));
    expect(slow.closed).not.toEqual([]);
    await turn();
    expect([other.closed, other.channel.subscriptions]).toEqual([[], 1]);
  });

  it("is refused beyond the number of its key, and where no node announces it", async () => {
    const { nodes, relayed } = world({ perKey: 1 });
    const { channel } = channelOf(async () => true);
    const id = await relayed.begin(["newHeads"], request, channel);
    await expect(relayed.begin(["newHeads"], request, channel)).rejects.toMatchObject({
      code: -32005,
    });
    expect(relayed.end(id, channelOf(async () => true).channel)).toBe(false);
    expect(relayed.end(id, channel)).toBe(true);
    await turn();
    for (const node of nodes) node.isAway = true;
    await expect(relayed.begin(["newHeads"], request, channel)).rejects.toMatchObject({
      code: -32601,
    });
    nodes.length = 0;
    await expect(relayed.begin(["newHeads"], request, channel)).rejects.toMatchObject({
      status: 503,
    });
    await turn();
    expect(channel.subscriptions).toBe(0);
  });

  it("of syncing tells when the followed chain is not live, and when it is again", async () => {
    let view: object | undefined = { head: { number: 7 }, isBehind: false };
    const { relayed, clock } = world({ chain: { view: () => view } });
    const { channel, pushed } = channelOf(async () => true);
    await relayed.begin(["syncing"], request, channel);
    const look = async (): Promise<void> => {
      await clock.advance(1_000);
      await turn();
    };
    await look();
    view = undefined;
    await look();
    await look();
    view = { head: { number: 9 }, isBehind: false };
    await look();
    const status = { startingBlock: "0x7", currentBlock: "0x7", highestBlock: "0x7" };
    expect(pushed.map((each) => JSON.parse(each))).toEqual([{ syncing: true, status }, false]);
  });
});
