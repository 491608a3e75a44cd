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
  const channel: PushChannel = {
    ...{ holder: "key", signal: ending.signal, subscriptions: 0, pushed: 0, arrived: 0 },
    push: (notification) => {
      pushed.push(String(notification[1]));
      return taken();
    },
    confirm: () => undefined,
    moreArrived: async () => undefined,
    allows: () => true,
    close: (why) => closed.push(why),
  };
  return { channel, pushed, closed, ending };
}

const delivery = { onSent: (task: (wasSent: boolean) => void) => task(true) };
const request = { signal: new AbortController().signal, delivery };

function world({ perKey = 10, chain }: { perKey?: number; chain?: object } = {}) {
  const nodes = [new Announcer(), new Announcer()];
  const clock = new FakeClock();
  const parts = { pool: { usable: () => nodes }, clock, chain } as never;
  return { nodes, clock, relayed: new RelayedSubscriptions({ prefix: "eth", perKey }, parts) };
}

describe("a relayed subscription", () => {
  it("goes on from another node, and tells once what both announce", async () => {
    const { nodes, relayed } = world();
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
  });

  it("closes the socket of a caller that takes nothing, before much waits for it", async () => {
    const { nodes, relayed } = world();
    const { channel, closed } = channelOf(() => new Promise(() => undefined));
    await relayed.begin(["newPendingTransactions"], request, channel);
    for (let event = 0; event < 5_000; event += 1)
      nodes[0]?.listener?.onEvent(Buffer.from(`"0x${event}"`));
    expect(closed).toEqual(["behind"]);
    await turn();
    expect(channel.subscriptions).toBe(0);
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
