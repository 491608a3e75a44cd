import conflux from "@conflux-dev/conflux-address-js";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { looksLikeAddress, readAddress, wrongAddressIn } from "./address.ts";

const BODY = "aar8jzybzv0fhzreav49syxnzut8s0jt1av3m8zzdr";
const CONTRACT = "NET1234:TYPE.CONTRACT:ACCEVWY4MH5EWCFBZ777WGGWJ3RXY68YYA5WHPVE87";
const WANTED = "want a BASE32 address, such as cfx:…";
const WRONG_TYPE = "wrong type: this is an address of type.user";

const whyNot = (text: string, networkId = 1234): string | undefined => {
  const reading = readAddress(text, networkId);
  return reading.kind === "invalid" ? reading.why : undefined;
};

const network = fc.oneof(fc.constantFrom(1, 1029), fc.integer({ min: 2, max: 2 ** 32 - 1 }));
/** Mostly with an existing type. */
const hex = fc
  .tuple(fc.constantFrom("0", "1", "8", "f"), fc.bigInt({ min: 0n, max: 16n ** 39n - 1n }))
  .map(([type, rest]) => `0x${type}${rest.toString(16).padStart(39, "0")}`);

describe("a BASE32 address", () => {
  it.each([
    {
      text: "cfx:aarc9abycue0hhzgyrr53m6cxedgccrmmyybjgh4xg", // CIP-37
      id: 1029,
      hex: "0x1a2f80341409639ea6a35bbcab8299066109aa55",
      type: "user",
    },
    {
      text: "cfxtest:acc7uawf5ubtnmezvhu9dhc6sghea0403ywjz6wtpg", // CIP-37
      id: 1,
      hex: "0x85d80245dc02f5a89589e1f19c5c718e405b56cd",
      type: "contract",
    },
    {
      text: "net1234:aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa4u9n6h98",
      id: 1234,
      hex: `0x${"0".repeat(40)}`,
      type: "null",
    },
  ])("$text is $hex, of $type", ({ text, id, hex: want, type }) => {
    const [prefix, body] = text.split(":");
    const verbose = `${prefix}:type.${type}:${body}`;
    const address = { hex: want, short: text, verbose };
    expect(readAddress(text, id)).toEqual({ kind: "address", address });
    expect(readAddress(verbose.toUpperCase(), id)).toEqual({ kind: "address", address });
  });

  it("is 20 bytes in every form", () => {
    fc.assert(
      fc.property(hex, network, (bytes, id) => {
        const short = conflux.encode(bytes, id);
        const verbose = conflux.encode(bytes, id, true);
        const address = { hex: bytes, short, verbose: verbose.toLowerCase() };
        for (const form of [short, short.toUpperCase(), verbose, verbose.toLowerCase()]) {
          expect(looksLikeAddress(form)).toBe(true);
          expect(readAddress(form, id)).toEqual({ kind: "address", address });
        }
      }),
    );
  });

  it("is refused with any character changed", () => {
    const character = fc.oneof(
      fc.constantFrom(..."abcdefghijklmnopqrstuvwxyz0123456789ABCXYZ:._ K"),
      fc.string({ unit: "grapheme", minLength: 0, maxLength: 1 }),
    );
    fc.assert(
      fc.property(hex, network, fc.nat(), character, (bytes, id, place, other) => {
        const text = conflux.encode(bytes, id);
        const at = place % text.length;
        fc.pre(text[at] !== other);
        expect(readAddress(text.slice(0, at) + other + text.slice(at + 1), id).kind).toBe(
          "invalid",
        );
      }),
      { numRuns: 1000 },
    );
  });

  it("is judged, whatever the text is", () => {
    const part = fc.oneof(fc.string(), fc.constantFrom("cfx", "net1234", "type.user", BODY));
    fc.assert(
      fc.property(fc.array(part), (parts) => {
        expect(["address", "invalid"]).toContain(readAddress(parts.join(":"), 1234).kind);
      }),
    );
  });
});

describe("the parts of a BASE32 address", () => {
  it.each([
    { text: `net1234:type.user:${BODY}`, why: undefined },
    { text: `net1234:foo.bar:${BODY}`, why: undefined },
    { text: `net1234:type.user:foo.bar:${BODY}`, why: undefined },
    { text: CONTRACT, why: undefined },
    { text: `NET1234:${BODY}`, why: "mixed case" },
    { text: `net1234:Type.user:${BODY}`, why: "mixed case" },
    { text: `net1234:A${BODY.slice(1)}`, why: "mixed case" },
    { text: `net1234:${BODY.slice(0, -1)}a`, why: "wrong checksum" },
    { text: `net1234:type.contract:${BODY}`, why: WRONG_TYPE },
    { text: `net1234:type.foo:${BODY}`, why: WRONG_TYPE },
    { text: `net1234:type.user:type.null:${BODY}`, why: WRONG_TYPE },
    { text: `cfx:${BODY}`, why: "wrong network: want net1234, not cfx" },
    { text: `net01234:${BODY}`, why: "wrong network: want net1234, not net01234" },
    { text: `net12345678901:${BODY}`, why: WANTED },
    { text: `net:${BODY}`, why: WANTED },
    { text: `net1234:foo:${BODY}`, why: WANTED },
    { text: `net1234:type=user:${BODY}`, why: WANTED },
    { text: `net1234:${BODY}:`, why: WANTED },
    { text: `net1234:${BODY}\n`, why: WANTED },
    // Conflux's library would accept this text, and read o as a.
    { text: `net1234:${BODY.replace("a", "o")}`, why: WANTED },
    // In lower case, the Kelvin sign is k.
    { text: `net1234:${BODY.slice(1)}\u212a`, why: WANTED },
    { text: "0x1be45681ac6c53d5a40475f7526bac1fe7590fb8", why: WANTED },
  ])("in $text: $why", ({ text, why }) => {
    expect(whyNot(text)).toBe(why);
  });

  it("have no other names for the networks that have their own", () => {
    expect(whyNot(`net1029:${BODY}`, 1029)).toBe("wrong network: want cfx, not net1029");
    expect(whyNot(`net1:${BODY}`, 1)).toBe("wrong network: want cfxtest, not net1");
  });
});

describe("a JSON value", () => {
  const wrong = `cfx:${BODY}`;
  const mixed = `NET1234:${BODY}`;

  it.each([
    { value: [CONTRACT, { from: `net1234:${BODY}` }, "0x1", null, 5], why: undefined },
    { value: { to: CONTRACT, from: wrong }, why: "wrong network: want net1234, not cfx" },
    { value: [[["a", wrong]], mixed], why: "wrong network: want net1234, not cfx" },
    { value: { a: { b: [mixed] }, c: wrong }, why: "mixed case" },
    { value: { [wrong]: 1 }, why: undefined },
  ])("of $value has $why", ({ value, why }) => {
    expect(wrongAddressIn(value, 1234)).toBe(why);
  });

  it("may be deep, and wide", () => {
    const deep = JSON.parse(`${"[".repeat(200_000)}"${mixed}"${"]".repeat(200_000)}`);
    expect(wrongAddressIn(deep, 1234)).toBe("mixed case");
    expect(wrongAddressIn([...new Array(200_000).fill("cfx"), mixed], 1234)).toBe("mixed case");
  });
});
