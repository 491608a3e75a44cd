// Vendors by name: the URLs of `alchemy://KEY` on each chain, and the mistakes.
import { describe, expect, it } from "vitest";
import { stringify } from "yaml";
import { parseConfig } from "./parse-config.ts";
import { resolveVendor, vendorNames } from "./vendors.ts";

const on = (chainId: number) => ({ family: "evm", chainId }) as const;

const parsedOf = (settings: object) => parseConfig(stringify(settings), {});

const urlsOf = (settings: object) => {
  const parsed = parsedOf(settings);
  if (parsed.kind === "mistakes") throw new Error(parsed.mistakes.join("\n"));
  const all = Object.entries(parsed.config.networks);
  return Object.fromEntries(
    all.map(([name, { upstreams }]) => [name, upstreams.map(({ url }) => url)]),
  );
};

const mistakesOf = (settings: object): readonly string[] => {
  const parsed = parsedOf(settings);
  return parsed.kind === "mistakes" ? parsed.mistakes : [];
};

describe("a vendor's URL", () => {
  it.each([
    ["alchemy://k-1", 10, "https://opt-mainnet.g.alchemy.com/v2/k-1"],
    ["infura://k", 1, "https://mainnet.infura.io/v3/k"],
    ["quicknode://a-b/t", 1, "https://a-b.quiknode.pro/t"],
    ["quicknode://a-b/t/", 137, "https://a-b.matic.quiknode.pro/t"],
    ["ankr://k", 42_161, "https://rpc.ankr.com/arbitrum/k"],
    ["drpc://k", 8453, "https://lb.drpc.org/ogrpc?network=base&dkey=k"],
    ["chainstack://mt_k", 137, "https://polygon-mainnet.core.chainstack.com/mt_k"],
    ["blast://k", 81_457, "https://blastl2-mainnet.blastapi.io/k"],
    ["tenderly://k", 1030, "https://cfx-espace.gateway.tenderly.co/k"],
    ["dwellir://k", 1, "https://api-ethereum-mainnet.n.dwellir.com/k"],
    ["publicnode://", 137, "https://polygon-bor-rpc.publicnode.com"],
  ])("%s is on chain %i %s", (url, chainId, want) => {
    const vendor = url.split(":")[0];
    expect(resolveVendor(url, on(chainId))).toMatchObject({ upstream: { url: want, vendor } });
  });

  it("is one that a node can have, for every vendor and Ethereum", () => {
    for (const name of vendorNames) {
      const given = { quicknode: "name/key", publicnode: "" }[name] ?? "key";
      const found = resolveVendor(`${name}://${given}`, on(1));
      expect(found, name).toMatchObject({ kind: "upstream" });
      if (found?.kind === "upstream")
        expect(URL.parse(found.upstream.url)?.protocol).toBe("https:");
    }
  });

  it.each([
    ["alchemy://", 1, "must be written alchemy://KEY"],
    ["alchemy://secret/../x", 1, "must be written alchemy://KEY"],
    ["alchemy://secret?x", 1, "must be written alchemy://KEY"],
    ["quicknode://secret", 1, "must be written quicknode://ENDPOINT-NAME/TOKEN"],
    ["publicnode://secret", 1, "must be written publicnode:// alone"],
    ["chainstack://secret/more", 1, "must be written chainstack://KEY"],
    ["alchemy://secret", 4_000_000, "alchemy is not known to have chain 4000000"],
  ])("%s is none on chain %i: %s", (url, chainId, why) => {
    expect(resolveVendor(url, on(chainId))).toMatchObject({ why });
  });

  it("is none of epoch networks, and not what begins alike", () => {
    expect(resolveVendor("alchemy://k", { family: "conflux", chainId: 1 })?.kind).toBe("without");
    expect(resolveVendor("https://alchemy.com", on(1))).toBeUndefined();
  });

  it("goes through another one where that is wanted", () => {
    expect(resolveVendor("infura://k", on(1), "http://127.0.0.1:1/")).toMatchObject({
      upstream: { url: "http://127.0.0.1:1/mainnet.infura.io/v3/k" },
    });
  });
});

describe("in a configuration", () => {
  it("one line serves every network that the vendor has, beside the network's own nodes", () => {
    expect(
      urlsOf({
        defaults: { upstreams: ["alchemy://k", "publicnode://"] },
        networks: { "eth-mainnet": null, sonic: { upstreams: ["http://own"] } },
      }),
    ).toEqual({
      "eth-mainnet": [
        "https://eth-mainnet.g.alchemy.com/v2/k",
        "https://ethereum-rpc.publicnode.com",
      ],
      sonic: ["http://own", "https://sonic-mainnet.g.alchemy.com/v2/k"],
    });
  });

  it("a list of names is enough", () => {
    expect(urlsOf({ defaults: { upstreams: ["infura://k"] }, networks: ["base"] })).toEqual({
      base: ["https://base-mainnet.infura.io/v3/k"],
    });
  });

  it("has the vendor's costs, unless others are written", () => {
    const parsed = parsedOf({
      networks: {
        base: {
          upstreams: [
            "infura://k",
            { url: "alchemy://k", rate: { costs: { "*": 1 }, perSecond: 9 } },
          ],
        },
      },
    });
    if (parsed.kind === "mistakes") throw new Error(parsed.mistakes.join("\n"));
    const [infura, alchemy] = parsed.config.networks["base"]?.upstreams ?? [];
    expect(infura).toMatchObject({
      vendor: "infura",
      name: "base-mainnet.infura.io",
      rate: { costs: { "*": 80, eth_getLogs: 255 } },
    });
    expect(alchemy?.rate).toMatchObject({ perSecond: 9, costs: { "*": 1, eth_call: 26 } });
  });

  it.each([
    [
      { networks: { mine: { upstreams: ["alchemy://secret"] } } },
      "networks.mine.upstreams[0].url: the chain of this network is not known, so alchemy's URL is not known either: write the network's chainId, or give the network a known name (eth-mainnet, base, …)",
    ],
    [
      { networks: { base: { upstreams: ["quicknode://secret"] } } },
      "networks.base.upstreams[0].url: must be written quicknode://ENDPOINT-NAME/TOKEN",
    ],
    [
      { networks: { mine: { chainId: 5_555_555, upstreams: ["http://a", "alchemy://secret"] } } },
      "networks.mine.upstreams[1].url: alchemy is not known to have chain 5555555",
    ],
    [
      { defaults: { upstreams: ["ankr://secret"] }, networks: ["eth-sepolia"] },
      "networks.eth-sepolia.upstreams: ankr is not known to have chain 11155111",
    ],
    [
      {
        defaults: { upstreams: ["https://secret"] },
        networks: { base: { upstreams: ["http://a"] } },
      },
      "defaults.upstreams[0]: expected a vendor such as alchemy://KEY (alchemy, infura, quicknode, ankr, drpc, chainstack, blast, tenderly, dwellir, publicnode), not the URL of a node, which belongs to one network, got a text",
    ],
  ])("%j is a mistake, told once and without its secret", (settings, mistake) => {
    expect(mistakesOf(settings)).toEqual([mistake]);
  });
});
