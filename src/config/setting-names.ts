// Names of settings as people write them: paths, such as `networks.eth-mainnet.upstreams[0].url`, and suggestions for
// mistyped names.

export type Path = readonly PropertyKey[];
/** The environment variables of a process. */
export type Environment = Readonly<Record<string, string | undefined>>;

export const pathText = (path: Path): string =>
  path.length === 0 ? "the file" : path.map(stepText).join("").replace(/^\./, "");

function stepText(step: PropertyKey): string {
  if (typeof step === "number") return `[${step}]`;
  const name = String(step);
  if (mayBeSecretName(name)) return `[${HIDDEN_NAME}]`;
  // Quotes keep a name with a line break on one line.
  return /^[\w-]{1,64}$/.test(name) ? `.${name}` : `[${JSON.stringify(name.slice(0, 64))}]`;
}

const HIDDEN_NAME = "a name that is not shown";
/** Whether a text has the form of most providers' keys, which no name of a setting has. */
export const isLikeKey = (text: string): boolean => /(?=[a-z]*\d)[a-z0-9]{20}/i.test(text);

/** Whether a name may be a misplaced secret: a URL or a part of one, a header, a key. */
export const mayBeSecretName = (name: string): boolean => /[/@:=?&%]/.test(name) || isLikeKey(name);

/** The path without the name of a header, which may be a secret. */
export const withoutHeader = (path: Path): Path =>
  path.at(-2) === "headers" ? path.slice(0, -1) : path;

/** A suggestion such as `; did you mean upstreams?`; empty if more than two letters of every known name differ. */
export function didYouMean(name: string, known: readonly string[]): string {
  const [best] = known
    .map((candidate) => ({ candidate, distance: editDistance(name, candidate) }))
    // A name of three letters of which two differ is another name, not a typing error.
    .filter(({ candidate, distance }) => distance <= Math.min(2, candidate.length - 2))
    .sort((a, b) => a.distance - b.distance);
  return best ? `; did you mean ${best.candidate}?` : "";
}

/** The number of letters to be added, removed or changed; infinite if the lengths differ by more than two. */
function editDistance(from: string, to: string): number {
  // Names of very different lengths are not compared: a file may hold long texts.
  if (Math.abs(from.length - to.length) > 2) return Number.POSITIVE_INFINITY;
  let row = Array.from({ length: to.length + 1 }, (_, column) => column);
  for (const [above, letter] of [...from].entries()) {
    const next = [above + 1];
    for (const [column, wanted] of [...to].entries()) {
      const change = (row[column] ?? 0) + (letter === wanted ? 0 : 1);
      next.push(Math.min(change, (row[column + 1] ?? 0) + 1, (next[column] ?? 0) + 1));
    }
    row = next;
  }
  return row.at(-1) ?? 0;
}
