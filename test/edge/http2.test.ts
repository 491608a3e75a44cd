// HTTP/2 at the callers' port of the real gateway: undici and node's own client, event streams, and callers that reset
// streams, read slowly, or break the protocol.
import { once } from "node:events";
import { type ClientHttp2Session, connect, constants } from "node:http2";
import { type ConnectionOptions, connect as connectTls } from "node:tls";
import { Agent, fetch as undiciFetch } from "undici";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { anvilCommand } from "../../packages/devnet/src/node-process.ts";
import { mine } from "../support/anvil-chain.ts";
import { type AnvilNode, startAnvil } from "../support/anvil-node.ts";
import { Certificates, hasOpenssl } from "../support/certificates.ts";
import { type RunningGateway, startGatewayProcess } from "../support/gateway-process.ts";
import { until } from "../support/processes.ts";
import { result, type ScriptedNode, startScriptedNode } from "../support/scripted-node.ts";
import { stopwatch } from "../support/served-time.ts";

const CALL = '{"jsonrpc":"2.0","id":1,"method":"eth_gasPrice"}';
const ANSWER = '{"jsonrpc":"2.0","id":1,"result":"0x10"}';
const LARGE = "ab".repeat(2_000_000);
const JSON_TYPE = { "content-type": "application/json" };
const isHere = hasOpenssl && anvilCommand({ port: 1, chainId: 1 }) !== undefined;

describe.skipIf(!isHere)("HTTP/2", () => {
  let made: Certificates;
  let ca: string;
  let node: ScriptedNode;
  let anvil: AnvilNode;
  let gateway: RunningGateway;
  let path: string;

  beforeAll(async () => {
    made = new Certificates();
    ca = made.read(made.authority("ca"));
    const tls = made.signed("used", "ca");
    node = await startScriptedNode((call) =>
      result(call, call.method === "eth_call" ? `"0x${LARGE}"` : '"0x10"'),
    );
    anvil = (await startAnvil()) as AnvilNode;
    gateway = await startGatewayProcess({
      listen: { port: 0, tls },
      timeouts: { headers: "3s", body: "500ms", idle: "3s" },
      limits: { reading: { atLeast: "1KiB", over: "2s" } },
      keys: [
        { name: "test", key: "test-key" },
        { name: "page", key: "page-key", origins: ["https://app.example.com"] },
      ],
      networks: {
        main: {
          ...{ family: "evm", chainId: 1, window: { blocks: 0 } },
          upstreams: [{ url: node.url }],
        },
        anvil: { family: "evm", chainId: anvil.chainId, upstreams: [{ url: anvil.url }] },
      },
    });
    path = new URL(gateway.endpoint("main")).pathname;
  });
  afterAll(async () => {
    await gateway.stop();
    await anvil.close();
    await node.close();
    made.remove();
  });

  const opened = (localAddress = "127.0.0.1"): ClientHttp2Session => {
    const port = Number(new URL(gateway.url).port);
    const createConnection = () =>
      connectTls({
        ...{ host: "127.0.0.1", port, localAddress, ca },
        ...{ servername: "localhost", ALPNProtocols: ["h2"] },
      });
    return connect("https://localhost", { createConnection }).on("error", () => undefined);
  };
  type Reply = { status: number | undefined; headers: Record<string, unknown>; text: string };
  const asked = async (
    session: ClientHttp2Session,
    { body = CALL, ...headers }: Record<string, string> = {},
  ): Promise<Reply> => {
    const whole = { ":path": path, ":method": "POST", ...JSON_TYPE, ...headers };
    const stream = session.request(whole);
    stream.end(whole[":method"] === "POST" ? body : undefined);
    const [answered] = await once(stream, "response");
    let text = "";
    for await (const chunk of stream) text += chunk;
    return { status: answered[":status"], headers: answered, text };
  };
  const ended = (session: ClientHttp2Session): Promise<void> =>
    new Promise((resolve) => session.once("close", resolve));
  const metric = async (name: string): Promise<number> => {
    const text = await (await fetch(gateway.metricsUrl)).text();
    const line = text.split("\n").find((each) => each.startsWith(name));
    return Number(line?.split(" ").at(-1) ?? 0);
  };

  /** A connection for frames that no client library would send. */
  const byHand = async () => {
    const port = Number(new URL(gateway.url).port);
    const tls = { host: "127.0.0.1", port, localAddress: "127.0.0.7", ca };
    const socket = connectTls({ ...tls, servername: "localhost", ALPNProtocols: ["h2"] });
    socket.on("error", () => undefined).resume();
    await once(socket, "secureConnect");
    let isOver = false;
    const over = new Promise<void>((resolve) => socket.once("close", resolve)).then(() => {
      isOver = true;
    });
    socket.write("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
    socket.write(frame(4, 0, 0));
    let written = 0;
    return {
      isOver: () => isOver,
      over,
      /** Resolves when the socket takes more bytes, or the connection is closed. */
      write: async (bytes: Buffer): Promise<void> => {
        written += 1;
        const isTaken = socket.write(bytes);
        if (!isTaken)
          await Promise.race([over, new Promise((resolve) => socket.once("drain", resolve))]);
        if (written % 20 === 0) await new Promise((resolve) => setImmediate(resolve));
      },
    };
  };

  it("answers as HTTP/1.1 does, over undici", async () => {
    const dispatcher = new Agent({
      allowH2: true,
      connections: 4,
      connect: { ca, servername: "localhost" },
    });
    const ask = async (url: string, init: object = {}) =>
      undiciFetch(url, { dispatcher, method: "POST", headers: JSON_TYPE, body: CALL, ...init });
    const answers = await Promise.all(
      Array.from({ length: 200 }, async () => (await ask(gateway.endpoint("main"))).text()),
    );
    expect(new Set(answers)).toEqual(new Set([ANSWER]));
    const large = await ask(gateway.endpoint("main"), {
      body: '{"jsonrpc":"2.0","id":1,"method":"eth_call","params":[{"to":"0x0000000000000000000000000000000000000001"},"latest"]}',
    });
    expect((await large.text()).length).toBe(
      LARGE.length + '{"jsonrpc":"2.0","id":1,"result":"0x"}'.length,
    );
    const wrong = await ask(gateway.endpoint("main", "wrong-key"));
    expect(wrong.status).toBe(401);
    await dispatcher.close();
  });

  it("is agreed on by ALPN, and has keys in headers, pages, health and refusals", async () => {
    const session = opened();
    await once(session, "connect");
    expect(session.alpnProtocol).toBe("h2");
    expect(await asked(session)).toMatchObject({ status: 200, text: ANSWER });
    const byHeader = await asked(session, {
      ":path": "/main/v1",
      authorization: "Bearer test-key",
    });
    expect(byHeader).toMatchObject({ status: 200, text: ANSWER });
    const origin = "https://app.example.com";
    const preflight = await asked(session, {
      ":method": "OPTIONS",
      ":path": "/main/v1/page-key",
      origin,
      "access-control-request-headers": "x-viem",
    });
    expect(preflight.headers["access-control-allow-headers"]).toContain("x-viem");
    expect(preflight).toMatchObject({
      status: 204,
      headers: { "access-control-allow-origin": origin },
    });
    const ofPage = await asked(session, { ":path": "/main/v1/page-key", origin });
    expect(ofPage.headers["access-control-allow-origin"]).toBe(origin);
    expect(await asked(session, { ":method": "GET", ":path": "/healthz" })).toMatchObject({
      ...{ status: 200, text: "ok\n" },
    });
    expect((await asked(session, { ":path": "/nothing" })).status).toBe(404);
    expect((await asked(session, { ":method": "PUT" })).headers).toMatchObject({
      ":status": 405,
      allow: "POST, OPTIONS",
    });
    expect(
      (await asked(session, { ":authority": "localhost", host: "other.example.com" })).text,
    ).toContain("one Host header");
    expect(
      (await asked(session, { ":authority": "main.example.com", ":path": "/v1/test-key" })).status,
    ).toBe(200);
    expect((await asked(session, { body: "x".repeat(1_100_000) })).status).toBe(413);
    expect((await asked(session, { expect: "a-miracle" })).text).toBe(ANSWER);
    const tunnel = session.request({ ":method": "CONNECT", ":authority": "other.example:443" });
    const [refused] = await once(tunnel, "response");
    expect(refused).toMatchObject({ ":status": 404, "x-request-id": expect.any(String) });
    tunnel.close(); // the session still waits for this stream until the caller closes it: see the last test
    const gone = session.request({ ":path": path, ":method": "POST", ...JSON_TYPE });
    gone.write("{");
    gone.close(constants.NGHTTP2_CANCEL);
    expect((await asked(session)).status).toBe(200);
    session.close();
  });

  it("has several streams of events over one connection, beside calls", async () => {
    const session = opened();
    const streams = [1, 2].map(() =>
      session.request({ ":path": "/anvil/v1/test-key/events?stream=newHeads" }),
    );
    const texts = streams.map(() => "");
    for (const [at, stream] of streams.entries())
      stream.setEncoding("utf8").on("data", (chunk) => {
        texts[at] += chunk;
      });
    await until("both are subscribed", async () =>
      texts.every((text) => text.includes("event: subscribed")) ? true : undefined,
    );
    await mine(anvil, 1);
    await until("both are told of the block", async () =>
      texts.every((text) => text.includes("event: newHeads")) ? true : undefined,
    );
    expect((await asked(session)).text).toBe(ANSWER);
    expect(await metric("headgate_websockets ")).toBe(2);
    streams[0]?.close();
    await until(
      "one is gone",
      async () => (await metric("headgate_websockets ")) === 1 || undefined,
    );
    session.destroy();
    await until(
      "none is left",
      async () => (await metric("headgate_websockets ")) === 0 || undefined,
    );
  });

  it("ends a session that resets stream after stream, and serves others", async () => {
    const raw = await byHand();
    const text = (value: string) =>
      Buffer.concat([Buffer.from([value.length]), Buffer.from(value)]);
    // HPACK: POST, https, and :authority, :path and content-type as literals (RFC 7541).
    const headers = Buffer.concat([
      ...[Buffer.from([0x83, 0x87, 0x41]), text("localhost")],
      ...[Buffer.from([0x44]), text(path), Buffer.from([0x5f]), text("application/json")],
    ]);
    let resets = 0;
    while (!raw.isOver() && resets < 20_000) {
      const id = 2 * resets + 1;
      resets += 1;
      await raw.write(
        Buffer.concat([frame(1, 4, id, headers), frame(3, 0, id, Buffer.from([0, 0, 0, 8]))]),
      );
    }
    await raw.over;
    // The number of the requests that the server began.
    expect(await metric('headgate_http_requests_total{status="499"}')).toBeLessThan(1_000);
    expect(await metric('headgate_http2_ended_total{why="protocol"}')).toBeGreaterThanOrEqual(1);
    const other = opened();
    expect((await asked(other)).text).toBe(ANSWER);
    other.close();
  });

  it("bounds streams at once, headers, and CONTINUATION frames without end", async () => {
    const session = opened("127.0.0.7");
    await once(session, "remoteSettings");
    expect(session.remoteSettings.maxConcurrentStreams).toBe(100);
    const many = Object.fromEntries(Array.from({ length: 150 }, (_, at) => [`x-${at}`, "y"]));
    const refused = session.request({ ":path": path, ":method": "POST", ...JSON_TYPE, ...many });
    refused.on("error", () => undefined);
    await new Promise((resolve) => refused.once("close", resolve));
    session.destroy();

    const raw = await byHand();
    await raw.write(frame(1, 0, 1));
    let frames = 0;
    while (!raw.isOver() && frames < 100_000) {
      frames += 1;
      await raw.write(frame(9, 0, 1, Buffer.alloc(100, 0x40)));
    }
    expect(frames).toBeLessThan(50_000);
  });

  it("cuts off a stream whose answer is not taken, a body that does not end, and a session without any", async () => {
    const idle = opened();
    expect((await asked(idle)).text).toBe(ANSWER);
    const isIdle = ended(idle);
    const session = opened();
    const endless = session.request({ ":path": path, ":method": "POST", ...JSON_TYPE });
    endless.on("error", () => undefined).write("{");
    const isEndless = new Promise((resolve) => endless.once("close", resolve));
    const held = session.request({ ":path": path, ":method": "POST", ...JSON_TYPE });
    held.on("error", () => undefined);
    held.end(
      '{"jsonrpc":"2.0","id":1,"method":"eth_call","params":[{"to":"0x0000000000000000000000000000000000000002"},"latest"]}',
    );
    held.pause();
    const isCut = new Promise((resolve) => held.once("close", resolve));
    await once(held, "response");
    // The gateway answers other streams of the session meanwhile.
    const beside = setInterval(() => void asked(session).catch(() => undefined), 200);
    await until(
      "it is cut off",
      async () => (await metric('headgate_answers_cut_total{why="slow"}')) >= 1 || undefined,
    );
    expect((await asked(session)).text).toBe(ANSWER);
    held.resume();
    await isCut;
    await isEndless;
    expect(await metric('headgate_http2_ended_total{why="slow"}')).toBe(1);
    clearInterval(beside);
    await isIdle;
    session.close();
    expect(await metric('headgate_http2_ended_total{why="idle"}')).toBeGreaterThanOrEqual(1);
  });

  it("drains: running calls end, sessions with them, and the exit code is 0", async () => {
    const session = opened();
    const events = session.request({ ":path": "/anvil/v1/test-key/events?stream=newHeads" });
    let text = "";
    events.setEncoding("utf8").on("data", (chunk) => {
      text += chunk;
    });
    await until("it is subscribed", async () => text.includes("event: subscribed") || undefined);
    // A refused WebSocket whose caller never closes its half of the connection.
    const port = Number(new URL(gateway.url).port);
    const tls = { host: "127.0.0.1", port, ca, servername: "localhost" };
    const halfOpen = connectTls({ ...tls, allowHalfOpen: true } as ConnectionOptions);
    halfOpen.on("error", () => undefined);
    const upgrade = "Connection: Upgrade\r\nUpgrade: websocket\r\n\r\n";
    halfOpen.write(`GET /nothing HTTP/1.1\r\nHost: x\r\n${upgrade}`);
    expect(String((await once(halfOpen, "data"))[0])).toContain("404 Not Found");
    const elapsedMs = stopwatch(gateway.process);
    expect(await gateway.stop()).toBe(0);
    expect(elapsedMs()).toBeLessThan(5_000);
    expect(text).toContain('event: close\ndata: {"code":1012');
    session.destroy();
    halfOpen.destroy();
  });
});

/** A frame (RFC 9113 §4.1). */
function frame(type: number, flags: number, id: number, payload = Buffer.alloc(0)): Buffer {
  const head = Buffer.alloc(9);
  head.writeUIntBE(payload.length, 0, 3);
  head.writeUInt8(type, 3);
  head.writeUInt8(flags, 4);
  head.writeUInt32BE(id, 5);
  return Buffer.concat([head, payload]);
}
