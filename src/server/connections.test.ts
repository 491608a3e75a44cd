import { EventEmitter } from "node:events";
import type { Socket } from "node:net";
import { beforeEach, describe, expect, it } from "vitest";
import { Connections, Pipeline } from "./connections.ts";

class FakeSocket extends EventEmitter {
  destroyed = false;
  readonly remoteAddress: string;

  constructor(remoteAddress: string) {
    super();
    this.remoteAddress = remoteAddress;
  }

  destroy(): void {
    if (this.destroyed) return;
    this.destroyed = true;
    this.emit("close");
  }
}

let connections: Connections;
let ended: string[];
let count: () => unknown;

beforeEach(() => {
  ended = [];
  connections = new Connections(
    { most: 10, strangers: 8, perAddress: 4 },
    {
      isProxy: (address) => address === "10.9.9.9",
      metrics: {
        connectionEnded: (why) => void ended.push(why),
        connectionsCounted: (read) => {
          count = read;
        },
      },
    },
  );
});

const running = { end: () => undefined };

function open(address: string, as: "stranger" | "known" | "busy" = "stranger") {
  const socket = new FakeSocket(address);
  const admission = connections.admit(socket as unknown as Socket);
  if (as !== "stranger") connections.markAdmitted(socket as unknown as Socket);
  if (as === "busy") connections.requestsOn(socket as unknown as Socket)?.add(running);
  return { socket, admission };
}

const openMany = (many: number, as?: "stranger" | "known" | "busy") =>
  Array.from({ length: many }, (_, at) => open(`10.0.0.${at}`, as));
const whichEnded = (all: readonly { socket: FakeSocket }[]): number[] =>
  all.flatMap(({ socket }, at) => (socket.destroyed ? [at] : []));

describe("of ten places", () => {
  it("strangers get eight, and the oldest makes room for the next", () => {
    const all = openMany(12);
    expect(whichEnded(all)).toEqual([0, 1, 2, 3]);
    expect(count()).toEqual({ stranger: 8, known: 0 });
  });

  it("callers with a key get all, at the cost of strangers", () => {
    const strangers = openMany(8);
    const known = openMany(10, "known");
    expect(whichEnded(strangers)).toEqual([0, 1, 2, 3, 4, 5, 6, 7]);
    expect(whichEnded(known)).toEqual([]);
  });

  it("the next caller gets that of one who does not use it", () => {
    const busy = openMany(5, "busy");
    const idle = openMany(5, "known");
    expect(open("10.1.0.1").admission).toBe("admitted");
    expect(whichEnded(busy)).toEqual([]);
    expect(whichEnded(idle)).toEqual([0]);
  });

  it("while all are in use, a few more are let in, and those make room for each other", () => {
    const busy = openMany(10, "busy");
    const more = openMany(100);
    expect(more.every(({ admission }) => admission === "admitted")).toBe(true);
    expect(whichEnded(busy)).toEqual([]);
    expect(more.filter(({ socket }) => !socket.destroyed)).toHaveLength(1);
    expect(open("10.3.0.1", "busy").admission).toBe("admitted");
    openMany(7, "busy");
    expect(open("10.2.0.1").admission).toBe("full");
  });

  it("an address gets four, but for proxies", () => {
    const own = Array.from({ length: 6 }, () => open("2001:db8::1"));
    expect(whichEnded(own)).toEqual([0, 1]);
    for (const { socket } of own.slice(2)) connections.markAdmitted(socket as unknown as Socket);
    const neighbour = open("2001:db8::2", "busy"); // of the same /64
    expect(whichEnded(own)).toEqual([0, 1, 2]);
    for (const { socket } of own) connections.requestsOn(socket as unknown as Socket)?.add(running);
    expect(open("2001:db8::3").admission).toBe("too many of this address");
    expect(neighbour.socket.destroyed).toBe(false);
    expect(open("2001:db8:0:1::3").admission).toBe("admitted");
    const proxied = Array.from({ length: 4 }, () => open("10.9.9.9", "busy"));
    expect(open("10.9.9.9").admission).toBe("admitted");
    expect(whichEnded(proxied)).toEqual([]);
  });

  it("those that were left are free again", () => {
    for (const { socket } of openMany(10, "busy")) socket.destroy();
    expect(count()).toEqual({ stranger: 0, known: 0 });
    expect(ended).toEqual([]);
  });
});

it("ends strangers after their answer while places are scarce", () => {
  const [first] = openMany(7);
  const socket = first?.socket as unknown as Socket;
  expect(connections.endsAfterAnswer(socket)).toBe(false);
  open("10.1.1.1");
  expect(connections.endsAfterAnswer(socket)).toBe(true);
  connections.markAdmitted(socket);
  expect(connections.endsAfterAnswer(socket)).toBe(false);
});

it("ends what is under way on a connection that is lost", () => {
  const { socket } = open("10.0.0.1");
  const outcomes: boolean[] = [];
  const request = { end: (wasSent: boolean) => void outcomes.push(wasSent) };
  connections.requestsOn(socket as unknown as Socket)?.add(request);
  socket.destroy();
  expect(outcomes).toEqual([false]);
});

const AT_ONCE = 64;

function pipelined() {
  const said: string[] = [];
  const socket = {
    destroyed: false,
    pause: () => said.push("pause"),
    resume: () => said.push("resume"),
    destroy: () => said.push("destroy"),
  };
  const pipeline = new Pipeline(socket as never, { clock: { yield: async () => undefined } });
  return { pipeline, socket, said };
}

describe("the requests of one connection", () => {
  it("are worked on at once as far as there are not too many, without a promise", () => {
    const { pipeline, said } = pipelined();
    for (let index = 0; index < AT_ONCE; index += 1) expect(pipeline.begin()).toBeUndefined();
    expect(said).toEqual([]);
  });

  it("wait for earlier ones beyond that, in order, and no more are read meanwhile", async () => {
    const { pipeline, said } = pipelined();
    for (let index = 0; index < AT_ONCE; index += 1) void pipeline.begin();
    const begun: number[] = [];
    const turns = [1, 2].map(async (number) => {
      await pipeline.begin();
      begun.push(number);
    });
    expect(said).toEqual(["pause"]);
    pipeline.end();
    await turns[0];
    expect([begun, said]).toEqual([[1], ["pause"]]);
    pipeline.end();
    await turns[1];
    expect([begun, said]).toEqual([
      [1, 2],
      ["pause", "resume"],
    ]);
    for (let index = 0; index < AT_ONCE; index += 1) pipeline.end();
    expect(pipeline.begin()).toBeUndefined();
  });

  it("end the connection when they are more than anybody reads answers to", () => {
    const { pipeline, said } = pipelined();
    for (let index = 0; index <= AT_ONCE + 4_000; index += 1) void pipeline.begin();
    expect(said).toEqual(["pause", "destroy"]);
  });
});
