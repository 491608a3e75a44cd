import { describe, expect, it } from "vitest";
import { logOf, select } from "../../test/support/fake-log-selection.ts";
import { itemsOf } from "../filters/formatters.ts";
import { heldBytesOf, isSource } from "../jsonrpc/raw-json.ts";
import { changesJson, filterMethods } from "./filters.ts";
import type { CallContext } from "./method.ts";

const context = { setProvenance: () => undefined, chain: undefined } as unknown as CallContext;
const at = { number: 1, hash: "0x1" };

describe("what a poll tells", () => {
  it.each([
    { count: 0, isHeld: true },
    { count: 3, isHeld: true },
    { count: 190, isHeld: false },
  ])("is read as it is sent when it is many logs: $count", ({ count, isHeld }) => {
    const logs = Array.from({ length: count }, (_, number) => logOf(number, 1_000));
    const { items, more } = itemsOf(select(logs).found, { most: 1_000, to: 500 });
    for (const dropped of [[], ['{"removed":true}']]) {
      const json = changesJson({ items: [...dropped, ...items], more, at }, context);
      expect(isSource(json)).toBe(!isHeld);
      const text = isSource(json) ? Buffer.concat([...json.chunks()]) : json;
      expect(String(text)).toBe(`[${[...dropped, ...logs].join(",")}]`);
      expect([json.length, heldBytesOf([json]) < 16_384]).toEqual([String(text).length, true]);
    }
  });

  it("ends with the block of the last log when there are more than are told at once", () => {
    const logs = Array.from({ length: 190 }, (_, number) => logOf(number, 1_000));
    const { found } = select(logs);
    expect([189, 190].map((most) => itemsOf(found, { most, to: 500 }).to)).toEqual([189, 500]);
  });
});

it.each([
  [100, []],
  [800, [9]],
])(
  "a poll of %i logs of a kilobyte costs %j units more, and is answered to a key without any",
  async (count, want) => {
    const logs = Array.from({ length: count }, (_, number) => logOf(number, 1_000));
    const { items, more } = itemsOf(select(logs).found, { most: 1_000, to: 500 });
    const paid: number[] = [];
    const polled = {
      ...context,
      filters: { changes: async () => ({ items, more, at }) },
      payForWork: (units: number) => {
        paid.push(units);
        return Promise.reject(new Error("no units left"));
      },
    } as unknown as CallContext;
    const poll = filterMethods.find(({ name }) => name === "eth_getFilterChanges");
    const json = await poll?.answer({ filterId: "0x1" }, polled);
    expect(json?.length).toBe(logs.join(",").length + 2);
    expect(paid).toEqual(want);
  },
);
