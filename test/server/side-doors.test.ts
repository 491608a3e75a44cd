// Requests that take their connection away, an upgrade or a tunnel, behind a request that is not answered yet: they end
// that connection. The process goes on, and no answer lies inside a WebSocket's stream.
import { connect, type Socket } from "node:net";
import { connect as connectSecurely } from "node:tls";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { Certificates, hasOpenssl } from "../support/certificates.ts";
import { type RunningGateway, startGatewayProcess } from "../support/gateway-process.ts";
import { readToEnd } from "../support/raw-http.ts";
import { result, type ScriptedNode, startScriptedNode } from "../support/scripted-node.ts";

const PATH = "/main/v1/test-key";
const lines = (...all: readonly string[]): string => `${all.join("\r\n")}\r\n\r\n`;
const upgrade = (path: string, version = 13): string =>
  lines(
    ...[`GET ${path} HTTP/1.1`, "Host: a", "Upgrade: websocket", "Connection: Upgrade"],
    ...["Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==", `Sec-WebSocket-Version: ${version}`],
  );
const CALL = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "eth_gasPrice", params: [] });
const POST = `${lines(`POST ${PATH} HTTP/1.1`, "Host: a", `Content-Length: ${CALL.length}`)}${CALL}`;

const FIRST = {
  "a health probe": lines("GET /readyz HTTP/1.1", "Host: a"),
  "a call that no node answers": POST,
  "two calls that no node answers": POST + POST,
  "a preflight": lines(`OPTIONS ${PATH} HTTP/1.1`, "Host: a", "Origin: http://a"),
};
const SECOND = {
  "an upgrade to nowhere": upgrade("/nowhere/at/all"),
  "an upgrade with a wrong key": upgrade("/main/v1/wrong"),
  "an upgrade with a right key": upgrade(PATH),
  "an upgrade that is malformed": upgrade(PATH, 7),
  "an upgrade without a host": upgrade(PATH).replace("Host: a\r\n", ""),
  "a tunnel": lines("CONNECT a:80 HTTP/1.1", "Host: a:80"),
  "bytes that are no request": "\x00\x01\x02\r\n\r\n",
};
const rows = Object.entries(FIRST).flatMap(([first, before]) =>
  Object.entries(SECOND).map(([second, behind]) => ({ first, second, bytes: before + behind })),
);

describe.each(["plain", "secure"])("on a %s connection", (kind) => {
  const isSecure = kind === "secure";
  if (isSecure && !hasOpenssl) return;
  let gateway: RunningGateway;
  let node: ScriptedNode;
  let made: Certificates | undefined;
  let pid: number | undefined;

  beforeAll(async () => {
    node = await startScriptedNode((call) =>
      call.method === "eth_gasPrice" ? undefined : result(call, '"0x1"'),
    );
    made = isSecure ? new Certificates() : undefined;
    made?.authority("ca");
    const upstreams = [{ url: node.url }];
    gateway = await startGatewayProcess({
      ...(made && { listen: { port: 0, tls: made.signed("here", "ca") } }),
      networks: { main: { family: "evm", chainId: 1, window: { blocks: 0 }, upstreams } },
    });
    pid = gateway.process.pid;
  });
  afterAll(async () => {
    expect(await gateway.stop()).toBe(0);
    await node.close();
    made?.remove();
  });

  /** @returns All bytes that come until the gateway ends the connection. */
  async function send(bytes: string, url = gateway.url): Promise<string> {
    const { port, protocol } = new URL(url);
    const socket: Socket =
      protocol === "https:"
        ? connectSecurely({ port: Number(port), host: "127.0.0.1", rejectUnauthorized: false })
        : connect(Number(port), "127.0.0.1");
    socket.write(bytes);
    return readToEnd(socket);
  }
  const probe = lines("GET /healthz HTTP/1.1", "Host: a", "Connection: close");
  async function expectUnharmed(): Promise<void> {
    expect(await send(probe)).toContain("200 OK");
    expect(gateway.process).toMatchObject({ pid, exitCode: null, signalCode: null });
    const messages = gateway.log.map(({ msg }) => msg);
    expect(messages.filter((msg) => msg === "listening")).toHaveLength(1);
    expect(messages).not.toContain("an unexpected error");
    expect(messages).not.toContain("a callback of the server failed: its connection was ended");
  }

  it.each(rows)("$second behind $first ends it", async ({ bytes }) => {
    expect(await send(bytes)).toBe("");
    await expectUnharmed();
  });

  it.each(Object.entries(SECOND))("%s behind an event stream ends it", async (_, behind) => {
    const stream = `${PATH}/events?stream=newPendingTransactions`;
    const answer = await send(lines(`GET ${stream} HTTP/1.1`, "Host: a") + behind);
    expect(answer).not.toContain("101 Switching");
    expect(answer.split("HTTP/1.1 ").length).toBeLessThanOrEqual(2);
    await expectUnharmed();
  });

  it("on the admin port, a tunnel or broken bytes behind a request end it, too", async () => {
    const admin = new URL(gateway.metricsUrl).origin;
    for (const behind of [SECOND["a tunnel"], SECOND["bytes that are no request"]])
      expect(await send(lines("GET /metrics HTTP/1.1", "Host: a") + behind, admin)).toBe("");
    await expectUnharmed();
  });

  it("a hundred of them are one connection each", async () => {
    const bytes = FIRST["a health probe"] + SECOND["an upgrade to nowhere"];
    const all = await Promise.all(Array.from({ length: 100 }, () => send(bytes)));
    expect(new Set(all)).toEqual(new Set([""]));
    await expectUnharmed();
  });
});
