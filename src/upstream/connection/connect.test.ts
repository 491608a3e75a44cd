import { afterEach, describe, expect, it } from "vitest";
import { httpNode, ipcNode, webSocketNode } from "../../../test/support/fake-node.ts";
import { systemClock } from "../../lib/clock.ts";
import { BatchSizes } from "../capabilities/batch-sizes.ts";
import { connect } from "./connect.ts";
import type { Connection, Exchange, SharedTurn } from "./connection.ts";

const LIMITS = { headers: {}, connections: 2, timeoutMs: 5_000, responseBytes: 1_000 };
const never = new AbortController().signal;
const call = (id: number) => ({
  id,
  json: `{"jsonrpc":"2.0","id":${id},"method":"m"}`,
});
const result = (id: number): string => `{"id":${id},"result":1}`;
const undo: (() => unknown)[] = [];
afterEach(async () => {
  for (const step of undo.splice(0).reverse()) await step();
});

function connected(
  { url, close }: { url: string; close: () => unknown },
  batch?: number,
): Connection {
  const sizes = new BatchSizes({ configured: batch }, { clock: systemClock });
  const connection = connect({ ...LIMITS, url, batch }, { clock: systemClock, sizes });
  undo.push(close, () => connection.close());
  return connection;
}

/** A node that answers single calls and batches; `bodies` has its requests. */
async function noting() {
  const bodies: string[] = [];
  const node = await httpNode(async (incoming, response) => {
    const body = (await incoming.toArray()).join("");
    bodies.push(body);
    const request = JSON.parse(body) as { id: number } | { id: number }[];
    if (!Array.isArray(request)) response.end(result(request.id));
    else response.end(`[${request.map(({ id }) => result(id)).join()}]`);
  });
  return { ...node, bodies };
}

const textOf = (exchange: Exchange): string =>
  exchange.kind === "answered" ? String(exchange.body) : exchange.kind;
const send = (connection: Connection, ids: readonly number[]): Promise<string[]> => {
  const turn: SharedTurn = { group: "state", calls: ids.length, room: 0 };
  return Promise.all(ids.map((id) => connection.send({ ...call(id), turn }, never).then(textOf)));
};

describe("a URL with", () => {
  it.each([
    ["http", noting, false],
    ["ws", () => webSocketNode((socket, id) => socket.send(result(id))), true],
    ["ipc", () => ipcNode((socket, id) => socket.write(result(id))), true],
  ])("%s reaches its node", async (scheme, start, canPush) => {
    const node = await start();
    const url = node.url.replace(/^[a-z]+/, (text) => text.toUpperCase());
    expect(node.url.startsWith(`${scheme}:`)).toBe(true);
    const connection = connected({ ...node, url });
    expect(await send(connection, [1])).toEqual([result(1)]);
    expect(connection.subscribe !== undefined).toBe(canPush);
  });
});

describe("calls of one moment over HTTP", () => {
  it("are a request each when the batch is 1", async () => {
    const node = await noting();
    await send(connected(node, 1), [1, 2]);
    expect(node.bodies.toSorted()).toEqual([call(1).json, call(2).json]);
  });

  it.each([undefined, 2])("are one request when the batch is %j", async (batch) => {
    const node = await noting();
    expect(await send(connected(node, batch), [1, 2])).toEqual([result(1), result(2)]);
    expect(node.bodies).toEqual([`[${call(1).json},${call(2).json}]`]);
  });

  it("tell how many the node takes, when it does not take as many", async () => {
    const node = await httpNode((_, response) => response.writeHead(413).end());
    const learned: number[] = [];
    const sizes = new BatchSizes(
      { configured: 8 },
      { clock: systemClock, onLimited: (size) => learned.push(size) },
    );
    const connection = connect(
      { ...LIMITS, url: node.url, batch: 8 },
      { clock: systemClock, sizes },
    );
    undo.push(node.close, () => connection.close());
    await send(connection, [1, 2, 3, 4, 5]);
    expect(learned).toEqual([2]);
  });
});
