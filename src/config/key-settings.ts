// One API key: who may call, what, from where and how much. Its text does not get past the parse.
import { createHash } from "node:crypto";
import { z } from "zod";
import { keyName, keyTerms } from "./key-terms.ts";
import { besideOtherMistakes } from "./mapping.ts";
import { textOf } from "./units.ts";

const terms = z.strictObject({ name: keyName, ...keyTerms });

const configured = terms.extend({
  key: textOf(
    /^[A-Za-z0-9._~-]{4,256}$/,
    "4 to 256 characters of A-Z, a-z, 0-9, '.', '_', '~' and '-'",
  )
    .optional()
    .describe("The key itself. Give this or hash."),
  hash: textOf(/^sha256:[0-9A-Fa-f]{64}$/, "sha256: and 64 hex digits")
    .transform((text) => text.toLowerCase())
    .optional()
    .describe("`sha256:` and the SHA-256 of the key in hex. Give this or key."),
});

/** A key of the configuration file, with its text or its hash. */
export const apiKey = configured
  .superRefine(({ key, hash }, context) => {
    if ((key === undefined) === (hash === undefined))
      context.addIssue({ code: "custom", message: "give one of key and hash, and only one" });
  }, besideOtherMistakes)
  .superRefine(checkProfile, besideOtherMistakes)
  .transform(({ key, hash, ...entry }) => ({
    ...settingsOf(entry),
    ...(key === undefined ? {} : { key }),
    ...(hash === undefined ? {} : { hash }),
  }));

/** With its hash only, whichever was written. */
export const hashedKey = ({ key, hash, ...settings }: z.output<typeof apiKey>) => ({
  ...settings,
  hash: hash ?? `sha256:${sha256(key ?? "")}`,
});

/** Changed or lost, no key that was made at runtime is known any more. */
export const keySecret = textOf(/^.{16,}$/, "16 characters or more").describe(
  "What the hashes of keys made at runtime are made with, the same at all gateways over one state; left out: a random one that is kept in the state.",
);

/** A key as it is asked for at runtime: the gateway makes its text. */
export const keyRequest = terms
  .superRefine(checkProfile, besideOtherMistakes)
  .transform(settingsOf);

/** What a person writes about a key. */
export type KeyRequest = z.input<typeof keyRequest>;
/** What is known of a key, complete but for what has no limit. */
export type KeySettings = DeepReadonly<z.output<typeof keyRequest>>;
export type ConfiguredKey = DeepReadonly<ReturnType<typeof hashedKey>>;

type DeepReadonly<T> = T extends object ? { readonly [Key in keyof T]: DeepReadonly<T[Key]> } : T;

/** As a person would write it: the inverse of the parse. */
export function asWritten(settings: KeySettings): KeyRequest {
  const { expiresAtMs, rate, ...rest } = structuredClone(settings) as z.output<typeof keyRequest>;
  return {
    ...rest,
    ...(expiresAtMs === undefined ? {} : { expires: isoText(expiresAtMs) }),
    ...(rate && {
      rate: { computeUnits: rate.computeUnitsPerSecond, burst: rate.burstComputeUnits },
    }),
  };
}

// biome-ignore lint/style/noRestrictedGlobals: this writes a time, it does not read the clock.
export const isoText = (wallTimeMs: number): string => new Date(wallTimeMs).toISOString();

const BROWSER = {
  readOnly: true,
  rate: { computeUnitsPerSecond: 50, burstComputeUnits: 100 },
  batch: 20,
  batchResponse: 10 * 2 ** 20,
  concurrentCalls: 100,
};

function settingsOf({ profile, expires, ...entry }: z.output<typeof terms>) {
  const isBrowser = profile === "browser";
  const { readOnly, rate, batch, batchResponse, concurrentCalls } = isBrowser ? BROWSER : {};
  const { limits } = entry;
  return {
    ...(isBrowser ? { readOnly, rate, concurrentCalls } : {}),
    ...entry,
    ...(expires === undefined ? {} : { expiresAtMs: expires }),
    limits: isBrowser ? { batch, batchResponse, ...limits } : limits,
  };
}

function checkProfile(
  { profile, origins }: Partial<z.output<typeof terms>>,
  context: z.core.$RefinementCtx,
): void {
  const message =
    profile === "browser" && !origins?.length
      ? "the browser profile needs origins"
      : profile === "server" && origins
        ? "the server profile takes no origins"
        : undefined;
  if (message) context.addIssue({ code: "custom", message, path: ["origins"] });
}

const sha256 = (text: string): string => createHash("sha256").update(text).digest("hex");
