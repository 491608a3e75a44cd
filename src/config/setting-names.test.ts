import { describe, expect, it } from "vitest";
import { didYouMean } from "./setting-names.ts";

describe("a suggestion", () => {
  const known = ["url", "name", "headers", "connections", "timeout", "upstreams"];

  it.each([
    { name: "upstream", want: "upstreams" },
    { name: "upstraems", want: "upstreams" },
    { name: "Timeout", want: "timeout" },
    { name: "uri", want: "url" },
    { name: "nmae", want: "name" },
    { name: "uxx", want: "" }, // with two of three letters changed, it is another name
    { name: "timeouts", want: "timeout" },
  ])("for $name is $want", ({ name, want }) => {
    expect(didYouMean(name, known)).toBe(want && `; did you mean ${want}?`);
  });

  it.each(["", "u", "xyz", "password", "connectionsxxx", "a".repeat(100_000)])(
    "is not made where nothing is near",
    (name) => {
      expect(didYouMean(name, known)).toBe("");
    },
  );
});
