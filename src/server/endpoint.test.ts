import { describe, expect, it } from "vitest";
import { hostResolver, routeOf } from "./endpoint.ts";

describe("routeOf", () => {
  it.each([
    ["/v1/demo", { kind: "endpoint", network: undefined, key: "demo" }],
    ["/v1/demo/", { kind: "endpoint", network: undefined, key: "demo" }],
    ["/v1/demo?x=/y", { kind: "endpoint", network: undefined, key: "demo" }],
    ["/v1", { kind: "endpoint", network: undefined, key: undefined }],
    ["/v1/", { kind: "endpoint", network: undefined, key: undefined }],
    ["/eth-mainnet/v1/demo", { kind: "endpoint", network: "eth-mainnet", key: "demo" }],
    ["/ETH-mainnet/v1", { kind: "endpoint", network: "eth-mainnet", key: undefined }],
    ["/v1/de%6do", { kind: "endpoint", network: undefined, key: "demo" }],
    ["/v1/%zz", { kind: "endpoint", network: undefined, key: "%zz" }],
    ["/v1/demo/events?stream=newHeads", { kind: "events", network: undefined, key: "demo" }],
    ["/Main/v1/demo/events", { kind: "events", network: "main", key: "demo" }],
    ["/v1/events", { kind: "endpoint", network: undefined, key: "events" }],
    ["/v1/events/events", { kind: "events", network: undefined, key: "events" }],
    ["/events", { kind: "unknown" }],
    ["/v1/demo/events/more", { kind: "unknown" }],
    ["/healthz", { kind: "health" }],
    ["/readyz?verbose", { kind: "readiness" }],
    ["/", { kind: "unknown" }],
    ["", { kind: "unknown" }],
    ["*", { kind: "unknown" }],
    ["/v2/demo", { kind: "unknown" }],
    ["/v1/demo/more", { kind: "unknown" }],
    ["/a/b/v1/demo", { kind: "unknown" }],
  ])("%s", (url, want) => {
    expect(routeOf(url)).toEqual(want);
  });
});

describe("hostResolver", () => {
  const resolve = hostResolver([
    { name: "eth-mainnet", hosts: undefined },
    { name: "base", hosts: ["base.rpc.example.com"] },
  ]);

  it.each([
    ["eth-mainnet.example.com", "eth-mainnet"],
    ["ETH-Mainnet.anything:8545", "eth-mainnet"],
    ["eth-mainnet", "eth-mainnet"],
    ["base.rpc.example.com.", "base"],
    ["base.example.com", undefined], // its hosts are configured: only those
    ["eth-mainnet2.example.com", undefined],
    ["127.0.0.1:8545", undefined],
    ["[::1]:8545", undefined],
    ["__proto__", undefined],
    ["", undefined],
    [undefined, undefined],
  ])("%s is %s", (host, want) => {
    expect(resolve(host)).toBe(want);
  });
});
