// Settings that come from the environment alone.
import { describe, expect, it } from "vitest";
import { parseConfig } from "./parse-config.ts";
import type { Config } from "./schema.ts";

const configOf = (environment: Record<string, string>, text = "{}"): Config => {
  const parsed = parseConfig(text, environment);
  if (parsed.kind === "mistakes") throw new Error(parsed.mistakes.join("\n"));
  return parsed.config;
};

const mistakesIn = (environment: Record<string, string>): readonly string[] => {
  const parsed = parseConfig('{"networks":{"base":{"upstreams":["http://a"]}}}', environment);
  return parsed.kind === "mistakes" ? parsed.mistakes : [];
};

const one = { HEADGATE_UPSTREAMS_BASE: "http://a.example" };

describe("a configuration from the environment alone", () => {
  it("has the upstreams of each network, with commas between them", () => {
    const { networks } = configOf({
      HEADGATE_UPSTREAMS_ETH_MAINNET: "https://a.example/$x, wss://b.example",
      HEADGATE_UPSTREAMS_BASE: "http://c.example",
    });
    expect(
      Object.entries(networks).map(([name, { chainId, upstreams }]) => [
        name,
        chainId,
        ...upstreams.map(({ url }) => url),
      ]),
    ).toEqual([
      ["base", 8453, "http://c.example"],
      ["eth-mainnet", 1, "https://a.example/$x", "wss://b.example"],
    ]);
  });

  it("has every other setting by its path", () => {
    const config = configOf({
      ...one,
      HEADGATE_LISTEN__PORT: "8080",
      HEADGATE_LISTEN__TRUSTED_PROXIES: "10.0.0.0/8,192.0.2.1",
      HEADGATE_ADMIN__TOKEN: "1234567890123456",
      HEADGATE_LIMITS__WEB_SOCKET__COMPRESSION: "true",
      HEADGATE_TIMEOUTS__CALL: "9s",
      HEADGATE_PROCESSES: "auto",
      HEADGATE_STATE: "redis://:pass@host",
      HEADGATE_NETWORKS__BASE__WINDOW__BLOCKS: "7",
      HEADGATE_DEFAULTS__UPSTREAM__TIMEOUT: "3s",
      HEADGATE_COSTS: "{ eth_call: 3 }",
      HEADGATE_KEYS__0__NAME: "web",
      HEADGATE_KEYS__0__KEY: "123456",
    });
    expect(config).toMatchObject({
      listen: { port: 8080, trustedProxies: ["10.0.0.0/8", "192.0.2.1"] },
      admin: { token: "1234567890123456" },
      timeouts: { callMs: 9_000 },
      processes: "auto",
      state: { password: "pass" },
      costs: { eth_call: 3 },
      keys: [{ name: "web" }],
      networks: { base: { window: { blocks: 7 }, upstreams: [{ timeoutMs: 3_000 }] } },
    });
    expect(config.limits.webSocket.isCompressed).toBe(true);
  });

  it("takes keys as they would be written, too", () => {
    const { keys } = configOf({
      ...one,
      HEADGATE_KEYS: "[{ name: a, key: abcd, networks: [base] }]",
    });
    expect(keys).toMatchObject([{ name: "a", networks: ["base"] }]);
  });

  it("counts more than the file", () => {
    const text =
      '{"listen":{"host":"0.0.0.0","port":1},"networks":{"base":{"upstreams":["http://a"]}}}';
    const { listen } = configOf({ HEADGATE_LISTEN__PORT: "2" }, text);
    expect(listen).toMatchObject({ host: "0.0.0.0", port: 2 });
  });
});

describe("a variable that is wrong", () => {
  it.each([
    [
      { HEADGATE_LISTEN__PORT: "secret" },
      "listen.port: expected a whole number from 0 to 65535, got a text (HEADGATE_LISTEN__PORT)",
    ],
    [
      { HEADGATE_LISTEN__PROT: "1" },
      "listen.prot: unknown setting; did you mean port? (HEADGATE_LISTEN__PROT)",
    ],
    [
      { HEADGATE_UPSTREAMS_OP: "hppt://secret" },
      "networks.op.upstreams[0].url: expected a URL with http, https, ws, wss or ipc, got a text (HEADGATE_UPSTREAMS_OP)",
    ],
    [
      { HEADGATE_NETWORKS__OURS__WINDOW__BLOCKS: "7" },
      "networks.ours.upstreams: missing; expected a list (HEADGATE_NETWORKS__OURS__WINDOW__BLOCKS)",
    ],
    [{ HEADGATE_LOG: "debug: [" }, "log: expected a mapping, got a text (HEADGATE_LOG)"],
  ])("%j is told with its name, without its value", (environment, mistake) => {
    expect(mistakesIn(environment)).toEqual([mistake]);
  });

  it("is left alone where it begins no setting", () => {
    const services = {
      HEADGATE_PORT: "tcp://10.0.0.1:8545",
      HEADGATE_SERVICE_HOST: "10.0.0.1",
      HEADGATE_STATE_SERVICE_PORT: "6379",
      HEADGATE_CONFIG: "x.yaml",
    };
    expect(mistakesIn(services)).toEqual([]);
  });
});
