import { describe, expect, it } from "vitest";
import { systemClock } from "../../lib/clock.ts";
import type { Entry } from "../../state/state.ts";
import { readUsage, type UsageQuery } from "./usage-report.ts";

const stateOf = (entries: Readonly<Record<string, object>>) => ({
  list: async (prefix: string): Promise<readonly Entry[]> =>
    Object.entries(entries)
      .filter(([key]) => key.startsWith(prefix))
      .sort(([one], [other]) => (one < other ? -1 : 1))
      .map(([key, value]) => ({ key, text: JSON.stringify(value) })),
});

const state = stateOf({
  "usage 2026-11-20 app m-0": { eth: { eth_call: [9, 9] } },
  "usage 2026-11-21 app m-0": { eth: { eth_call: [1, 3, 10] }, bsc: { eth_call: [2, 6] } },
  "usage 2026-11-21 app m-1": { eth: { eth_call: [4, 12, 5], eth_chainId: [1, 1] } },
  "usage 2026-11-21 app-2 m-0": { eth: { eth_call: [7, 21] } },
  "usage 2026-11-22 app m-0": { eth: { eth_call: [8, 8] } },
});
const day = { from: "2026-11-21", to: "2026-11-21" };

const told = async (query: UsageQuery) =>
  (await readUsage(state, query, { clock: systemClock })).map(
    ({ day: on, key, network, method, calls, computeUnits, bytes }) =>
      [on.slice(-2), key, network, method, calls, computeUnits, bytes].join(" "),
  );

describe("reading what was done", () => {
  it("adds up members, in the order of day, key, network and method", async () => {
    expect(await told({ from: "2026-11-20", to: "2026-11-21" })).toEqual([
      "20 app eth eth_call 9 9 0",
      "21 app bsc eth_call 2 6 0",
      "21 app eth eth_call 5 15 15",
      "21 app eth eth_chainId 1 1 0",
      "21 app-2 eth eth_call 7 21 0",
    ]);
  });

  it.each([
    [{ ...day, key: "app-2" }, ["21 app-2 eth eth_call 7 21 0"]],
    [{ ...day, key: "ap" }, []],
    [{ ...day, network: "bsc" }, ["21 app bsc eth_call 2 6 0"]],
    [{ from: "2026-11-23", to: "2026-11-30" }, []],
  ])("of %j tells no more than that", async (query, want) => {
    expect(await told(query)).toEqual(want);
  });

  it("lets others have their turn, however many rows there are", async () => {
    const entries = Array.from({ length: 20_000 }, (_, index) => ({
      key: `usage 2026-11-21 key${String(index).padStart(6, "0")} m-0`,
      text: '{"eth":{"a":[1],"b":[1],"c":[1],"d":[1],"e":[1]}}',
    }));
    let turns = 0;
    const clock = {
      yield: async () => {
        turns += 1;
      },
    };
    const rows = await readUsage({ list: async () => entries }, day, { clock });
    expect(rows).toHaveLength(100_000);
    expect(turns).toBeGreaterThanOrEqual(100);
  });
});
