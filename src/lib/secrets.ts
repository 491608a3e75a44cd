// Finds secrets in texts and replaces them by `***`, however they are spelled: in other letter case, percent-encoded or
// escaped, in both alphabets of base64, and within the base64 of a longer text.

/** A shorter text is no secret: it would be found in many words. */
const LEAST_SECRET_LENGTH = 6;
/** The characters of a secret that its base64 shows wherever the secret stands, at least. */
const LEAST_BASE64_LENGTH = 8;
/** How often a text may be encoded: a proxy encodes what another one encoded. */
const MOST_ENCODINGS = 4;

export class Secrets {
  /** undefined: there are no secrets. */
  readonly #pattern: RegExp | undefined;

  constructor(texts: Iterable<string>) {
    const secrets = [...new Set(texts)].filter(({ length }) => length >= LEAST_SECRET_LENGTH);
    const forms = [...new Set(secrets.flatMap((secret) => [secret, ...base64Within(secret)]))];
    forms.sort((one, other) => other.length - one.length); // a longer secret may contain a shorter one
    this.#pattern = forms.length > 0 ? new RegExp(forms.map(patternOf).join("|"), "gi") : undefined;
  }

  get isEmpty(): boolean {
    return this.#pattern === undefined;
  }

  /**
   * The text with `***` for each secret. Where a secret is encoded, all of the text is decoded, since nobody can tell
   * where it ends.
   */
  redact(text: string): string {
    if (!this.#pattern) return text;
    let clean = text.replace(this.#pattern, "***");
    let plain = clean;
    for (let times = 0; times < MOST_ENCODINGS && /[%\\]/.test(plain); times += 1) {
      const decoded = decodedOnce(plain);
      plain = decoded.replace(this.#pattern, "***");
      if (plain !== decoded) clean = plain;
    }
    return clean;
  }

  /**
   * Removes secrets from the texts and member names in JSON; numbers stay as they are.
   *
   * @param keptNames The names of members that stay, even where a secret is the same.
   * @returns The new JSON, "unchanged", or "unreadable" where it is malformed or nests too deeply.
   */
  redactJson(json: string, keptNames: ReadonlySet<string>): string {
    let isClean = true;
    const cleanText = (text: string): string => {
      const clean = this.redact(text);
      isClean &&= clean === text;
      return clean;
    };
    const cleanName = (name: string): string => (keptNames.has(name) ? name : cleanText(name));
    const clean = (_: string, value: unknown): unknown => {
      if (typeof value === "string") return cleanText(value);
      if (typeof value !== "object" || value === null || Array.isArray(value)) return value;
      return Object.fromEntries(
        Object.entries(value).map(([name, member]) => [cleanName(name), member]),
      );
    };
    try {
      const cleaned: unknown = JSON.parse(json, clean);
      return isClean ? "unchanged" : JSON.stringify(cleaned);
    } catch {
      return "unreadable";
    }
  }
}

/** The characters that stand for each other in the alphabets of base64, and where a form writes a space as +. */
const ALIKE: Readonly<Record<string, string>> = {
  ...{ "+": "[-+ ]", "-": "[-+ ]", " ": "[-+ ]" },
  ...{ "/": "[/_]", _: "[/_]" },
};

const patternOf = (text: string): string =>
  text.replace(/[-+ /_]|[\\^$.*?()[\]{}|]/g, (letter) => ALIKE[letter] ?? `\\${letter}`);

/** The base64 of a secret within a longer text, for each of the three places at which it may begin. */
function base64Within(secret: string): string[] {
  const bytes = Buffer.from(secret);
  return [0, 1, 2]
    .map((before) => {
      const base64 = Buffer.concat([Buffer.alloc(before), bytes]).toString("base64");
      // The first and last letters also depend on the neighbours.
      const from = Math.ceil((before * 8) / 6);
      return base64.slice(from, Math.floor(((before + bytes.length) * 8) / 6));
    })
    .filter(({ length }) => length >= LEAST_BASE64_LENGTH);
}

const ENCODED = /(?:%[0-9a-f]{2})+|\\+u([0-9a-f]{4})|\\+/gi;

/** Decodes percent-encoding and the escapes of JSON. Invalid UTF-8 must not keep the rest of the text encoded. */
const decodedOnce = (text: string): string =>
  text.replace(ENCODED, (encoded, code?: string) => {
    if (code !== undefined) return String.fromCharCode(Number.parseInt(code, 16));
    return encoded.startsWith("%")
      ? Buffer.from(encoded.replaceAll("%", ""), "hex").toString()
      : "";
  });
