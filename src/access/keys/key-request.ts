// What a person asks of a key, checked by the same rules as the keys of the file.
import {
  asWritten,
  type KeyRequest,
  type KeySettings,
  keyRequest,
} from "../../config/key-settings.ts";
import { mistakeLine, mistakesOf, plainWords } from "../../config/mistakes.ts";
import { didYouMean } from "../../config/setting-names.ts";
import { isMapping } from "../../config/units.ts";
import { whyItOpensNothing } from "../../namespaces/known-methods.ts";

export type ReadRequest =
  | { readonly kind: "settings"; readonly settings: KeySettings }
  /** A line each, with the path of what is wrong. */
  | { readonly kind: "mistakes"; readonly mistakes: readonly string[] };

type Around = {
  readonly networks: readonly string[];
  /** What the networks open, by patterns and full names. */
  readonly openMethods: readonly string[];
  readonly wallTimeMs: number;
  /** The key as it was. */
  readonly before: KeySettings | undefined;
};

export function readKeyRequest(request: unknown, around: Around): ReadRequest {
  // As the first key of a file: its mistakes tell what settings there are, and show no values.
  const parsed = keyRequest.safeParse(request, { error: plainWords });
  const issues = (parsed.error?.issues ?? []).map((issue) => ({
    ...issue,
    path: ["keys", 0, ...issue.path],
  }));
  const mistakes = mistakesOf(issues, { keys: [request] }, () => true)
    .map(({ path, message }) => mistakeLine({ path: path.slice(2), message }))
    .map((line) => line.replace(/^the file: /, "the key: "))
    .map((line) => line.replace(/^(key|hash): .*/, "$1: the gateway makes it"));
  mistakes.push(...unknownNetworks(request, around.networks), ...uselessMethods(request, around));
  const expiresAtMs = parsed.data?.expiresAtMs ?? Number.POSITIVE_INFINITY;
  if (expiresAtMs <= around.wallTimeMs && expiresAtMs !== around.before?.expiresAtMs)
    mistakes.push("expires: is in the past");
  return parsed.success && mistakes.length === 0
    ? { kind: "settings", settings: parsed.data }
    : { kind: "mistakes", mistakes };
}

/**
 * What a change makes of settings (RFC 7396, JSON merge patch, over what a person would have written):
 * null takes a setting away, and what is left out stays.
 */
export function patched(settings: KeySettings, patch: unknown): unknown {
  return mergePatch(asWritten(settings) satisfies KeyRequest, patch);
}

function mergePatch(target: unknown, patch: unknown): unknown {
  if (!isMapping(patch)) return patch;
  const merged = new Map(isMapping(target) ? Object.entries(target) : []);
  for (const [name, value] of Object.entries(patch)) {
    if (value === null) merged.delete(name);
    else merged.set(name, mergePatch(merged.get(name), value));
  }
  return Object.fromEntries(merged);
}

/** What a key had before may have become useless since, and stays. */
function uselessMethods(request: unknown, { openMethods, before }: Around): string[] {
  const asked = isMapping(request) ? request["methods"] : undefined;
  if (!Array.isArray(asked)) return [];
  return asked.flatMap((entry: unknown, at) => {
    if (typeof entry !== "string" || before?.methods?.includes(entry)) return [];
    const why = whyItOpensNothing(entry, openMethods);
    return why === undefined ? [] : [`methods[${at}]: ${why}`];
  });
}

function unknownNetworks(request: unknown, known: readonly string[]): string[] {
  const asked = isMapping(request) ? request["networks"] : undefined;
  if (!Array.isArray(asked)) return [];
  return asked.flatMap((name: unknown, at) =>
    typeof name !== "string" || known.includes(name)
      ? []
      : [`networks[${at}]: no network has this name${didYouMean(name, known)}`],
  );
}
