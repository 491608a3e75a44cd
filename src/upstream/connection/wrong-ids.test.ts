import { describe, expect, it, onTestFinished } from "vitest";
import { FakeClock } from "../../../test/support/fake-clock.ts";
import { webSocketNode } from "../../../test/support/fake-node.ts";
import { Turns } from "../../lib/turns.ts";
import { NodeRequests } from "../node-requests.ts";
import { webSocketConnection } from "./websocket-connection.ts";

describe("a node that counts wrong over one socket", () => {
  it.each([1, -1])("gives no call the answer to another one: off by %i", async (off) => {
    const heard = Promise.withResolvers<void>();
    const node = await webSocketNode((socket, id, seen) => {
      socket.send(`{"jsonrpc":"2.0","id":${id + off},"result":"to ${id}"}`);
      if (seen.length === 3) socket.once("pong", () => heard.resolve()).ping();
    });
    onTestFinished(node.close);
    const clock = new FakeClock();
    const connection = webSocketConnection(
      { url: node.url, headers: {}, connections: 1, timeoutMs: 1_000, responseBytes: 1_000 },
      { clock },
    );
    onTestFinished(() => connection.close());
    const metrics = { upstreamAnswered: () => undefined };
    const turns = new Turns({ clock });
    const requests = new NodeRequests(
      { network: "n", upstream: "a" },
      { clock, connection, metrics, turns },
    );
    const { signal } = new AbortController();
    const ask = () =>
      requests.send(
        { method: "m", paramsJson: "[]", signal, options: {} },
        { sentAtMs: clock.now() },
        ({ reply }) => reply,
      );
    const asked = [ask(), ask(), ask()];
    await heard.promise;
    await clock.advance(1_000);
    const replies = await Promise.all(asked);
    expect(replies).toEqual(asked.map(() => ({ kind: "timeout" })));
  });
});
