import { describe, expect, it } from "vitest";
import { parseConfig } from "./parse-config.ts";

const withSettings = (settings: object) =>
  parseConfig(
    JSON.stringify({
      networks: { main: { family: "evm", chainId: 1, upstreams: [{ url: "http://node" }] } },
      ...settings,
    }),
    {},
  );

describe("the prices", () => {
  it.each([
    [{}, undefined, 400],
    [{ prices: {} }, { currency: "USD", computeUnits: 0, methods: {} }, 400],
    [
      {
        prices: { currency: "EUR", computeUnits: 0.4, methods: { "trace_*": 75 } },
        usage: { keptDays: 31 },
      },
      { currency: "EUR", computeUnits: 0.4, methods: { "trace_*": 75 } },
      31,
    ],
  ])("%j are read", (settings, prices, keptDays) => {
    const parsed = withSettings(settings);
    if (parsed.kind === "mistakes") throw new Error(parsed.mistakes.join());
    expect(parsed.config.prices).toEqual(prices);
    expect(parsed.config.usage).toEqual({ keptDays });
  });

  it.each([
    [{ prices: { computeUnits: -1 } }, "prices.computeUnits: expected a number from 0"],
    [{ prices: { currency: "$" } }, "prices.currency: expected a currency such as USD"],
    [
      { prices: { methods: { "eth call": 1 } } },
      "prices.methods: one of the names is neither a method nor a pattern such as trace_*",
    ],
    [{ usage: { keptDays: 0 } }, "usage.keptDays: expected a whole number from 1 to 4000"],
  ])("%j is a mistake", (settings, mistake) => {
    const parsed = withSettings(settings);
    expect(parsed.kind === "mistakes" && parsed.mistakes[0]).toContain(mistake);
  });
});
