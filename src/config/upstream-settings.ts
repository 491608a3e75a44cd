// The nodes and providers of one network, and the names by which logs and metrics know them.
import { z } from "zod";
import { besideOtherMistakes } from "./mapping.ts";
import { duration, textOf, wholeNumber } from "./units.ts";

const schemes = new Set(["http:", "https:", "ws:", "wss:"]);

const headerName = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;

const headers = z
  .record(
    z.string(),
    textOf(/^[\t\x20-\x7e\x80-\xff]*$/, "each header to be a text that fits in one line"),
  )
  .refine((value) => Object.keys(value).every((name) => headerName.test(name)), {
    error: "one of the names cannot be a header's name",
    ...besideOtherMistakes,
  });

const upstream = z
  .strictObject({
    url: z
      .string({ error: "expected a URL with http, https, ws or wss" })
      .refine((text) => schemes.has(URL.parse(text)?.protocol ?? "") && !/\s/.test(text), {
        error: "expected a URL with http, https, ws or wss",
      })
      .describe("Where the node is: http, https, ws or wss. May hold secrets, and is never shown."),
    name: textOf(/^[a-zA-Z0-9._-]+$/, "letters, digits, '.', '_' and '-'")
      .optional()
      .describe("What logs and metrics call it; unique in the network. Left out: its host name."),
    headers: headers.prefault({}).describe("Headers of every request to it; they are never shown."),
    connections: wholeNumber(1).prefault(64).describe("The most connections to it."),
    timeout: duration.prefault("20s").describe("For one request to be answered by it."),
  })
  .transform(({ timeout, ...settings }) => ({ ...settings, timeoutMs: timeout }));

/** At least one; after this each has a name. */
export const upstreams = z
  .array(upstream)
  .min(1, { error: "at least one upstream is needed" })
  .transform((list) => withNames(list));

/** Names those that have none after their host, with `-2`, `-3` … where that is taken. */
function withNames<Upstream extends { url: string; name?: string | undefined }>(
  list: readonly Upstream[],
): (Upstream & { name: string })[] {
  const taken = new Set(list.map(({ name }) => name));
  return list.map((entry) => {
    const name = entry.name ?? firstFree(hostName(entry.url), taken);
    taken.add(name);
    return { ...entry, name };
  });
}

function firstFree(name: string, taken: ReadonlySet<string | undefined>): string {
  let free = name;
  for (let count = 2; taken.has(free); count += 1) free = `${name}-${count}`;
  return free;
}

/** Nothing else of a URL: path, query and user hold the keys of providers. */
const hostName = (url: string): string => URL.parse(url)?.hostname.replace(/[[\]]/g, "") ?? "";
