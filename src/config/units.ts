// The schemas of the small values in settings. Each describes the value that it expects, for mistakes. No rule stops the
// parse, so that all mistakes are reported at once.
import { z } from "zod";

/** A text of the given form. `expected` completes "expected …". */
export const textOf = (pattern: RegExp, expected: string) =>
  z.string({ error: `expected ${expected}` }).regex(pattern, { error: `expected ${expected}` });

/** The path of a file or folder. */
export const filePath = z.string({ error: "expected a path" }).min(1, { error: "expected a path" });

/** One of some words. */
export const oneOf = <const Words extends readonly [string, ...string[]]>(...words: Words) =>
  z.enum(words, { error: `expected ${words.slice(0, -1).join(", ")} or ${words.at(-1)}` });

export const trueOrFalse = z.boolean({ error: "expected true or false" });

/** Adds the unit to the names of durations. */
export const inMs = <Settings extends Readonly<Record<string, number>>>(settings: Settings) =>
  Object.fromEntries(Object.entries(settings).map(([name, ms]) => [`${name}Ms`, ms])) as {
    [Name in keyof Settings & string as `${Name}Ms`]: number;
  };

/** A whole number within bounds. `z.int()` would stop the parse of the mapping around it. */
export const wholeNumber = (
  minimum: number,
  maximum = Number.MAX_SAFE_INTEGER,
  expected = `a whole number ${rangeText(minimum, maximum)}`,
) =>
  z
    .number({ error: `expected ${expected}` })
    .refine((value) => Number.isSafeInteger(value) && value >= minimum && value <= maximum, {
      error: `expected ${expected}`,
    })
    .meta({ type: "integer", minimum, maximum });

/** A number within bounds. */
export const amount = (minimum: number, maximum = Number.MAX_SAFE_INTEGER) => {
  const error = `expected a number ${rangeText(minimum, maximum)}`;
  return z
    .number({ error })
    .refine((value) => value >= minimum && value <= maximum, { error })
    .meta({ minimum, maximum });
};

const rangeText = (minimum: number, maximum: number): string =>
  maximum === Number.MAX_SAFE_INTEGER ? `from ${minimum}` : `from ${minimum} to ${maximum}`;

/** A duration in milliseconds, written `500ms`, `30s`, `5m` or `24h`. */
export const duration = z
  .string({ error: "expected a duration such as 500ms, 30s, 5m or 24h" })
  .refine((text) => toMs(text) >= 1 && toMs(text) <= longestMs, {
    error: "expected a duration such as 500ms, 30s, 5m or 24h, from 1ms to 576h",
  })
  .meta({ pattern: "^[0-9]+(ms|s|m|h)$" })
  .transform((text) => toMs(text));

// 24 days: a longer timer would overflow 32 bits, and Node.js would fire it at once.
const longestMs = 24 * 24 * 3_600_000;

/** Reads a count and its unit, such as `30s`; NaN for any other text. @param units The value of each unit. */
export function measureIn(units: Readonly<Record<string, number>>): (text: string) => number {
  const form = new RegExp(`^(\\d+)(${Object.keys(units).join("|")})$`);
  return (text) => {
    const [, count, unit = ""] = form.exec(text) ?? [];
    return Number(count) * (units[unit] ?? Number.NaN);
  };
}

const toMs = measureIn({ ms: 1, s: 1000, m: 60_000, h: 3_600_000 });

const expectedSize = "expected a size such as 512KiB, 1MiB or a number of bytes, from 1";

const isByteCount = (value: number): boolean => Number.isSafeInteger(value) && value >= 1;

const toBytes = measureIn({ KiB: 2 ** 10, MiB: 2 ** 20, GiB: 2 ** 30 });

/** A size in bytes, written `512KiB`, `1MiB`, `2GiB` or as a number. */
export const byteSize = z
  .union(
    [
      z.number().refine(isByteCount, { error: expectedSize }).meta({ type: "integer", minimum: 1 }),
      z
        .string()
        .refine((text) => isByteCount(toBytes(text)), { error: expectedSize })
        .meta({ pattern: "^[0-9]+(KiB|MiB|GiB)$" }),
    ],
    { error: expectedSize },
  )
  .transform((size) => (typeof size === "number" ? size : toBytes(size)));

/** Decodes a percent-encoded text. An invalid one stays as it is: people write passwords with a % without encoding. */
export function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

export const isMapping = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** Runs the check of a mapping even if there are mistakes in it, so that one mistake does not hide another. */
export const besideOtherMistakes = {
  when: ({ value }: { value: unknown }): boolean => isMapping(value),
};

/** The parameters of `refine` for the rule that exactly one of two settings is given. */
export const onlyOneOf = <Name extends string>(one: Name, other: Name) =>
  [
    (settings: Readonly<Partial<Record<Name, unknown>>>): boolean =>
      (settings[one] === undefined) !== (settings[other] === undefined),
    { error: `give exactly one of ${one} and ${other}`, ...besideOtherMistakes },
  ] as const;

/** A mapping whose names have the form; `error` describes a name that does not. */
export const mappingOf = <Value extends z.ZodType>(form: RegExp, value: Value, error: string) =>
  z
    .record(z.string(), value)
    .refine((mapping) => Object.keys(mapping).every((name) => form.test(name)), {
      error,
      ...besideOtherMistakes,
    });

/** The form of a method's name, and of a pattern such as `eth_*`. */
export const METHOD_OR_PATTERN = /^[A-Za-z0-9_.*]+$/;

export const addressOrRange = z.union([z.ipv4(), z.ipv6(), z.cidrv4(), z.cidrv6()], {
  error: "expected an IP address or a range such as 10.0.0.0/8",
});

export type DeepReadonly<T> = T extends object
  ? { readonly [Key in keyof T]: DeepReadonly<T[Key]> }
  : T;
