// Sessions of browsers: a cookie stands for a token that was shown once, so that no page has to keep the token. They
// are in memory: after a restart operators show their tokens again.
import { hash, randomBytes } from "node:crypto";

/** However it is used. */
const LASTS_MS = 12 * 3_600_000;
/** Of each token; the oldest one ends when another begins. */
const MOST_OF_A_TOKEN = 20;

type Session = { readonly tokenDigest: string; readonly endsAtMs: number };

export class Sessions {
  /** By the digest of the cookie's text; the oldest first. */
  readonly #open = new Map<string, Session>();

  /** @param tokenDigest Of the token that was shown. @returns The cookie's text, and how long it is good for. */
  begin(tokenDigest: string, nowMs: number): { readonly text: string; readonly lastsMs: number } {
    for (const [digest, { endsAtMs }] of this.#open)
      if (endsAtMs <= nowMs) this.#open.delete(digest);
    const own = [...this.#open].filter(([, session]) => session.tokenDigest === tokenDigest);
    for (const [digest] of own.slice(0, Math.max(0, own.length + 1 - MOST_OF_A_TOKEN)))
      this.#open.delete(digest);
    const text = randomBytes(32).toString("base64url");
    this.#open.set(digestOf(text), { tokenDigest, endsAtMs: nowMs + LASTS_MS });
    return { text, lastsMs: LASTS_MS };
  }

  /** The digest of the token that a cookie stands for. */
  tokenDigestOf(text: string, nowMs: number): string | undefined {
    const session = this.#open.get(digestOf(text));
    return session && session.endsAtMs > nowMs ? session.tokenDigest : undefined;
  }

  end(text: string): void {
    this.#open.delete(digestOf(text));
  }
}

const digestOf = (text: string): string => hash("sha256", text, "base64url");
