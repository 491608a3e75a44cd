import { describe, expect, it } from "vitest";
import { type NetworkRole, shareOf, stateFor } from "./role.ts";

const server: NetworkRole = { kind: "server", processes: 4, writerOf: () => ({}) as never };
const writer: NetworkRole = { kind: "writer", processes: 4, serve: () => () => undefined };
const upstream = { probe: true, rate: { perSecond: 100, burst: 10, perMonth: 5_000 } };

describe("what one of several processes may ask of a node", () => {
  it("is its part of what all may, and a month's use is counted by all", () => {
    expect(shareOf(upstream, server).rate).toEqual({ perSecond: 25, burst: 2.5, perMonth: 5_000 });
    expect(shareOf({ ...upstream, rate: {} }, server).rate).toEqual({});
    expect(shareOf({ ...upstream, rate: { perSecond: 4, burst: 2 } }, writer).rate.burst).toBe(1);
    expect(shareOf(upstream, { kind: "whole" })).toBe(upstream);
  });

  it("is what it can do, for the writer alone", async () => {
    expect(shareOf(upstream, writer).probe).toBe(true);
    expect(shareOf(upstream, server).probe).toBe(false);
    const written: string[] = [];
    const state = {
      update: async ([key = ""]: readonly string[]) => {
        written.push(key);
      },
    };
    const forServer = stateFor(server, state as never);
    await forServer.update(["abilities main a"], () => ["x"]);
    await forServer.update(["month main a"], () => ["x"]);
    expect(written).toEqual(["month main a"]);
    expect(stateFor(writer, state as never)).toBe(state);
  });
});
