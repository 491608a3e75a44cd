import { describe, expect, it } from "vitest";
import { stringify } from "yaml";
import { evm, mistakesIn, type Settings, withNetwork } from "../../test/support/config-mistakes.ts";

const withUpstream = (settings: Settings): Settings =>
  withNetwork({ upstreams: [{ url: "http://node", ...settings }] });

const withKey = (settings: Settings): Settings => ({
  keys: [{ name: "x", key: "text", ...settings }],
  networks: { a: evm },
});

describe("one mistake is one line with its path", () => {
  it.each<[Settings, string]>([
    [
      { listen: { port: "abc" } },
      'listen.port: expected a whole number from 0 to 65535, got "abc"',
    ],
    [
      { listen: { port: "8545" } },
      'listen.port: expected a whole number from 0 to 65535, got "8545"; leave out the quotes',
    ],
    [
      { listen: { port: 65_536 } },
      "listen.port: expected a whole number from 0 to 65535, got 65536",
    ],
    [{ listen: null }, "listen: expected a mapping, got nothing"],
    [{ admin: false }, "admin: expected a mapping, got false"],
    [{ data: 5 }, "data: expected a path, got 5; put it in quotes"],
    [{ processes: 0 }, "processes: expected a whole number from 1, or auto, got 0"],
    [{ processes: "all" }, 'processes: expected a whole number from 1, or auto, got "all"'],
    [
      { log: { level: "loud" } },
      'log.level: expected fatal, error, warn, info, debug, trace or silent, got "loud"',
    ],
    [{ limits: { batch: 1001 } }, "limits.batch: expected a whole number from 1 to 1000, got 1001"],
    [
      { limits: { body: "1MB" } },
      'limits.body: expected a size such as 512KiB, 1MiB or a number of bytes, from 1, got "1MB"',
    ],
    [
      { timeouts: { call: 30 } },
      "timeouts.call: expected a duration such as 500ms, 30s, 5m or 24h, got 30",
    ],
    [{ listn: {} }, "listn: unknown setting; did you mean listen?"],
    [{ timeouts: { colour: "1s" } }, "timeouts.colour: unknown setting"],
    [{ keys: { demo: "text" } }, "keys: expected a list, got a mapping"],
  ])("%j", (settings, want) => {
    expect(mistakesIn(stringify({ networks: { a: evm }, ...settings }))).toEqual([want]);
  });

  it.each<[Settings, string]>([
    [{ family: "bitcoin" }, 'family: expected evm or conflux, got "bitcoin"'],
    [{ chainId: "1" }, 'chainId: expected a whole number from 1, got "1"; leave out the quotes'],
    [{ chainId: 0 }, "chainId: expected a whole number from 1, got 0"],
    [
      { hosts: ["a.example.com:80"] },
      'hosts[0]: expected a host name without scheme, port and path, got "a.example.com:80"',
    ],
    [{ hosts: ["x", "X"] }, "hosts[1]: is the same as networks.a.hosts[0]"],
    [{ upstream: [] }, "upstream: unknown setting; did you mean upstreams?"],
    [{ upstreams: [] }, "upstreams: at least one upstream is needed"],
    [{ window: { blocks: -1 } }, "window.blocks: expected a whole number from 0, got -1"],
    [
      { limits: { logs: { result: 5 } } },
      "limits.logs.result: unknown setting; did you mean results?",
    ],
    [
      { totalDifficulty: 12 },
      "totalDifficulty: expected a hex quantity without leading zeros, such as 0xc70d808a128d7380000, got 12; put it in quotes",
    ],
    [
      { totalDifficulty: "0x01" },
      'totalDifficulty: expected a hex quantity without leading zeros, such as 0xc70d808a128d7380000, got "0x01"',
    ],
    [
      { methods: { allow: ["eth_*", "admin_*"] } },
      "methods.allow[1]: what this pattern fits is never served (node administration, signing with the node's keys, subscriptions of nodes)",
    ],
    [{ hedging: { share: 2 } }, "hedging.share: expected a number from 0 to 1, got 2"],
    [
      { agreement: { eth_call: { ask: 2, agree: 3 } } },
      "agreement.eth_call: agree must not be greater than ask",
    ],
    [
      { agreement: { "eth call": {} } },
      "agreement: one of the names is neither a method nor a pattern such as eth_*",
    ],
  ])("of a network: %j", (settings, want) => {
    expect(mistakesIn(stringify(withNetwork(settings)))).toEqual([`networks.a.${want}`]);
  });

  it.each<[Settings, string]>([
    [{ url: "ftp://secret" }, "url: expected a URL with http, https, ws, wss or ipc, got a text"],
    [{ url: "secret" }, "url: expected a URL with http, https, ws, wss or ipc, got a text"],
    [{ url: undefined }, "url: missing; expected a URL with http, https, ws, wss or ipc"],
    [{ name: "a b" }, "name: expected letters, digits, '.', '_' and '-', got a text"],
    [
      { headers: { A: 5 } },
      "headers: expected each header to be a text that fits in one line, got a number; put it in quotes",
    ],
    [
      { headers: { A: "secret\nB: c" } },
      "headers: expected each header to be a text that fits in one line, got a text",
    ],
    [{ headers: { "A: secret": "" } }, "headers: one of the names is not a valid header name"],
    [
      { url: "ipc://var/run/geth.ipc" },
      "url: expected three slashes before the path of a socket: ipc:///path/to/node.ipc, got a text",
    ],
    [{ weight: -1 }, "weight: expected a number from 0, got a number"],
    [{ batch: 0 }, "batch: expected a whole number from 1 to 1000, got a number"],
    [{ rate: { perSecond: 0 } }, "rate.perSecond: expected a number from 0.001, got a number"],
    [{ probe: "no" }, "probe: expected true or false, got a text"],
    [{ timout: "1s" }, "timout: unknown setting; did you mean timeout?"],
  ])("of an upstream: %j", (settings, want) => {
    expect(mistakesIn(stringify(withUpstream(settings)))).toEqual([
      `networks.a.upstreams[0].${want}`,
    ]);
  });

  it.each<[Settings, string]>([
    [
      { name: "Demo" },
      ".name: expected 1 to 64 characters of a-z, 0-9, '.', '_' and '-', got a text",
    ],
    [
      { key: "abc" },
      ".key: expected 4 to 256 characters of A-Z, a-z, 0-9, '.', '_', '~' and '-', got a text",
    ],
    [
      { key: 12_345 },
      ".key: expected 4 to 256 characters of A-Z, a-z, 0-9, '.', '_', '~' and '-', got a number; put it in quotes",
    ],
    [{ key: undefined }, ": give exactly one of key and hash"],
    [{ hash: `sha256:${"0".repeat(64)}` }, ": give exactly one of key and hash"],
    [{ "key:secret": null }, ": unknown setting; is a colon, a space or a quote wrong?"],
    [{ secret: null }, ": unknown setting; is a colon, a space or a quote wrong?"],
    [{ rates: {} }, ".rates: unknown setting; did you mean rate?"],
    [{ networks: ["b"] }, ".networks[0]: no network has this name"],
    [
      { origins: ["app.example.com/path"] },
      ".origins[0]: expected an origin such as https://app.example.com, a host such as app.example.com or *.example.com, or *, got a text",
    ],
    [
      { expires: "2030-01-31" },
      ".expires: expected a date and time such as 2027-01-31T00:00:00Z, got a text",
    ],
    [{ rate: {} }, ".rate.computeUnits: missing; expected a number above 0"],
  ])("of a key: %j", (settings, want) => {
    expect(mistakesIn(stringify(withKey(settings)))).toEqual([`keys[0]${want}`]);
  });

  it.each(["v1", "-a", "a-", "A", "a.b", "a b", "a".repeat(64), "ü"])(
    "no network can be named %j",
    (name) => {
      expect(mistakesIn(stringify({ networks: { [name]: evm } }))).toEqual([
        expect.stringMatching(/^networks[.[].+: a network's name has 1 to 63 characters/),
      ]);
    },
  );

  it.each([
    ["", "the file: expected a mapping, got nothing"],
    ["# only a comment\n", "the file: expected a mapping, got nothing"],
    ["- a\n", "the file: expected a mapping, got a list"],
    ["secret\n", "the file: expected a mapping, got a text"],
    ["data: ./data\n", "networks: missing; expected a mapping"],
    ["networks:\n", "networks: expected a mapping, got nothing"],
    ["networks: {}\n", "networks: at least one network is needed"],
    ["networks: [a]\n", "networks.a.upstreams: missing; expected a list"],
    ["networks: [1]\n", "networks: expected a mapping, got a list"],
    ["networks: https://secret\n", "networks: expected a mapping, got a text"],
    ["networks: { a: null }\n", "networks.a.upstreams: missing; expected a list"],
    ["networks: { a: 1 }\n", "networks.a: expected a mapping, got 1"],
  ])("of the file %j", (text, want) => {
    expect(mistakesIn(text)).toEqual([want]);
  });
});
