// The spellings in which a secret may be told, and the search for a secret in any of them. Both are independent of the
// gateway's own rules.

export const SPELLINGS = [
  (secret: string): string => secret,
  (secret: string): string => secret.toUpperCase(),
  (secret: string): string => secret.replace(/./g, percent),
  (secret: string): string => secret.replace(/[aeiou0-9]/g, percent),
  (secret: string): string => secret.replace(/[aeiou0-9]/g, percent).replaceAll("%", "%25"),
  (secret: string): string => `https://node.example.com/v2/${secret}?key=${secret}`,
  (secret: string): string => `Basic ${Buffer.from(`operator:${secret}`).toString("base64")}`,
  (secret: string): string => Buffer.from(`${secret}:~~~???`).toString("base64url"),
  (secret: string): string => Buffer.from(`a ${secret} b`).toString("base64"),
] as const;

const percent = (letter: string): string =>
  `%${letter.charCodeAt(0).toString(16).padStart(2, "0").toUpperCase()}`;

/** The secrets that outputs tell in some spelling, each with the text around it; at most `MOST_TOLD`. */
export function toldSecrets(
  outputs: readonly string[],
  secretByPlace: ReadonlyMap<string, string>,
): readonly string[] {
  const told: string[] = [];
  for (const text of outputs.flatMap((output) => [output, ...decodings(output)])) {
    const small = text.toLowerCase();
    for (const [place, secret] of secretByPlace) {
      const at = small.indexOf(secret);
      if (at >= 0) told.push(`${place}: ${text.slice(Math.max(0, at - 150), at + 150)}`);
      if (told.length === MOST_TOLD) return told;
    }
  }
  return told;
}

const MOST_TOLD = 5;

function decodings(output: string): string[] {
  let plain = output;
  for (let times = 0; times < 3; times += 1)
    plain = plain
      .replace(/%([0-9a-f]{2})/gi, (_, hex: string) =>
        String.fromCharCode(Number.parseInt(hex, 16)),
      )
      .replace(/\\u([0-9a-f]{4})/gi, (_, hex: string) =>
        String.fromCharCode(Number.parseInt(hex, 16)),
      );
  // A run of base64 may have other letters before it, so it is read from each of four places.
  const runs = output.match(/[A-Za-z0-9+/_-]{12,}/g) ?? [];
  const read = [0, 1, 2, 3].map((from) =>
    runs.map((run) => Buffer.from(run.slice(from), "base64").toString("latin1")).join("\n"),
  );
  return [plain, ...read];
}
