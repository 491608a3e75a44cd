import { describe, expect, it } from "vitest";
import { byteSize, duration, wholeNumber } from "./units.ts";

describe("a duration", () => {
  it.each([
    { text: "1ms", want: 1 },
    { text: "500ms", want: 500 },
    { text: "30s", want: 30_000 },
    { text: "5m", want: 300_000 },
    { text: "24h", want: 86_400_000 },
    { text: "576h", want: 2_073_600_000 }, // fits into the 32 bits of a timer
  ])("$text is $want ms", ({ text, want }) => {
    expect(duration.parse(text)).toBe(want);
  });

  it.each(["", "30", "30 s", "1.5s", "-1s", "0s", "577h", "1d", "s", "1S", 30, null])(
    "%j is none",
    (value) => {
      expect(duration.safeParse(value).error?.issues[0]?.message).toMatch(/^expected a duration/);
    },
  );
});

describe("a size", () => {
  it.each([
    { size: 1, want: 1 },
    { size: 1_048_576, want: 1_048_576 },
    { size: "512KiB", want: 524_288 },
    { size: "1MiB", want: 1_048_576 },
    { size: "2GiB", want: 2_147_483_648 },
  ])("$size is $want bytes", ({ size, want }) => {
    expect(byteSize.parse(size)).toBe(want);
  });

  it.each([0, -1, 1.5, Number.NaN, "1MB", "1", "0KiB", "1 MiB", "99999999999GiB", null, []])(
    "%j is none",
    (value) => {
      expect(byteSize.safeParse(value).error?.issues[0]?.message).toMatch(/^expected a size/);
    },
  );
});

describe("a whole number from 0 to 65535", () => {
  const port = wholeNumber(0, 65_535);

  it.each([0, 8545, 65_535])("can be %d", (value) => {
    expect(port.parse(value)).toBe(value);
  });

  it.each([-1, 65_536, 1.5, 1e300, Number.NaN, "8545", true, null, undefined])(
    "cannot be %j",
    (value) => {
      const messages = port.safeParse(value).error?.issues.map(({ message }) => message);
      expect(messages).toEqual(["expected a whole number from 0 to 65535"]);
    },
  );
});
