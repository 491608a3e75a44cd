import { type IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { Writable } from "node:stream";
import { describe, expect, it } from "vitest";
import { FakeClock } from "../../test/support/fake-clock.ts";
import { RpcError } from "../jsonrpc/rpc-error.ts";
import { EventStream, streamParams } from "./event-streams.ts";

describe("streamParams", () => {
  const paramsOf = (query: string, headers = {}): unknown =>
    streamParams({ url: `/v1/demo/events${query}`, headers });

  it.each([
    ["?stream=newHeads", ["newHeads"]],
    ["?stream=epochs&epoch=latest_mined", ["epochs", "latest_mined"]],
    ["?stream=newPendingTransactions&includeTransactions=true", ["newPendingTransactions", true]],
    ["?stream=logs&address=0x1", ["logs", { address: "0x1" }]],
    [
      "?stream=logs&address=0x1&address=0x2&topic1=0x3&topic1=0x4",
      ["logs", { address: ["0x1", "0x2"], topics: [null, ["0x3", "0x4"]] }],
    ],
    ["?stream=logs&lastEventId=0x9", ["logs", { resume: "0x9" }]],
    ["?stream=logs&lastEventId=0x9:12", ["logs", { resume: "0x9", received: 12 }]],
  ])("%s", (query, want) => {
    expect(paramsOf(query)).toEqual(want);
  });

  it("believes the header of a client that came again by itself, not its old URL", () => {
    const headers = { "last-event-id": "0xa" };
    expect(paramsOf("?stream=logs&lastEventId=0x9", headers)).toEqual(["logs", { resume: "0xa" }]);
  });

  it.each([
    ["", "missing parameter stream"],
    ["?", "missing parameter stream"],
    ["?stream=logs&adress=0x1", "unknown parameter adress"],
    ["?stream=logs&topic4=0x1", "unknown parameter topic4"],
    ["?stream=logs&stream=newHeads", "parameter stream comes more than once"],
    [
      "?stream=newHeads&lastEventId=0xa&lastEventId=0xb",
      "parameter lastEventId comes more than once",
    ],
    [
      "?stream=newPendingTransactions&includeTransactions=1",
      "includeTransactions must be true or false",
    ],
  ])("%j is refused: %s", (query, message) => {
    const refused = paramsOf(query);
    expect(refused).toBeInstanceOf(RpcError);
    expect(refused).toMatchObject({ status: 400, code: -32602, message });
  });
});

describe("a stream", () => {
  /** A stream whose writes the test completes, and the text that was written. */
  const takenBy = () => {
    const clock = new FakeClock();
    const taking: (() => void)[] = [];
    let text = "";
    const socket = new Writable({
      write: (chunk: Buffer, _, done) => {
        text += String(chunk);
        taking.push(done);
      },
    });
    const request = {
      ...{ method: "GET", httpVersionMajor: 1, httpVersionMinor: 0, headers: {} },
      socket: { setTimeout: () => undefined },
    } as unknown as IncomingMessage;
    const response = new ServerResponse(request);
    response.assignSocket(socket as unknown as Socket);
    const closed: string[] = [];
    const stream = new EventStream({
      response,
      clock,
      onClosing: (why) => closed.push(why),
    });
    stream.open({ requestId: "r", allowOrigin: "*" });
    stream.begin({ id: "0x1", kind: "logs" });
    const takeAll = async (): Promise<void> => {
      await new Promise(setImmediate);
      while (taking.length > 0) {
        taking.shift()?.();
        await new Promise(setImmediate);
      }
    };
    return { stream, text: () => text, takeAll, closed, clock };
  };

  it("has told of an event when that was taken", async () => {
    const { stream, text, takeAll } = takenBy();
    let isTold = false;
    const pushing = stream
      .push(() => ["", '{"a":1}', ""])
      .then((wasSent) => {
        isTold = wasSent;
      });
    await new Promise(setImmediate);
    expect(isTold).toBe(false);
    await takeAll();
    await pushing;
    expect(isTold).toBe(true);
    expect(text()).toContain('id: 0x1\nevent: logs\ndata: {"a":1}\n\n');
  });

  it("keeps an event one event, whatever line breaks a node writes", async () => {
    const { stream, text, takeAll } = takenBy();
    const pushing = stream.push(() => ["", Buffer.from('{"a":\r\n\r\n1,\n"data":2}'), ""]);
    await takeAll();
    await pushing;
    expect(text()).toContain('data: {"a": 1, "data":2}\n\n');
  });

  it("names each event by its subscription and its number", async () => {
    const { stream, text, takeAll } = takenBy();
    void stream.push(() => ["", "1", ""], 7);
    await takeAll();
    expect(text()).toContain("id: 0x1:7\nevent: logs\ndata: 1\n\n");
  });

  it("believes that an event arrived a while after all of it was taken", async () => {
    const { stream, takeAll, clock } = takenBy();
    void stream.push(() => ["", "1", ""]);
    let hasArrived = false;
    const confirming = stream.confirm().then((did) => {
      hasArrived = did;
    });
    const checked = async (): Promise<boolean> => {
      await clock.advance(10_000);
      stream.checkLiveness({ pingMs: 60_000 });
      await new Promise(setImmediate);
      return hasArrived;
    };
    expect(await checked()).toBe(false);
    await takeAll();
    expect(await checked()).toBe(true);
    await confirming;
    const next = stream.confirm();
    stream.terminate();
    expect(await next).toBe(false);
  });

  it("tells nothing more after its end, and says why it ended", async () => {
    const { stream, text, takeAll, closed } = takenBy();
    stream.close("restarting");
    stream.close("revoked");
    expect(await stream.push(() => ["", "1", ""])).toBe(false);
    await takeAll();
    expect(text()).toContain('event: close\ndata: {"code":1012,"reason":"restarting"}\n\n');
    expect(closed).toEqual(["restarting"]);
    expect(stream.signal.aborted).toBe(true);
  });

  it("makes an event when the one before was taken", async () => {
    const { stream, takeAll } = takenBy();
    const made: number[] = [];
    const push = (number: number): Promise<boolean> =>
      stream.push(() => {
        made.push(number);
        return ["", `${number}`, ""];
      });
    const pushing = [push(1), push(2)];
    await new Promise(setImmediate);
    expect(made).toEqual([1]);
    await takeAll();
    expect(await Promise.all(pushing)).toEqual([true, true]);
    expect(made).toEqual([1, 2]);
  });

  it("ends when its client takes nothing for long", async () => {
    const { stream, closed, clock } = takenBy();
    void stream.push(() => ["", "1", ""]);
    await new Promise(setImmediate);
    for (let second = 0; second < 60; second += 1) {
      stream.checkLiveness({ pingMs: 30_000 });
      await clock.advance(1_000);
    }
    expect(closed).toEqual([]);
    stream.checkLiveness({ pingMs: 30_000 });
    expect(closed).toEqual(["behind"]);
  });
});
