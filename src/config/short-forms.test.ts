// Short forms of settings, and their long forms.
import { describe, expect, it } from "vitest";
import { stringify } from "yaml";
import { chainNamed, chainOf, familyOfChain } from "./known-chains.ts";
import { parseConfig } from "./parse-config.ts";
import type { Config } from "./schema.ts";

const parsedOf = (settings: object, facts = {}) => parseConfig(stringify(settings), {}, facts);

const configOf = (settings: object, facts = {}): Config => {
  const parsed = parsedOf(settings, facts);
  if (parsed.kind === "mistakes") throw new Error(parsed.mistakes.join("\n"));
  return parsed.config;
};

const mistakesOf = (settings: object): readonly string[] => {
  const parsed = parsedOf(settings);
  return parsed.kind === "mistakes" ? parsed.mistakes : [];
};

const upstreams = ["http://127.0.0.1:8555"];

describe("an upstream that is its URL alone", () => {
  it("has every default, and a name of its own", () => {
    const { networks } = configOf({
      networks: {
        base: {
          upstreams: ["http://a.example/x", "http://a.example/y", { url: "http://b.example" }],
        },
      },
    });
    expect(networks["base"]?.upstreams.map(({ name }) => name)).toEqual([
      "a.example",
      "a.example-2",
      "b.example",
    ]);
    expect(networks["base"]?.upstreams[0]).toMatchObject({
      url: "http://a.example/x",
      timeoutMs: 20_000,
    });
  });

  it("is never shown in a mistake", () => {
    expect(mistakesOf({ networks: { base: { upstreams: ["hppt://secret"] } } })).toEqual([
      "networks.base.upstreams[0].url: expected a URL with http, https, ws, wss or ipc, got a text",
    ]);
  });
});

describe("which chain a network is", () => {
  it.each([
    { name: "base", network: {}, is: { family: "evm", chainId: 8453 } },
    { name: "base-mainnet", network: {}, is: { family: "evm", chainId: 8453 } },
    { name: "eth-sepolia", network: {}, is: { family: "evm", chainId: 11_155_111 } },
    { name: "cfx-mainnet", network: {}, is: { family: "conflux", chainId: 1029 } },
    { name: "cfx-testnet", network: {}, is: { family: "conflux", chainId: 1 } },
    { name: "mine", network: { chainId: 77 }, is: { family: "evm", chainId: 77 } },
    { name: "mine", network: { chainId: 1029 }, is: { family: "conflux", chainId: 1029 } },
    { name: "base", network: { chainId: 77 }, is: { family: "evm", chainId: 77 } },
  ])("is known of $name with $network", ({ name, network, is }) => {
    const { networks, unidentified } = configOf({
      networks: { [name]: { ...network, upstreams } },
    });
    expect([networks[name], unidentified]).toEqual([expect.objectContaining(is), undefined]);
  });

  it("is asked of the nodes where neither file nor name says it", () => {
    const settings = { networks: { base: { upstreams }, mine: { upstreams } } };
    const { networks, unidentified } = configOf(settings);
    expect([Object.keys(networks), Object.keys(unidentified ?? {})]).toEqual([["base"], ["mine"]]);
    const known = configOf(settings, { mine: { family: "conflux", chainId: 5 } });
    expect(known.networks["mine"]).toMatchObject({ family: "conflux", chainId: 5 });
    expect(known.networks["mine"]?.methods.allow).toEqual(["cfx_*", "pos_*"]);
    expect(known.unidentified).toBeUndefined();
  });

  it("is not what was found where the file says otherwise", () => {
    const facts = { mine: { family: "evm", chainId: 5 } };
    const conflux = configOf({ networks: { mine: { family: "conflux", upstreams } } }, facts);
    expect(Object.keys(conflux.unidentified ?? {})).toEqual(["mine"]);
    const other = configOf({ networks: { mine: { chainId: 6, upstreams } } }, facts);
    expect(other.networks["mine"]).toMatchObject({ family: "evm", chainId: 6 });
  });

  it("has a name where the list has one", () => {
    expect(chainOf({ family: "evm", chainId: 1 })).toMatchObject({
      name: "eth-mainnet",
      blockMs: 12_000,
    });
    expect(chainOf({ family: "conflux", chainId: 1 })?.name).toBe("cfx-testnet");
    expect(chainOf({ family: "evm", chainId: 999_999_999_999 })).toBeUndefined();
    expect(chainNamed("no-such-chain")).toBeUndefined();
    expect(chainNamed("polygon-amoy")?.isTestnet).toBe(true);
    expect(familyOfChain(1)).toBe("evm");
    expect(chainNamed("polygon")?.finalAfter).toBe(500);
    expect(chainNamed("base")?.finalAfter).toBeUndefined();
  });
});

describe("what networks and upstreams have in common", () => {
  it("is a setting that they do not have themselves", () => {
    const { networks } = configOf({
      defaults: {
        network: { window: { blocks: 5, size: "1GiB" }, methods: { deny: ["eth_call"] } },
        upstream: { timeout: "3s", headers: { a: "1", b: "1" } },
      },
      networks: {
        base: { window: { blocks: 6 }, methods: { deny: [] }, upstreams },
        optimism: { upstreams: [{ url: "http://a", timeout: "4s", headers: { b: "2" } }] },
      },
    });
    const { base, optimism } = networks;
    expect(base?.window).toEqual({ blocks: 6, size: 2 ** 30 });
    expect([base?.methods.deny, optimism?.methods.deny]).toEqual([[], ["eth_call"]]);
    expect(base?.upstreams[0]).toMatchObject({ timeoutMs: 3_000, headers: { a: "1", b: "1" } });
    expect(optimism?.upstreams[0]).toMatchObject({ timeoutMs: 4_000, headers: { a: "1", b: "2" } });
  });

  it("tells its mistakes once, without secrets", () => {
    const defaults = { network: { windows: {} }, upstream: { headers: { a: 1 }, timeout: 5 } };
    expect(
      mistakesOf({ defaults, networks: { base: { upstreams }, optimism: { upstreams } } }),
    ).toEqual([
      "defaults.network.windows: unknown setting; did you mean window?",
      "defaults.upstream.headers: expected each header to be a text that fits in one line, got a number; put it in quotes",
      "defaults.upstream.timeout: expected a duration such as 500ms, 30s, 5m or 24h, got a number",
    ]);
  });
});
