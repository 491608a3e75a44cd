import { describe, expect, it } from "vitest";
import { hostResolver, requestRoute, routeOf } from "./endpoint.ts";

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

describe("requestRoute", () => {
  const keyOf = (url: string, headers: Record<string, string>): unknown => {
    const route = requestRoute({ url, headers, rawHeaders: Object.entries(headers).flat() });
    return "key" in route ? route.key : route.kind;
  };

  it.each([
    ["/v1", { authorization: "Bearer abc" }, "abc"],
    ["/v1/", { authorization: "bearer  abc " }, "abc"],
    ["/main/v1", { "x-api-key": "abc" }, "abc"],
    ["/main/v1/events?stream=newHeads", { "x-api-key": "abc" }, "abc"],
    ["/v1/events", {}, "events"],
    ["/v1/abc/events", { "x-api-key": "abc" }, "abc"],
    ["/v1/abc", { authorization: "Bearer abc", "x-api-key": "abc" }, "abc"],
    ["/v1/abc", { authorization: "Bearer abd" }, "two keys"],
    ["/v1/abc", { "x-api-key": "abd" }, "two keys"],
    ["/v1", { authorization: "Bearer abc", "x-api-key": "abd" }, "two keys"],
    ["/v1/abc", { authorization: "Basic dXNlcjpwYXNz" }, "abc"],
    ["/v1", { authorization: "Basic dXNlcjpwYXNz", "x-api-key": "abc" }, "abc"],
    ["/v1", { authorization: "Bearer", "x-api-key": "" }, undefined],
    ["/v1", { authorization: "Bearer a b" }, undefined],
    ["/healthz", { authorization: "Bearer abc", "x-api-key": "abd" }, "health"],
  ])("%s with %j", (url, headers, want) => {
    expect(keyOf(url, headers)).toBe(want);
  });

  it("has no key of two Authorization headers, of which node tells the first", () => {
    const headers = { authorization: "Bearer abc" };
    const rawHeaders = ["Authorization", "Bearer abc", "AUTHORIZATION", "Bearer abd"];
    expect(requestRoute({ url: "/v1", headers, rawHeaders })).toEqual({ kind: "two keys" });
  });
});

it("a stream of events needs no key in its path", () => {
  const asked = { url: "/v1/events", headers: { "x-api-key": "abc" }, rawHeaders: [] };
  expect(requestRoute(asked)).toEqual({ kind: "events", network: undefined, key: "abc" });
});

describe("hostResolver", () => {
  const resolve = hostResolver({
    "eth-mainnet": { hosts: undefined },
    base: { hosts: ["base.rpc.example.com"] },
  });

  it.each([
    ["eth-mainnet.example.com", "eth-mainnet"],
    ["ETH-Mainnet.anything:8545", "eth-mainnet"],
    ["eth-mainnet", "eth-mainnet"],
    ["base.rpc.example.com.", "base"],
    ["base.example.com", undefined], // `base` has configured hosts, and this host is none of them
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
