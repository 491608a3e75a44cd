import { describe, expect, it } from "vitest";
import { apiKey, asWritten, hashedKey, keyRequest } from "./key-settings.ts";

const CONTRACT = `0x${"aB".repeat(20)}`;
const EPOCH_CONTRACT = "cfx:TYPE.CONTRACT:acc7uawf5ubtnmezvhu9dhc6sghea0403y2dgpyfjp";

const settingsOf = (request: object) => {
  const { name: _, ...settings } = keyRequest.parse({ name: "a", ...request });
  return settings;
};
const isTaken = (request: object): boolean =>
  keyRequest.safeParse({ name: "a", ...request }).success;

describe("a key's settings", () => {
  it.each([
    [{}, { computeUnits: {}, limits: { logs: {} } }],
    [{ rate: { computeUnits: 5 } }, { rate: { computeUnitsPerSecond: 5, burstComputeUnits: 5 } }],
    [{ contracts: [CONTRACT] }, { contracts: [CONTRACT.toLowerCase()] }],
    [{ contracts: [EPOCH_CONTRACT] }, { contracts: [EPOCH_CONTRACT.toLowerCase()] }],
    [{ origins: ["*.Example.com"] }, { origins: ["*.example.com"] }],
    [{ expires: "1970-01-01T01:00:00+01:00" }, { expiresAtMs: 0 }],
  ])("%j becomes %j", (request, want) => {
    expect(settingsOf(request)).toMatchObject(want);
  });

  it.each([
    [
      "origins",
      ["https://app.example.com", "http://localhost:3000", "app.example.com", "*.a.b", "*"],
    ],
    ["addresses", ["10.0.0.0/8", "192.0.2.1", "2001:db8::/32", "::1", "::ffff:192.0.2.1"]],
    ["methods", ["eth_*", "net_version", "*"]],
  ])("%s may be %j", (name, values) => {
    for (const value of values) expect(isTaken({ [name]: [value] })).toBe(true);
  });

  it.each([
    ["origins", ["https://a.com/path", "*.*.com", "a*.com", "ftp://a.com", "", "https://"]],
    ["addresses", ["10.0.0.0/33", "localhost", "10.0.0.256", "10.0.0", "::/129", "fe80::1%eth0"]],
    ["contracts", ["0x12", "cfx:abc", `0x${"g".repeat(40)}`, "vitalik.eth"]],
  ])("%s may not be %j", (name, values) => {
    for (const value of values) expect(isTaken({ [name]: [value] })).toBe(false);
  });

  it.each([
    [{ computeUnits: { perDay: 0 } }],
    [{ computeUnits: { perMonth: 1.5 } }],
    [{ concurrentCalls: 0 }],
    [{ limits: { batch: 1001 } }],
    [{ readOnly: "yes" }],
    [{ profile: "mobile" }],
    [{ key: "demo" }],
    [{ name: "." }],
    [{ name: ".." }],
  ])("%j is refused", (request) => {
    expect(isTaken(request)).toBe(false);
  });
});

describe("a profile", () => {
  it("of browsers fills in what is not written", () => {
    const browser = { profile: "browser", origins: ["*.example.com"] };
    expect(settingsOf(browser)).toEqual({
      origins: ["*.example.com"],
      readOnly: true,
      rate: { computeUnitsPerSecond: 50, burstComputeUnits: 100 },
      concurrentCalls: 100,
      computeUnits: {},
      limits: { logs: {}, batch: 20, batchResponse: 10_485_760 },
    });
    const own = { readOnly: false, rate: { computeUnits: 7 }, limits: { batch: 3 } };
    expect(settingsOf({ ...browser, ...own })).toMatchObject({
      readOnly: false,
      rate: { computeUnitsPerSecond: 7, burstComputeUnits: 7 },
      limits: { batch: 3 },
    });
  });

  it("of browsers needs origins, that of servers takes none", () => {
    expect(isTaken({ profile: "browser" })).toBe(false);
    expect(isTaken({ profile: "browser", origins: [] })).toBe(false);
    expect(isTaken({ profile: "server", origins: ["*"] })).toBe(false);
    expect(settingsOf({ profile: "server" })).toEqual(settingsOf({}));
  });
});

it("settings are written as they are read", () => {
  const request = {
    name: "a",
    networks: ["main"],
    origins: ["*.example.com"],
    addresses: ["10.0.0.0/8"],
    contracts: [CONTRACT.toLowerCase()],
    readOnly: true,
    expires: "2027-01-31T00:00:00.000Z",
    rate: { computeUnits: 1.5, burst: 20 },
    computeUnits: { perDay: 5, perMonth: 50 },
    concurrentCalls: 2,
    limits: { logs: { blocks: 9 }, batch: 3 },
  };
  expect(asWritten(keyRequest.parse(request))).toEqual(request);
});

it("of a key in the file its hash is all that remains", () => {
  const hash = "sha256:2c26b46b68ffc68ff99b453c1d30413413422d706483bfa0f98a5e886266e7ae";
  const given = { name: "a", hash: hash.toUpperCase().replace("SHA", "sha") };
  expect(hashedKey(apiKey.parse(given)).hash).toBe(hash);
  const read = hashedKey(apiKey.parse({ name: "a", key: "demo-key" }));
  expect(JSON.stringify(read)).not.toContain("demo-key");
  expect(read.hash).toMatch(/^sha256:[0-9a-f]{64}$/);
});
