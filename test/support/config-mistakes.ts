// Parses wrong configurations, and returns the mistakes in them.
import { parseConfig } from "../../src/config/parse-config.ts";

export type Settings = Record<string, unknown>;

export const evm: Settings = {
  family: "evm",
  chainId: 1,
  upstreams: [{ url: "http://127.0.0.1:8555" }],
};

export const mistakesIn = (text: string, environment = {}): readonly string[] => {
  const parsed = parseConfig(text, environment);
  return parsed.kind === "mistakes" ? parsed.mistakes : [];
};

export const withNetwork = (settings: Settings): Settings => ({
  networks: { a: { ...evm, ...settings } },
});
