// Keys made, disabled and revoked at one gateway, while callers use them at both without a pause.
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { stopwatch } from "../support/served-time.ts";
import { callFromNewAddress, TRUSTING } from "./call-from-new-address.ts";
import { canRunFleet, type Fleet, type FleetGateway, startFleet } from "./fleet.ts";

const SECOND_MS = 1000;

/** The gateways whose admin API makes the change. */
const SIDES = [
  { at: "the first", side: 0 },
  { at: "the second", side: 1 },
] as const;

describe.skipIf(!canRunFleet)("a key of two gateways over one Redis", () => {
  let fleet: Fleet;

  beforeAll(async () => {
    fleet = await startFleet(TRUSTING);
  });
  afterAll(() => fleet.close());

  const isTaken = async (gateway: FleetGateway, key: string): Promise<boolean> => {
    const status = await callFromNewAddress(gateway.endpoint(key));
    expect([200, 401]).toContain(status);
    return status === 200;
  };

  /**
   * Calls one gateway without a pause until its answers are as expected.
   *
   * @returns By the stopwatch: the arrival of the first expected answer, and the sending of the last call with another.
   */
  async function watch(
    gateway: FleetGateway,
    key: string,
    { expected, elapsedMs }: { readonly expected: boolean; readonly elapsedMs: () => number },
  ) {
    let lastOtherMs = Number.NEGATIVE_INFINITY;
    let seenAtMs = Number.POSITIVE_INFINITY;
    let alike = 0;
    while (alike < 20) {
      const askedAtMs = elapsedMs();
      const isAsExpected = (await isTaken(gateway, key)) === expected;
      if (isAsExpected) seenAtMs = Math.min(seenAtMs, elapsedMs());
      else lastOtherMs = askedAtMs;
      alike = isAsExpected ? alike + 1 : 0;
    }
    return { seenAtMs, lastOtherMs };
  }

  /** Calls both gateways during the change, which must take effect within a second of its answer. */
  async function expectWithinASecond(
    key: string,
    expected: boolean,
    change: () => Promise<{ readonly status: number }>,
  ): Promise<void> {
    const elapsedMs = stopwatch(...fleet.gateways);
    const watching = fleet.gateways.map((gateway) => watch(gateway, key, { expected, elapsedMs }));
    expect((await change()).status).toBe(200);
    const answeredAtMs = elapsedMs();
    for (const { seenAtMs, lastOtherMs } of await Promise.all(watching)) {
      expect(seenAtMs - answeredAtMs).toBeLessThan(SECOND_MS);
      expect(lastOtherMs - answeredAtMs).toBeLessThan(SECOND_MS);
    }
  }

  it.each(SIDES)(
    "made, disabled, enabled and revoked at $at is so at both within a second",
    async ({ side }) => {
      const admin = fleet.gateways[side];
      const name = `app-${side}`;
      const { status, json } = await admin.admin("POST", "/keys", { name });
      const elapsedMs = stopwatch(...fleet.gateways);
      expect(status).toBe(201);
      const { key } = json as { key: string };
      for (const { seenAtMs } of await Promise.all(
        fleet.gateways.map((gateway) => watch(gateway, key, { expected: true, elapsedMs })),
      ))
        expect(seenAtMs).toBeLessThan(SECOND_MS);
      for (const [verb, expected] of [
        ["disable", false],
        ["enable", true],
        ["revoke", false],
      ] as const)
        await expectWithinASecond(key, expected, () =>
          admin.admin("POST", `/keys/${name}/${verb}`),
        );
    },
  );

  it("changed at one is held to its new rules at both within a second", async () => {
    const [first] = fleet.gateways;
    const { json } = await first.admin("POST", "/keys", { name: "narrowed" });
    const { key } = json as { key: string };
    const elapsedMs = stopwatch(...fleet.gateways);
    await Promise.all(
      fleet.gateways.map((gateway) => watch(gateway, key, { expected: true, elapsedMs })),
    );
    await first.admin("PATCH", "/keys/narrowed", { methods: ["net_version"] });
    const changedAtMs = elapsedMs();
    for (const gateway of fleet.gateways) {
      while ((await callFromNewAddress(gateway.endpoint(key))) !== 403)
        expect(elapsedMs() - changedAtMs).toBeLessThan(SECOND_MS);
    }
  });
});
