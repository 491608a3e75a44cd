import { describe, expect, it } from "vitest";
import { keccak256OfData } from "./keccak.ts";

describe("Keccak-256", () => {
  it.each([
    {
      data: "0x",
      want: "0xc5d2460186f7233c927e7db2dcc703c0e500b653ca82273b7bfad8045d85a470",
    },
    {
      data: "0x68656c6c6f20776f726c64", // hello world
      want: "0x47173285a8d7341e5e972fc677286384f802f8ef42a5ec5f03bbfa254cb01fad",
    },
  ])("of $data is $want", ({ data, want }) => {
    expect(keccak256OfData(data)).toBe(want);
    expect(keccak256OfData(data)).toBe(want); // the shared instance starts anew
  });
});
