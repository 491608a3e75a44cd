// biome-ignore-all lint/suspicious/noTemplateCurlyInString: these placeholders are those of the configuration.

import { describe, expect, it } from "vitest";
import { stringify } from "yaml";
import { locate, parseConfig, readYaml, toValue } from "./parse-config.ts";
import type { Config } from "./schema.ts";

type Settings = Record<string, unknown>;

const evm: Settings = { family: "evm", chainId: 1, upstreams: [{ url: "http://127.0.0.1:8555" }] };

const mistakesIn = (text: string, environment = {}): readonly string[] => {
  const parsed = parseConfig(text, environment);
  return parsed.kind === "mistakes" ? parsed.mistakes : [];
};

const configOf = (settings: Settings): Config => {
  const parsed = parseConfig(stringify(settings), {});
  if (parsed.kind === "mistakes") throw new Error(parsed.mistakes.join("\n"));
  return parsed.config;
};

const withNetwork = (settings: Settings): Settings => ({
  networks: { a: { ...evm, ...settings } },
});

const withKey = (settings: Settings): Settings => ({
  keys: [{ name: "x", key: "text", ...settings }],
  networks: { a: evm },
});

describe("the shortest configuration", () => {
  it("is filled up with every default", () => {
    expect(configOf({ networks: { a: evm } })).toEqual({
      listen: {
        host: "127.0.0.1",
        port: 8545,
        trustedProxies: [],
        forwardedHeader: "x-forwarded-for",
      },
      admin: { listen: { host: "127.0.0.1", port: 8546 }, tokens: [] },
      costs: {},
      usage: { keptDays: 400 },
      tail: { calls: 0, slowMs: 1_000 },
      data: "./data",
      processes: 1,
      log: { level: "info" },
      keys: [],
      limits: {
        bodyBytes: 1_048_576,
        batch: 1000,
        batchResponseBytes: 52_428_800,
        connections: 10_000,
        connectionsPerAddress: 2_500,
        refusals: 100,
        filters: 1_000,
        reading: { bytesPerSecond: 10_240, overMs: 30_000 },
        webSocket: {
          perKey: 100,
          messagesPerSecond: 100,
          isCompressed: false,
          subscriptionsPerKey: 1000,
        },
      },
      timeouts: {
        headersMs: 10_000,
        bodyMs: 30_000,
        idleMs: 65_000,
        pingMs: 30_000,
        webSocketIdleMs: 3_600_000,
        callMs: 30_000,
        drainMs: 25_000,
        leaveMs: 3_000,
        heartbeatMs: 10_000,
      },
      networks: {
        a: {
          family: "evm",
          chainId: 1,
          upstreams: [
            {
              url: "http://127.0.0.1:8555",
              name: "127.0.0.1",
              headers: {},
              compression: "auto",
              connections: 64,
              timeoutMs: 20_000,
              vendor: "127.0.0.1",
              weight: 1,
              price: 0,
              rate: {},
              isPrivate: false,
              probe: true,
            },
          ],
          toleratedLag: 1,
          hedging: { share: 0.1, leastMs: 25, mostMs: 2_000 },
          agreement: {},
          window: { blocks: 10_000, size: 8 * 2 ** 30 },
          proof: "available",
          pending: "specified",
          limits: {
            logs: { blocks: 10_000, results: 10_000 },
            traces: { steps: 2_500_000, bytes: 512 * 2 ** 20, blocks: 100, refunds: true },
            receipts: { waitMs: 2_000, mostMs: 60_000 },
            upstreamCalls: 200,
            block: { bytes: 67_108_864, transactions: 100_000, logs: 250_000 },
            responseBytes: 268_435_456,
          },
          methods: { allow: ["eth_*", "net_*", "web3_*", "trace_*"], groups: [], deny: [] },
        },
      },
    });
  });

  it("has the defaults of its family", () => {
    const { limits, methods } = configOf(withNetwork({ family: "conflux" })).networks["a"] ?? {};
    expect(limits?.logs).toEqual({ results: 5000 });
    expect(methods).toEqual({ allow: ["cfx_*", "pos_*"], groups: [], deny: [] });
  });
});

describe("the vendor of an upstream", () => {
  it.each([
    ["https://eth-mainnet.g.alchemy.com/v2/key", "alchemy.com"],
    ["wss://Mainnet.Infura.IO/ws/v3/key", "infura.io"],
    ["http://10.0.0.7:8545", "10.0.0.7"],
    ["http://[::1]:8545", "::1"],
    ["http://geth:8545", "geth"],
    ["ipc:///var/run/geth.ipc", "geth.ipc"],
  ])("of %s is %s", (url, want) => {
    const { upstreams } = configOf(withNetwork({ upstreams: [{ url }] })).networks["a"] ?? {};
    expect(upstreams?.[0]?.vendor).toBe(want);
  });
});

describe("what is written", () => {
  it.each([
    { settings: { listen: { port: 0 } }, want: { listen: { host: "127.0.0.1", port: 0 } } },
    { settings: { processes: "auto" }, want: { processes: "auto" } },
    { settings: { processes: 4 }, want: { processes: 4 } },
    { settings: { limits: { body: 4096 } }, want: { limits: { bodyBytes: 4096 } } },
    { settings: { timeouts: { call: "500ms" } }, want: { timeouts: { callMs: 500 } } },
    { settings: { log: { level: "silent" } }, want: { log: { level: "silent" } } },
  ])("$settings becomes $want", ({ settings, want }) => {
    expect(configOf({ networks: { a: evm }, ...settings })).toMatchObject(want);
  });

  it.each([
    { settings: { hosts: ["ETH.Example.com"] }, want: { hosts: ["eth.example.com"] } },
    { settings: { headAge: "2m" }, want: { headAgeMs: 120_000 } },
    { settings: { totalDifficulty: "0x0" }, want: { totalDifficulty: "0x0" } },
    { settings: { window: { blocks: 0 } }, want: { window: { blocks: 0 } } },
  ])("$settings of a network becomes $want", ({ settings, want }) => {
    expect(configOf(withNetwork(settings)).networks["a"]).toMatchObject(want);
  });

  it.each([
    {
      settings: { rate: { computeUnits: 5 } },
      want: { rate: { computeUnitsPerSecond: 5, burstComputeUnits: 5 } },
    },
    {
      settings: { rate: { computeUnits: 5, burst: 9 } },
      want: { rate: { computeUnitsPerSecond: 5, burstComputeUnits: 9 } },
    },
    { settings: { expires: "1970-01-01T01:00:00+01:00" }, want: { expiresAtMs: 0 } },
    {
      settings: { origins: ["https://*.Example.com", "*"] },
      want: { origins: ["https://*.example.com", "*"] },
    },
    { settings: { limits: { logs: { blocks: 7 } } }, want: { limits: { logs: { blocks: 7 } } } },
  ])("$settings of a key becomes $want", ({ settings, want }) => {
    expect(configOf(withKey(settings)).keys[0]).toMatchObject(want);
  });

  it("has either the text of a key or its hash, and becomes the hash", () => {
    const hash = `sha256:${"aB".repeat(32)}`;
    const keys = [
      { name: "x", key: "text" },
      { name: "y", hash },
    ];
    expect(configOf({ keys, networks: { a: evm } }).keys).toEqual([
      {
        name: "x",
        hash: "sha256:982d9e3eb996f559e633f4d194def3761d909f5a3b647d1a851fead67c32c9d1",
        computeUnits: {},
        limits: { logs: {} },
      },
      { name: "y", hash: hash.toLowerCase(), computeUnits: {}, limits: { logs: {} } },
    ]);
  });
});

describe("the name of an upstream", () => {
  it.each([
    { urls: ["https://node.example.com/v2/secret"], want: ["node.example.com"] },
    { urls: ["wss://user:secret@node:9000/?key=secret"], want: ["node"] },
    { urls: ["http://[::1]:8545"], want: ["::1"] },
    { urls: ["http://a:1", "http://a:2", "ws://b", "ws://a"], want: ["a:1", "a:2", "b", "a:80"] },
    { urls: ["https://a/y", "https://a/x", "wss://a/x"], want: ["a-2", "a", "a-3"] },
    { urls: ["https://a/x", "http://a/y", "https://a/y"], want: ["a:443", "a:80", "a:443-2"] },
    {
      urls: ["https://k3y0123456789.eth.example.com", "https://another0key0.eth.example.com"],
      want: ["eth.example.com-2", "eth.example.com"], // without the keys
    },
    { urls: ["https://a1b2c3d4e5f6", "http://10.0.0.17"], want: ["a1b2c3d4e5f6", "10.0.0.17"] },
    { urls: ["ipc:///a/geth.ipc", "ipc:///b/geth.ipc"], want: ["geth.ipc", "geth.ipc-2"] },
  ])("is the host of $urls", ({ urls, want }) => {
    const { upstreams } =
      configOf(withNetwork({ upstreams: urls.map((url) => ({ url })) })).networks["a"] ?? {};
    expect(upstreams?.map(({ name }) => name)).toEqual(want);
  });

  it("stays when the list is put into another order", () => {
    const urls = [
      "http://a:1/x",
      "http://a:1/y",
      "http://a:2",
      "http://b",
      "ws://b",
      "http://a:1/z",
    ];
    const namesOf = (list: readonly string[]) => {
      const upstreams = list.map((url) => ({ url }));
      const named = configOf(withNetwork({ upstreams })).networks["a"]?.upstreams ?? [];
      return Object.fromEntries(named.map(({ url, name }) => [url, name]));
    };
    expect(namesOf(urls.toReversed())).toEqual(namesOf(urls));
  });

  it("leaves the given names to those that have them", () => {
    const upstreams = [{ url: "http://a" }, { url: "http://a" }, { url: "http://b", name: "a" }];
    const { upstreams: named } = configOf(withNetwork({ upstreams })).networks["a"] ?? {};
    expect(named?.map(({ name }) => name)).toEqual(["a-2", "a-3", "a"]);
  });
});

describe("variables of the environment", () => {
  it("are put in before anything is checked", () => {
    const text =
      "listen:\n  port: ${PORT}\nnetworks:\n  a:\n    family: evm\n    chainId: ${ID:-5}\n    upstreams:\n      - url: https://node/${KEY}\n";
    expect(parseConfig(text, { PORT: "0", KEY: "s3cret" })).toMatchObject({
      kind: "config",
      config: {
        listen: { port: 0 },
        networks: { a: { chainId: 5, upstreams: [{ url: "https://node/s3cret" }] } },
      },
    });
  });

  it("are told when they are not set, and nothing else about that setting", () => {
    const text = `keys: [{ name: demo, key: "\${DEMO_KEY}" }]\n${stringify({ networks: { a: evm } })}`;
    expect(mistakesIn(text)).toEqual(["keys[0].key: the environment variable DEMO_KEY is not set"]);
  });

  it.each([
    ["networks: { eth-mainnet: { upstreams: ['${IT}'] } }", "networks.eth-mainnet.upstreams[0]"],
    [
      "networks: { eth-mainnet: { upstreams: ['alchemy://${IT}'] } }",
      "networks.eth-mainnet.upstreams[0]",
    ],
    [
      "networks: [eth-mainnet, base]\ndefaults: { upstreams: ['alchemy://${IT}'] }",
      "defaults.upstreams[0]",
    ],
  ])("are told once where they are an upstream: %s", (text, path) => {
    expect(mistakesIn(text)).toEqual([`${path}: the environment variable IT is not set`]);
  });

  it("are never shown, as they may hold a secret", () => {
    const text = `listen:\n  port: \${PORT}\n${stringify({ networks: { a: evm } })}`;
    expect(mistakesIn(text, { PORT: "s3cret" })).toEqual([
      "listen.port: expected a whole number from 0 to 65535, got a text",
    ]);
  });
});

const read = (text: string) => {
  const yaml = readYaml(text);
  if (yaml.kind === "mistakes") throw new Error(yaml.mistakes.join("\n"));
  return yaml.document;
};

describe("a text that is no YAML", () => {
  it.each([
    ["a: 1\nb: 2\na: 3\n", "line 3, column 1: this name is given twice"],
    ["a:\n\tb: 1\n", "line 2, column 1: tabs cannot indent; use spaces"],
    ["a: @secret\n", "line 1, column 4: a text that begins with @ or ` or % must be in quotes"],
    ["a: 'x' secret\n", "line 1, column 8: this cannot stand here"],
    ["a: b: secret\n", "line 1, column 4: a mapping cannot begin here"],
    ["a: 'secret\n", "line 2, column 1: something is missing here: a closing quote"],
    ["a: [secret\n", "line 2, column 1: the indentation is wrong, or a bracket is not closed"],
    ["a: 1\n---\nb: 1\n", "line 2, column 1: the file must hold one document"],
    ["a: !secret b\n", "line 1, column 4: this tag is not known"],
    ["? [a]\n: secret\n", "line 1, column 3: a name must be a plain text"],
    ["a: *secret\n", "line 1, column 4: this alias has no anchor before it"],
    ["a: &b [*b]\n", "line 1, column 8: this alias contains itself"],
    ["a: { __proto__: {} }\n", "line 1, column 6: nothing can be named __proto__"],
    [
      "a: { b: ${SECRET} }",
      "line 1, column 10: within { } and [ ] a ${VARIABLE} must be in quotes",
    ],
    ["a: [ ${SECRET} ]", "line 1, column 7: within { } and [ ] a ${VARIABLE} must be in quotes"],
  ])("%j", (text, want) => {
    const yaml = readYaml(text);
    const mistakes = yaml.kind === "mistakes" ? yaml.mistakes : [];
    expect(mistakes).toEqual([expect.stringContaining(want)]);
    expect(mistakes.join("\n")).not.toContain("secret");
  });

  it("may be nested without end", () => {
    const yaml = readYaml("[".repeat(20_000));
    expect(yaml.kind === "mistakes" && yaml.mistakes).toEqual([
      expect.stringMatching(/^line 1, column \d+: this is nested too deeply$/),
    ]);
  });

  it("is told with every line that is wrong, in order", () => {
    const yaml = readYaml("a: 1\na: 2\nb: @x\nc: !t 1\n");
    expect(yaml.kind === "mistakes" && yaml.mistakes).toEqual([
      expect.stringMatching(/^line 2, column 1: /),
      expect.stringMatching(/^line 3, column 4: /),
      expect.stringMatching(/^line 4, column 4: /),
    ]);
  });
});

describe("aliases", () => {
  it("stand for what they name", () => {
    expect(toValue(read("a: &x { b: 1 }\nc: *x\n"))).toEqual({
      value: { a: { b: 1 }, c: { b: 1 } },
    });
  });

  it("that grow without end are refused", () => {
    const level = (name: string, of: string): string =>
      `${name}: &${name} [${Array(9).fill(of).join(", ")}]\n`;
    const bomb = level("a", "x") + level("b", "*a") + level("c", "*b") + level("d", "*c");
    expect(toValue(read(bomb))).toBeUndefined();
  });
});

describe("the place of a setting", () => {
  const text = "a: &x\n  b: [1, { c: 2 }]\nd: *x\n";

  it.each([
    { path: [], at: "a: &x" },
    { path: ["a"], at: "a: &x" },
    { path: ["a", "b", 1, "c"], at: "c: 2" },
    { path: ["a", "b", 1, "missing"], at: "{ c: 2 }" },
    { path: ["a", "b", 7], at: "b: [" },
    { path: ["d", "b", 0], at: "d: *x" }, // behind an alias, the position is the alias's
  ])("$path is at $at", ({ path, at }) => {
    expect(locate(read(text), path).offset).toBe(text.indexOf(at));
  });
});
