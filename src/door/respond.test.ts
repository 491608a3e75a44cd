import { expect, it } from "vitest";
import { acceptsGzip } from "./respond.ts";

it.each([
  ["gzip", true],
  ["br;q=1.0, GZIP;q=0.5", true],
  ["deflate, br", false],
  ["gzip;q=0", false],
  ["gzip; q=0.000", false],
  ["gzip;q=0.001", true],
  ["xgzip", false],
  ["", false],
  [undefined, false],
])("Accept-Encoding %s asks for gzip: %s", (header, want) => {
  expect(acceptsGzip(header)).toBe(want);
});
