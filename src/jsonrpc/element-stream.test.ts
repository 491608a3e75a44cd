import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { ElementStream, type ElementStreamOptions } from "./element-stream.ts";

const roomy = { path: ["result", "logs"], maxElementBytes: 1e6, maxRestBytes: 1e6 };

type Outcome = { rest: string | undefined; elements: unknown[]; wasTaken: boolean };

/** Reads the chunks; `wanted` is how many elements are asked for. */
function read(
  chunks: readonly Buffer[],
  options: ElementStreamOptions = roomy,
  wanted = Infinity,
): Outcome {
  const elements: unknown[] = [];
  const stream = new ElementStream(options, (element) => elements.push(element) < wanted);
  const wasTaken = chunks.map((chunk) => stream.add(chunk)).every(Boolean);
  return { rest: stream.finish()?.toString(), elements, wasTaken };
}

/** The document in chunks of `size` bytes. */
function inChunks(text: string | Buffer, size: number): Buffer[] {
  const json = Buffer.from(text);
  const count = Math.ceil(json.length / size);
  return Array.from({ length: count }, (_, i) => json.subarray(i * size, (i + 1) * size));
}

/** The document cut at each of the offsets; equal offsets make an empty chunk. */
function cutAt(json: Buffer, seeds: readonly number[]): Buffer[] {
  const places = seeds.map((seed) => seed % (json.length + 1)).sort((a, b) => a - b);
  return [0, ...places].map((from, i) => json.subarray(from, places[i] ?? json.length));
}

/** Strings with brackets, quotes, escapes and long UTF-8 sequences; long enough for both searches of the scanner. */
const awkwardText = fc.string({
  maxLength: 120,
  unit: fc.constantFrom('"', "\\", "[", "]", "{", "}", ",", ":", "\n", "é", "€", "😀", "a"),
});
const anyElement = fc.oneof(
  fc.jsonValue({ maxDepth: 2 }),
  awkwardText,
  fc.dictionary(awkwardText, fc.array(awkwardText, { maxLength: 3 }), { maxKeys: 3 }),
);
const anyKey = fc.oneof(awkwardText, fc.constantFrom("result", "logs"));
const anyMembers = fc.dictionary(anyKey, anyElement, { maxKeys: 3 });

/** A document with an array at `path`, and members before and behind it at each level. */
const anyDocument = fc
  .record({
    elements: fc.array(anyElement, { maxLength: 6 }),
    levels: fc.array(fc.tuple(anyKey, anyMembers, anyMembers), { maxLength: 3 }),
    indent: fc.nat(3),
  })
  .map(({ elements, levels, indent }) => {
    const withArray = (array: unknown[]) =>
      levels.reduceRight<unknown>(
        (inner, [key, before, behind]) =>
          Object.fromEntries([
            ...Object.entries(before).filter(([name]) => name !== key),
            [key, inner],
            ...Object.entries(behind).filter(([name]) => name !== key),
          ]),
        array,
      );
    const json = Buffer.from(JSON.stringify(withArray(elements), null, indent));
    const options = { ...roomy, path: levels.map(([key]) => key) };
    return { json, options, elements, rest: withArray([]) };
  });

const reparsed = (value: unknown): unknown => JSON.parse(JSON.stringify(value));

describe("any document", () => {
  it("gives the elements one by one, and the rest", () => {
    fc.assert(
      fc.property(anyDocument, fc.array(fc.nat(), { maxLength: 20 }), (document, seeds) => {
        const got = read(cutAt(document.json, seeds), document.options);
        expect(got.elements).toEqual(reparsed(document.elements));
        expect(JSON.parse(got.rest ?? "")).toEqual(reparsed(document.rest));
      }),
      { numRuns: 500 },
    );
  });

  it("does not depend on where it is cut", () => {
    fc.assert(
      fc.property(anyDocument, fc.integer({ min: 1, max: 7 }), ({ json, options }, size) => {
        expect(read(inChunks(json, size), options)).toEqual(read([json], options));
      }),
      { numRuns: 200 },
    );
  });

  it("has no end when it is cut off, anywhere", () => {
    fc.assert(
      fc.property(anyDocument, fc.nat(), fc.boolean(), ({ json, options }, seed, skips) => {
        const cut = json.subarray(0, seed % json.length);
        expect(read([cut], options, skips ? 1 : Infinity).rest).toBeUndefined();
      }),
      { numRuns: 500 },
    );
  });

  it("is the whole rest when the path is not there", () => {
    fc.assert(
      fc.property(anyDocument, fc.integer({ min: 1, max: 99 }), ({ json, options }, size) => {
        fc.pre(options.path.length > 0);
        const elsewhere = { ...options, path: [...options.path.slice(0, -1), "not there", "x"] };
        const got = read(inChunks(json, size), elsewhere);
        expect(got).toEqual({ rest: json.toString(), elements: [], wasTaken: true });
      }),
      { numRuns: 500 },
    );
  });

  it("is as sound as JSON.parse finds it, with any byte of it changed", () => {
    fc.assert(
      fc.property(
        anyDocument,
        fc.nat(),
        fc.constantFrom(...'[]{}",:\\x1 '),
        (document, seed, byte) => {
          const json = Buffer.from(document.json);
          json.write(byte, seed % json.length);
          const { rest } = read(inChunks(json, 9), document.options);
          const isSound = rest !== undefined && parses(rest);
          expect(isSound).toBe(parses(json.toString()) && /^\s*[[{]/.test(json.toString()));
        },
      ),
      { numRuns: 500 },
    );
  });
});

function parses(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
