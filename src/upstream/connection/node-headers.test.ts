import { describe, expect, it } from "vitest";
import manifest from "../../../package.json" with { type: "json" };
import { handshakeHeaders, httpHeaders, isLocal } from "./node-headers.ts";

const name = `headgate/${manifest.version}`;

describe("the headers of a request to a node", () => {
  it("name the gateway, over HTTP and WebSocket", () => {
    expect(httpHeaders({ url: "http://a.example", headers: {} })["user-agent"]).toBe(name);
    expect(handshakeHeaders({ headers: {} })["user-agent"]).toBe(name);
  });

  it("are the operator's own where both have one", () => {
    const headers = { "User-Agent": "mine", "Accept-Encoding": "br" };
    const own = { "user-agent": "mine", "accept-encoding": "br" };
    expect(httpHeaders({ url: "http://a.example", headers })).toMatchObject(own);
    expect(handshakeHeaders({ headers })).toEqual(own);
  });

  it.each([
    ["https://rpc.example.com/key", "auto", true],
    ["http://127.0.0.1:8545", "auto", false],
    ["http://127.0.0.1:8545", "on", true],
    ["https://rpc.example.com/key", "off", false],
  ] as const)(
    "for %s and compression %s ask for a compressed answer: %s",
    (url, compression, asks) => {
      const headers = httpHeaders({ url, headers: {}, compression });
      expect(headers["accept-encoding"]).toBe(asks ? "gzip, br, zstd" : undefined);
    },
  );
});

describe("a link", () => {
  it.each([
    "localhost",
    "node.localhost",
    "geth",
    "127.0.0.2",
    "10.1.2.3",
    "172.16.0.1",
    "172.31.255.255",
    "192.168.1.1",
    "169.254.1.1",
    "100.64.0.1",
    "[::1]",
    "[fd00::1]",
    "[fe80::1]",
    "geth.default.svc.cluster.local",
    "node.internal",
    "[::ffff:10.0.0.1]",
    "geth.",
  ])("to %s is local", (host) => {
    expect(isLocal(new URL(`http://${host}:8545`))).toBe(true);
  });

  it.each([
    "example.com",
    "172.32.0.1",
    "11.0.0.1",
    "100.128.0.1",
    "8.8.8.8",
    "[2001:db8::1]",
    "localhost.example.com",
    "internal.example.com",
    "[::ffff:8.8.8.8]",
  ])("to %s is not", (host) => {
    expect(isLocal(new URL(`http://${host}`))).toBe(false);
  });
});
