import fc from "fast-check";
import { expect, it } from "vitest";
import { servedMsOf } from "../../test/support/served-time.ts";
import { askAt, isUnknownRefusal } from "./forwarding.ts";
import type { CallContext } from "./method.ts";

const says = (message: string): boolean => isUnknownRefusal({ code: -32000, message });

it.each([
  ["block not found", true],
  ["the transaction could not be found", true],
  ["unknown block", true],
  ["execution reverted: block not found", false],
  ["block is fine", false],
])("a node that says %j knows no such thing: %s", (message, want) => {
  expect(says(message)).toBe(want);
});

it("very many words of a node are read at once", async () => {
  const words = "block ".repeat(200_000); // a search by the square of the length would take minutes
  expect(await servedMsOf(() => expect(says(words)).toBe(false))).toBeLessThan(2_000);
});

/** The parameters that a node gets for a call with these parameters while block 7 is the newest. */
async function sentFor(paramsJson: string, other: object = {}): Promise<string> {
  const [call, block] = JSON.parse(paramsJson) as [unknown, unknown];
  let asked = "";
  const context = {
    paramsJson,
    chain: {
      positionAt: () => ({ number: 7, hash: "0xab" }),
      pin: (named: unknown) => (named === "latest" ? "0x7" : named),
    },
    isAgreedUpon: () => false,
    setProvenance: () => undefined,
    ask: (_: string, params: string) => {
      asked = params;
      return Promise.resolve(Buffer.from("1"));
    },
  };
  const given = block === undefined ? { call } : { call, block };
  await askAt(
    "eth_call",
    { given, sent: "call" in other ? { ...given, ...other } : given, at: "block", takesHash: true },
    context as unknown as CallContext,
  );
  return asked;
}

const HASH = '{"blockHash":"0xab"}';

it.each([
  ['[{"to":"0x1", "n":1.0},"latest"]', `[{"to":"0x1", "n":1.0},${HASH}]`], // the call keeps the caller's spelling
  ['[ {"to":"0x1"} , "latest" ]', `[{"to":"0x1"},${HASH}]`],
  ['["\\"latest","l\\u0061test"]', `["\\"latest",${HASH}]`],
  ['[{"a":"latest"}]', `[{"a":"latest"},${HASH}]`],
  ['[null,"latest"]', `[null,${HASH}]`],
])("a call with %s asks for its block by the hash", async (written, want) => {
  expect(await sentFor(written)).toBe(want);
});

it("a call that is sent otherwise than it was written has its block, too", async () => {
  expect(await sentFor('["a","latest"]', { call: "b" })).toBe(`["b",${HASH}]`);
});

it("whatever the parameters are, only the block is another one", async () => {
  const property = fc.asyncProperty(
    fc.json(),
    fc.constantFrom("latest", "0x7"),
    async (json, block) => {
      const sent = await sentFor(`[${json},"${block}"]`);
      expect(JSON.parse(sent)).toEqual([JSON.parse(json), { blockHash: "0xab" }]);
    },
  );
  await fc.assert(property, { numRuns: 300 });
});
