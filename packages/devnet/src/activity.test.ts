import { describe, expect, it } from "vitest";
import { type Clock, systemClock } from "../../../src/lib/clock.ts";
import { keepActive, pauseMsAt, type Stage } from "./activity.ts";

const silent = { debug: () => undefined };
const node = { call: async () => null };

/** Runs `keepActive` for some rounds on scripted stages; returns the events in order. */
async function playedFor(rounds: number, script: Partial<Stage> = {}): Promise<string[]> {
  const events: string[] = [];
  const stopping = new AbortController();
  const clock: Clock = {
    ...systemClock,
    now: () => 0,
    sleep: async () => void (--rounds <= 0 && stopping.abort()),
  };
  const setStage = async (): Promise<Stage> => ({
    samples: [{ title: "", method: "", params: [] }],
    pauseMs: 1,
    stands: async () => true,
    act: async (count) => void events.push(`act ${count}`),
    ...script,
  });
  const ready = (samples: readonly unknown[]): void => void events.push(`ready ${samples.length}`);
  await keepActive({ setStage, signal: stopping.signal, ready }, { node, clock, log: silent });
  return events;
}

describe("activity", () => {
  it("sets the stage once, then acts", async () => {
    expect(await playedFor(3)).toEqual(["ready 1", "act 1", "act 2"]);
  });

  it("sets the stage again on a node that has forgotten it", async () => {
    const stands = async () => false;
    expect(await playedFor(3, { stands })).toEqual(["ready 1", "ready 1", "ready 1"]);
  });

  it("neither ends nor starts afresh when one transaction fails", async () => {
    const act = () => Promise.reject(new Error("nonce too low"));
    expect(await playedFor(5, { act })).toEqual(["ready 1"]);
  });
});

it.each([
  { ageMs: 0, want: 1_000 },
  { ageMs: 3_599_999, want: 1_000 },
  { ageMs: 3_600_000, want: 10_000 }, // nodes keep the whole history
  { ageMs: 86_400_000, want: 60_000 },
])("after $ageMs ms, $want ms pass between two transactions", ({ ageMs, want }) => {
  expect(pauseMsAt({ pauseMs: 1_000 }, ageMs)).toBe(want);
});
