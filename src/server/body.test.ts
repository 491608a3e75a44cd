import { once } from "node:events";
import { createServer, type IncomingMessage } from "node:http";
import { type AddressInfo, connect } from "node:net";
import { afterEach, describe, expect, it } from "vitest";
import { MemoryBudget } from "../lib/memory-budget.ts";
import { CALLER_GONE, paidBody, readBody } from "./body.ts";

const MB = 2 ** 20;

describe("a request's body", () => {
  const closes: (() => void)[] = [];
  afterEach(() => {
    for (const close of closes.splice(0)) close();
  });

  /** Sends half of a body of one MiB over each connection. @returns The errors with which bodies are refused. */
  async function sendHalfBodies(connections: number, memory: MemoryBudget): Promise<unknown[]> {
    const scope = { hold: (kind: "bodies", bytes: number) => memory.hold(kind, bytes) } as never;
    const outcomes: unknown[] = [];
    const decompression = { decompress: () => Promise.reject(new Error("nothing is compressed")) };
    const server = createServer((request) => {
      const read = readBody({ request, scope }, { bytes: MB }, { memory, decompression });
      void read.catch((error: Error) => outcomes.push(error.message));
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const { port } = server.address() as AddressInfo;
    const sockets = Array.from({ length: connections }, () => connect(port, "127.0.0.1"));
    closes.push(() => {
      for (const socket of sockets) socket.destroy();
      server.close();
    });
    const half = Buffer.alloc(MB / 2, " ");
    await Promise.all(
      sockets.map(
        (socket) =>
          new Promise((resolve) => {
            socket.write(`POST / HTTP/1.1\r\nHost: a\r\nContent-Length: ${MB}\r\n\r\n`);
            socket.write(half, resolve);
          }),
      ),
    );
    while (memory.waiting < (connections * MB) / 2 && outcomes.length === 0)
      await new Promise(setImmediate);
    return outcomes;
  }

  it("is counted while it comes", async () => {
    const memory = new MemoryBudget({ bytes: 10 * MB }, { onRefused: () => undefined });
    expect(await sendHalfBodies(4, memory)).toEqual([]);
    expect(memory.waitingAs("bodies")).toBe(2 * MB);
  });

  it("is refused above the budget, however slowly all of them come", async () => {
    const memory = new MemoryBudget({ bytes: MB }, { onRefused: () => undefined });
    const outcomes = await sendHalfBodies(8, memory);
    expect(outcomes[0]).toContain("too many answers waiting");
    expect(memory.waiting).toBeLessThan(3 * MB);
  });

  it("has no caller any more who left while its key was asked for a reservation", async () => {
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const socket = connect((server.address() as AddressInfo).port, "127.0.0.1");
    closes.push(() => server.close());
    socket.write(`POST / HTTP/1.1\r\nHost: a\r\nContent-Length: ${MB}\r\n\r\n{`);
    const [request] = (await once(server, "request")) as [IncomingMessage];
    const meter = {
      charge: async () => {
        socket.destroy();
        await new Promise((resolve) => request.on("close", resolve));
        return undefined;
      },
    };
    const body = paidBody(
      { request, scope: { hold: () => undefined } },
      { bytes: MB, network: "main", grant: { meter, usage: { recordUnits: () => undefined } } },
      {
        memory: new MemoryBudget({ bytes: MB }, { onRefused: () => undefined }),
        decompression: { decompress: () => Promise.reject(new Error("nothing is compressed")) },
        clock: { now: () => 0 },
      },
    );
    expect(await body).toBe(CALLER_GONE);
  });
});
