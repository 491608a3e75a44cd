import { deserialize, serialize } from "node:v8";
import { describe, expect, it } from "vitest";
import { FakeClock } from "../../test/support/fake-clock.ts";
import type { ChainNews } from "../chain/chain-reader.ts";
import { errors } from "../jsonrpc/rpc-error.ts";
import type { KeptNetwork, NetworkWriter } from "../network/role.ts";
import { WriterAway, WriterLink, WriterService } from "./writer-link.ts";

const news: ChainNews = { isLive: true, leader: "a", nodeHeads: [] };
const position = { number: 7, hash: "0x7" };
const turn = (): Promise<void> => new Promise(setImmediate);

/** The message as another process gets it. */
const copied = <Message>(message: Message): Message => deserialize(serialize(message));

/** A server and a writer, joined by their messages as another process would get them. */
function joined(writer: Partial<NetworkWriter>, isCut = false) {
  const clock = new FakeClock();
  const failures: unknown[] = [];
  let update: () => void = () => undefined;
  const link = new WriterLink(
    { server: 2 },
    { send: (question) => void (isCut || service.receive(copied(question))), clock },
  );
  const service: WriterService = new WriterService({
    send: (message) => link.receive(copied(message)),
    clock,
    log: { error: (told: unknown) => void failures.push(told) },
  });
  const kept: KeptNetwork = {
    writer: writer as NetworkWriter,
    news: () => news,
    onUpdate: (listener) => {
      update = listener;
      return () => undefined;
    },
  };
  const stop = service.serve("main", kept);
  return { link, clock, failures, stop, update: () => update(), remote: link.of("main") };
}

describe("a server's line to the writer", () => {
  it("carries questions there and answers back", async () => {
    const kept: unknown[] = [];
    const { remote } = joined({
      look: async () => undefined,
      fetch: async (reference) => ("number" in reference ? "unknown" : { hash: reference.hash }),
      tagged: async () => position,
      keepSegment: async (place, { json, upstreams }) =>
        void kept.push(place, json.toString(), upstreams),
      distrust: (upstream) => void kept.push(upstream),
      beginPending: async () => 12,
    });
    expect(await remote.look()).toBeUndefined();
    expect(await remote.fetch({ hash: "0x1" }, "needed")).toEqual({ hash: "0x1" });
    expect(await remote.fetch({ number: 1 }, "if held")).toBe("unknown");
    expect(await remote.tagged("finalized")).toEqual(position);
    expect(await remote.beginPending()).toBe(12);
    const blocks = { criteria: new Uint8Array(32), from: 1, to: 2 };
    await remote.keepSegment(blocks, { json: Buffer.from("[]"), upstreams: ["a"] });
    remote.distrust("a");
    await remote.look();
    expect(kept).toEqual([blocks, "[]", ["a"], "a"]);
  });

  it("tells callers what the writer refuses, and nothing of its bugs", async () => {
    const { remote, failures } = joined({
      beginPending: async () => {
        throw errors.noMempoolSource();
      },
      tagged: async () => {
        throw new Error("a bug");
      },
    });
    await expect(remote.beginPending()).rejects.toMatchObject({ code: -32601 });
    await expect(remote.tagged("safe")).rejects.toBeInstanceOf(WriterAway);
    expect(failures).toHaveLength(1);
  });

  it("gives up what a writer that is gone was asked, and what nobody answers in time", async () => {
    const { remote, link, clock } = joined({}, true);
    const asked = expect(remote.look()).rejects.toBeInstanceOf(WriterAway);
    link.receive({ kind: "writer away" });
    await asked;
    const unanswered = expect(remote.look()).rejects.toBeInstanceOf(WriterAway);
    await clock.advance(20_000);
    await unanswered;
    expect(clock.waiting).toBe(1); // the timer of the news
  });

  it("does not wait for a writer that is silent", async () => {
    const { remote, link, clock, stop } = joined({}, true);
    stop(); // the writer sends no more news
    await clock.advance(5_001);
    await expect(remote.look()).rejects.toThrow("silent");
    expect(clock.waiting).toBe(0);
    link.receive({ kind: "news", network: "main", news });
    const asked = expect(remote.look()).rejects.toThrow("away");
    link.receive({ kind: "writer away" });
    await asked;
  });

  it("says that a network is not kept", async () => {
    const { link } = joined({});
    await expect(link.of("other").look()).rejects.toBeInstanceOf(WriterAway);
  });

  it("does not send more to be kept than the writer takes", async () => {
    let kept = 0;
    const held = Promise.withResolvers<void>();
    const keepTrace = async (): Promise<void> => {
      kept += 1;
      await held.promise;
    };
    const { remote } = joined({ keepTrace });
    const first = { index: 0, part: "trace" } as const;
    const all = Array.from({ length: 50 }, () => remote.keepTrace("0x1", first, Buffer.from("1")));
    await turn();
    expect(kept).toBe(32);
    held.resolve();
    await Promise.all(all);
    await remote.keepTrace("0x1", first, Buffer.from("1"));
    expect(kept).toBe(33);
  });

  it("brings news: the last ones at once, then each update, and each second", async () => {
    const { remote, clock, update, stop } = joined({});
    const received: ChainNews[] = [];
    const stopListening = remote.onNews((each) => void received.push(each));
    expect(received).toEqual([news]);
    update();
    await clock.advance(1_000);
    expect(received).toHaveLength(3);
    stopListening();
    update();
    expect(received).toHaveLength(3);
    stop();
    expect(clock.waiting).toBe(0);
  });
});
