import { describe, expect, it } from "vitest";
import { parseConfig } from "./parse-config.ts";
import { state } from "./state-settings.ts";

const common = { isEncrypted: false, database: 0, prefix: "headgate" };
const host = (name: string, port: number) => ({ host: name, port });

describe("the URL of the shared state", () => {
  it.each([
    { url: "redis://cache", want: { kind: "single", hosts: [host("cache", 6379)] } },
    { url: "valkey://cache", want: { kind: "single", hosts: [host("cache", 6379)] } },
    {
      url: "rediss://gate:pa%40ss@cache:6380/2?prefix=test",
      want: {
        kind: "single",
        hosts: [host("cache", 6380)],
        isEncrypted: true,
        user: "gate",
        password: "pa@ss",
        database: 2,
        prefix: "test",
      },
    },
    { url: "redis://:p@ss%@[::1]:1", want: { hosts: [host("::1", 1)], password: "p@ss%" } },
    {
      url: "redis-sentinel://:s3cr3t@one,two:26380/gates?db=1&sentinelPassword=other",
      want: {
        kind: "sentinel",
        hosts: [host("one", 26_379), host("two", 26_380)],
        masterName: "gates",
        password: "s3cr3t",
        sentinelPassword: "other",
        database: 1,
      },
    },
    {
      url: "valkeys-cluster://one:7000,two",
      want: { kind: "cluster", isEncrypted: true, hosts: [host("one", 7000), host("two", 6379)] },
    },
  ])("$url is understood", ({ url, want }) => {
    expect(state.parse(url)).toEqual({ kind: "single", ...common, ...want });
  });

  it.each([
    { url: "http://cache", message: "must be a URL such as redis://host:6379" },
    { url: "redis://", message: "must be a URL such as" },
    { url: "redis://:pa/ss@cache", message: "must have host:port" },
    { url: "redis://cache:70000", message: "must have host:port" },
    {
      url: "redis://one,two",
      message: "must begin with redis-sentinel:// or redis-cluster://, since it has several hosts",
    },
    { url: "redis://cache/first", message: "must have the number of a database" },
    { url: "redis-sentinel://one", message: "must have the name of the master" },
    { url: "redis-cluster://one/1", message: "must not name a database other than 0" },
    { url: "redis://cache?prefix=a{b}", message: "must have a prefix" },
    { url: "redis://cache?sentinelPassword=pa/ss", message: "must have nothing but db, prefix" },
  ])("$url is a mistake that does not repeat it", ({ url, message }) => {
    const networks = `{ eth: { family: evm, chainId: 1, upstreams: [{ url: "http://node" }] } }`;
    const text = `state: ${JSON.stringify(url)}\nnetworks: ${networks}`;
    const parsed = parseConfig(text, {});
    const mistakes = [expect.stringContaining(`state: ${message}`)];
    expect(parsed).toEqual({ kind: "mistakes", mistakes });
    expect(JSON.stringify(parsed)).not.toContain("pa/ss");
  });
});
