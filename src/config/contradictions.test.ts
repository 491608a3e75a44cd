import { describe, expect, it } from "vitest";
import { stringify } from "yaml";
import { evm, mistakesIn, withNetwork } from "../../test/support/config-mistakes.ts";

describe("settings that contradict each other", () => {
  const ofTest = "sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08";

  it.each([
    {
      keys: [
        { name: "x", key: "test" },
        { name: "x", key: "other" },
      ],
      want: "keys[1].name: is the same as keys[0].name",
    },
    {
      keys: [
        { name: "x", key: "test" },
        { name: "y", key: "test" },
      ],
      want: "keys[1].key: is the same as keys[0].key",
    },
    {
      keys: [
        { name: "x", key: "test" },
        { name: "y", hash: ofTest },
      ],
      want: "keys[1].hash: is the same as keys[0].key",
    },
    {
      keys: [
        { name: "x", hash: ofTest },
        { name: "y", hash: ofTest.toUpperCase().replace("SHA", "sha") },
      ],
      want: "keys[1].hash: is the same as keys[0].hash",
    },
    {
      keys: [{ name: "x", key: "test", networks: ["b"] }],
      want: "keys[0].networks[0]: no network has this name",
    },
    {
      keys: [{ name: "x", key: "test", methods: ["eth_get*", "ether_get*"] }],
      want: "keys[0].methods[1]: this pattern fits no method that is known here: write the full names",
    },
    {
      keys: [{ name: "x", key: "test", methods: ["debug_setH*"] }],
      want: "keys[0].methods[0]: this pattern fits only methods that control a node: such open by their full names alone, as debug_setHead",
    },
    {
      keys: [{ name: "x", key: "test", methods: ["admin_peers"] }],
      want: "keys[0].methods[0]: this is never served (node administration, signing with the node's keys, subscriptions of nodes)",
    },
  ])("$want", ({ keys, want }) => {
    expect(mistakesIn(stringify({ keys, networks: { a: evm } }))).toEqual([want]);
  });

  it("are one host in two networks", () => {
    const networks = { a: { ...evm, hosts: ["x", "Same"] }, b: { ...evm, hosts: ["same"] } };
    expect(mistakesIn(stringify({ networks }))).toEqual([
      "networks.b.hosts[0]: is the same as networks.a.hosts[1]",
    ]);
  });

  it("are two upstreams of one name", () => {
    const upstreams = [
      { url: "http://a", name: "x" },
      { url: "http://b", name: "x" },
    ];
    expect(mistakesIn(stringify(withNetwork({ upstreams })))).toEqual([
      "networks.a.upstreams[1].name: is the same as networks.a.upstreams[0].name",
    ]);
  });

  it("are told beside all other mistakes, in the order of the file", () => {
    const text = `
networks:
  main:
    family: evm
    hosts: [x]
    upstreams: [{ url: "http://a", connections: 1.5 }]
  test: { family: evm, chainId: 1.5, hosts: [x], upstreams: [{ url: "\${NODE}" }] }
keys:
  - { name: a, key: same, networks: [tests] }
  - { name: a, key: same, rates: 5 }
listen: { port: -1 }
`;
    expect(mistakesIn(text)).toEqual([
      "networks.main.upstreams[0].connections: expected a whole number from 1, got a number",
      "networks.test.chainId: expected a whole number from 1, got 1.5",
      "networks.test.hosts[0]: is the same as networks.main.hosts[0]",
      "networks.test.upstreams[0].url: the environment variable NODE is not set",
      "keys[0].networks[0]: no network has this name; did you mean test?",
      "keys[1].name: is the same as keys[0].name",
      "keys[1].key: is the same as keys[0].key",
      "keys[1].rates: unknown setting; did you mean rate?",
      "listen.port: expected a whole number from 0 to 65535, got -1",
    ]);
  });
});
