// The text of a key: a prefix that leak scanners look for, 160 random bits, and a checksum that detects typos without a
// lookup. The state has only its HMAC-SHA-256, so a stolen state lets nobody in. Where the configuration has the secret,
// nobody can even try texts against a stolen state.
import { createHmac, randomBytes } from "node:crypto";
import { crc32 } from "node:zlib";
import type { State } from "../../state/state.ts";

export type KeyHasher = {
  /** An identifier of the secret, from which the secret cannot be derived. */
  readonly secretId: string;
  /** The hash of a key's text: 32 bytes as latin1 text. */
  hash(keyText: string): string;
};

export type NewKey = {
  /** The key itself, to be shown once. */
  readonly text: string;
  /** The hash to be stored, in base64url. */
  readonly hash: string;
  readonly secretId: string;
};

export function newKey(hasher: KeyHasher): NewKey {
  const text = keyTextOf(randomBytes(SECRET_BYTES));
  return { text, hash: base64url(hasher.hash(text)), secretId: hasher.secretId };
}

const SECRET = "keys secret";

/** A hasher that makes HMAC-SHA-256 with the secret. */
export function keyHasher(secret: string): KeyHasher {
  const hmac = (text: string): string => createHmac("sha256", secret).update(text).digest("binary");
  return { hash: hmac, secretId: base64url(hmac("secret id")).slice(0, 8) };
}

const base64url = (latin1: string): string => Buffer.from(latin1, "latin1").toString("base64url");

/** The hasher of this installation. Where no secret is configured, the first gateway makes a secret and stores it. */
export async function openKeyHasher(
  options: { secret: string | undefined },
  state: Pick<State, "get" | "update">,
): Promise<KeyHasher> {
  return keyHasher(options.secret ?? (await keptSecret(state)));
}

async function keptSecret(state: Pick<State, "get" | "update">): Promise<string> {
  const kept = await state.get(SECRET);
  if (kept !== undefined) return kept;
  const made = randomBytes(32).toString("base64url");
  const { texts } = await state.update([SECRET], ([there]) =>
    there === undefined ? [made] : undefined,
  );
  return texts[0] ?? made;
}

const SECRET_BYTES = 20;

/** The text of a key. @param secret 20 random bytes. */
export function keyTextOf(secret: Buffer): string {
  const bare = KEY_PREFIX + base62(BigInt(`0x${secret.toString("hex")}`), SECRET_LENGTH);
  return bare + checksumOf(bare);
}

/** Whether a text has the form and the checksum of a made key. A text with only the prefix is mistyped. */
export function isKeyText(text: string): boolean {
  if (!FORM.test(text)) return false;
  const end = KEY_PREFIX.length + SECRET_LENGTH;
  return text.slice(end) === checksumOf(text.slice(0, end));
}

export const KEY_PREFIX = "hg_";
/** In base62 digits: 62^27 is more than 2^160, and 62^6 is more than 2^32. */
const SECRET_LENGTH = 27;
const CHECKSUM_LENGTH = 6;
const FORM = /^hg_[0-9A-Za-z]{33}$/;
const DIGITS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

const checksumOf = (text: string): string => base62(BigInt(crc32(text)), CHECKSUM_LENGTH);

function base62(value: bigint, length: number): string {
  let rest = value;
  let digits = "";
  for (let at = 0; at < length; at++) {
    digits = DIGITS.charAt(Number(rest % 62n)) + digits;
    rest /= 62n;
  }
  return digits;
}
