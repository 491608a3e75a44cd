import { describe, expect, it } from "vitest";
import { compareConfigs } from "./compare-configs.ts";
import { parseConfig } from "./parse-config.ts";
import type { Config } from "./schema.ts";

const A = "https://a.example.com/very-secret";
const B = "https://b.example.com/very-secret";
const C = "https://c.example.org/other-secret";

const mainnet = { family: "evm", chainId: 1, upstreams: [{ url: A }, { url: B }] };
const written = {
  keys: [
    { name: "web", key: "web-secret", rate: { computeUnits: 10 } },
    { name: "app", key: "app-secret" },
  ],
  networks: { main: mainnet },
};

function configOf(changed: object = {}): Config {
  const parsed = parseConfig(JSON.stringify({ ...written, ...changed }), {});
  if (parsed.kind === "mistakes") throw new Error(parsed.mistakes.join("\n"));
  return parsed.config;
}

const compare = (changed: object, from: object = {}) =>
  compareConfigs(configOf(from), configOf(changed));
const lines = (changed: object, from: object = {}): string[] =>
  compare(changed, from).changes.map(({ line }) => line);
const network = (changed: object): object => ({ networks: { main: { ...mainnet, ...changed } } });

describe("a network of which nobody knew which chain it is", () => {
  it("is added when it is known, while the gateway runs", () => {
    const networks = { main: mainnet, mine: { upstreams: [A] } };
    const facts = { mine: { family: "evm", chainId: 5 } } as const;
    const [before, after] = [{}, facts].map((known) => {
      const parsed = parseConfig(JSON.stringify({ ...written, networks }), {}, known);
      if (parsed.kind === "mistakes") throw new Error(parsed.mistakes.join("\n"));
      return parsed.config;
    }) as [Config, Config];
    expect(compareConfigs(before, after)).toMatchObject({
      needRestart: [],
      changes: [
        { line: "networks.mine: added" },
        { line: "networks whose chain is not known yet: changed" },
      ],
    });
  });
});

describe("what a changed configuration changes", () => {
  it("has the names of the file, where the code has others", () => {
    const tracing = { endpoint: "http://127.0.0.1:4318" };
    const changed = { tracing: { ...tracing, callers: false, upstreams: false } };
    expect(lines(changed, { tracing }).sort()).toEqual([
      "tracing.callers: true → false",
      "tracing.upstreams: true → false",
    ]);
  });

  it.each<{ of: string; changed: object; want: string[] }>([
    { of: "a number", changed: { limits: { batch: 7 } }, want: ["limits.batch: 1000 → 7"] },
    {
      of: "a size, by its name in the file",
      changed: { limits: { body: "2MiB" } },
      want: ["limits.body: 1048576 → 2097152"],
    },
    {
      of: "a duration",
      changed: { timeouts: { call: "5s" } },
      want: ["timeouts.call: 30000ms → 5000ms"],
    },
    { of: "a word", changed: { log: { level: "warn" } }, want: ["log.level: info → warn"] },
    {
      of: "an optional setting",
      changed: network({ headAge: "60s" }),
      want: ["networks.main.headAge: none → 60000ms"],
    },
    {
      of: "a bound that is taken away",
      changed: network({ headAge: "off" }),
      want: ["networks.main.headAge: none → off"],
    },
    {
      of: "a list of texts",
      changed: network({ methods: { deny: ["eth_call"] } }),
      want: ["networks.main.methods.deny: [] → [eth_call]"],
    },
    {
      of: "a network that is new",
      changed: { networks: { main: mainnet, base: { ...mainnet, chainId: 8453 } } },
      want: ["networks.base: added"],
    },
    {
      of: "a network under another name",
      changed: { networks: { other: mainnet } },
      want: ["networks.main: removed", "networks.other: added"],
    },
    {
      of: "an upstream that is new",
      changed: network({ upstreams: [{ url: A }, { url: B }, { url: C }] }),
      want: ["networks.main.upstreams[2]: added (c.example.org)"],
    },
    {
      of: "the first upstream, gone",
      changed: network({ upstreams: [{ url: B }] }),
      want: ["networks.main.upstreams[0]: removed (a.example.com)"],
    },
    {
      of: "upstreams in another order",
      changed: network({ upstreams: [{ url: B }, { url: A }] }),
      want: ["networks.main.upstreams: the order changed"],
    },
    {
      of: "an upstream's weight",
      changed: network({ upstreams: [{ url: A }, { url: B, weight: 3 }] }),
      want: ["networks.main.upstreams[1].weight: 1 → 3"],
    },
    {
      of: "a key that is gone, while the others stay",
      changed: { keys: [{ name: "app", key: "app-secret" }] },
      want: ["keys[0]: removed (web)"],
    },
    {
      of: "a key's rate",
      changed: { keys: [{ ...written.keys[0], rate: { computeUnits: 20 } }, written.keys[1]] },
      want: ["keys[0].rate.computeUnits: 10 → 20", "keys[0].rate.burst: 10 → 20"],
    },
    {
      of: "when a key ends",
      changed: {
        keys: [{ ...written.keys[0], expires: "2027-01-31T00:00:00Z" }, written.keys[1]],
      },
      want: ["keys[0].expires: none → 2027-01-31T00:00:00.000Z"],
    },
  ])("$of", ({ changed, want }) => {
    expect(lines(changed)).toEqual(want);
  });

  it("tells of secrets only that they changed", () => {
    const changed = {
      keys: [written.keys[0], { name: "app", key: "another-secret" }],
      ...network({
        upstreams: [
          { url: A, headers: { "x-secret": "secret" } },
          { url: C, name: "b.example.com" },
        ],
      }),
    };
    const told = lines(changed);
    expect(told).toEqual([
      "keys[1].hash: changed",
      "networks.main.upstreams[0].headers: changed",
      "networks.main.upstreams[1].url: changed",
      "networks.main.upstreams[1].vendor: example.com → example.org",
    ]);
    expect(told.join()).not.toContain("secret");
  });

  it("follows an upstream whose URL gave it its name", () => {
    expect(lines(network({ upstreams: [{ url: A }, { url: C }] }))).toContain(
      "networks.main.upstreams[1].url: changed",
    );
  });

  it("hides secrets of networks that are called like harmless settings", () => {
    const named = (url: string): object => ({
      networks: { name: { ...mainnet, upstreams: [{ url }] } },
    });
    expect(lines(named(C), named(A)).join("\n")).not.toContain("secret");
  });

  it("finds nothing where only the order of names differs", () => {
    const { networks, keys } = written;
    expect(
      lines({ networks: { b: mainnet, ...networks } }, { networks: { ...networks, b: mainnet } }),
    ).toEqual([]);
    expect(lines({ keys: keys.map(({ key, name, ...rest }) => ({ ...rest, key, name })) })).toEqual(
      [],
    );
  });

  it("minds the order where the first pattern that fits counts", () => {
    const [eth, all] = [{ "eth_*": {} }, { "*": { ask: 4 } }];
    expect(
      lines(network({ agreement: { ...all, ...eth } }), network({ agreement: { ...eth, ...all } })),
    ).toEqual(["networks.main.agreement: the order changed"]);
    const [eths, calls] = [{ "eth_*": 1 }, { "*Call": 2 }];
    const prices = (methods: Record<string, number>) => ({ prices: { methods } });
    const defaults = { allow: ["eth_*", "net_*", "web3_*", "trace_*"] };
    expect(lines(network({}), network({ methods: defaults }))).toEqual([]);
    expect(lines(prices({ ...eths, ...calls }), prices({ ...calls, ...eths }))).toEqual([
      "prices.methods: the order changed",
    ]);
  });
});

describe("what needs a restart", () => {
  it.each([
    { changed: { listen: { port: 1 } }, want: ["listen.port: needs a restart"] },
    {
      changed: { admin: { listen: { host: "::1" } } },
      want: ["admin.listen.host: needs a restart"],
    },
    { changed: { data: "/elsewhere" }, want: ["data: needs a restart"] },
    { changed: { processes: 3 }, want: ["processes: needs a restart"] },
    { changed: network({ chainId: 5 }), want: ["networks.main.chainId: needs a restart"] },
    { changed: network({ chainId: 5, window: { blocks: 0 } }), want: [] },
    { changed: network({ window: { blocks: 5 }, proof: "strict" }), want: [] },
    { changed: { limits: { batch: 7 }, log: { level: "warn" }, keys: [] }, want: [] },
    { changed: { networks: { other: mainnet } }, want: [] },
    {
      changed: { listen: { trustedProxies: ["::1"] }, admin: { token: "t".repeat(16) } },
      want: [],
    },
    { changed: { costs: { eth_call: 9 }, prices: { computeUnits: 1 } }, want: [] },
    { changed: { usage: { keptDays: 10 } }, want: [] },
    { changed: { keySecret: "s".repeat(32) }, want: ["keySecret: needs a restart"] },
    { changed: { state: "redis://127.0.0.1" }, want: ["state: needs a restart"] },
  ])("$changed: $want", ({ changed, want }) => {
    expect(compare(changed).needRestart).toEqual(want);
  });
});
