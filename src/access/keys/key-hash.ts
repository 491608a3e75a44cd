// The text of a key: a prefix that leak scanners look for, 160 random bits, and a checksum that tells a typo without
// asking anybody. Only its HMAC-SHA-256 with the installation's secret is stored. So a stolen state lets nobody in, and
// nobody can try texts against it.
import { hash, randomBytes } from "node:crypto";
import { crc32 } from "node:zlib";
import type { State } from "../../state/state.ts";

export type KeyHasher = {
  /** Differs between two secrets, and tells nothing about them. */
  readonly secretId: string;
  /** 32 bytes as latin1 text, since node:crypto gives texts four times as fast as buffers. */
  hash(keyText: string): string;
};

export type NewKey = {
  /** To be shown once. */
  readonly text: string;
  /** To be stored: base64url. */
  readonly hash: string;
  readonly secretId: string;
};

export function newKey(hasher: KeyHasher): NewKey {
  const text = keyTextOf(randomBytes(SECRET_BYTES));
  return { text, hash: base64url(hasher.hash(text)), secretId: hasher.secretId };
}

const SECRET = "keys secret";
const BLOCK_BYTES = 64;
const DIGEST_BYTES = 32;

/**
 * HMAC (RFC 2104) as two one-shot hashes over buffers that are prepared once. Every call needs it, and an Hmac object
 * costs four times as much.
 */
export function keyHasher(secret: string): KeyHasher {
  const given = Buffer.from(secret);
  const key = given.length > BLOCK_BYTES ? hash("sha256", given, "buffer") : given;
  const inner = Buffer.alloc(BLOCK_BYTES + LONGEST_KEY_BYTES);
  const outer = Buffer.alloc(BLOCK_BYTES + DIGEST_BYTES);
  for (let at = 0; at < BLOCK_BYTES; at++) {
    inner[at] = (key[at] ?? 0) ^ 0x36;
    outer[at] = (key[at] ?? 0) ^ 0x5c;
  }
  // "binary" is what node:crypto calls latin1.
  const hmac = (text: string): string => {
    const length = inner.write(text, BLOCK_BYTES, "latin1");
    const first = hash("sha256", inner.subarray(0, BLOCK_BYTES + length), "binary");
    outer.write(first, BLOCK_BYTES, "latin1");
    return hash("sha256", outer, "binary");
  };
  return { hash: hmac, secretId: base64url(hmac("secret id")).slice(0, 8) };
}

const base64url = (latin1: string): string => Buffer.from(latin1, "latin1").toString("base64url");

/** Key texts are ASCII, and shorter. */
const LONGEST_KEY_BYTES = 64;

/** The hasher of this installation. Where no secret is configured, the first gateway makes one and stores it. */
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

/** @param secret 20 random bytes. */
export function keyTextOf(secret: Buffer): string {
  const bare = KEY_PREFIX + base62(BigInt(`0x${secret.toString("hex")}`), SECRET_LENGTH);
  return bare + checksumOf(bare);
}

/** Whether a text may be one of the keys made here. One that only has the prefix is mistyped. */
export function isKeyText(text: string): boolean {
  if (!FORM.test(text)) return false;
  const end = KEY_PREFIX.length + SECRET_LENGTH;
  return text.slice(end) === checksumOf(text.slice(0, end));
}

export const KEY_PREFIX = "hg_";
/** 62^27 is more than 2^160, 62^6 more than 2^32. */
const SECRET_LENGTH = 27;
const CHECKSUM_LENGTH = 6;
const FORM = /^hg_[0-9A-Za-z]{33}$/;
const DIGITS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

function checksumOf(text: string): string {
  let rest = crc32(text);
  let digits = "";
  for (let at = 0; at < CHECKSUM_LENGTH; at++) {
    digits = DIGITS.charAt(rest % 62) + digits;
    rest = Math.floor(rest / 62);
  }
  return digits;
}

function base62(value: bigint, length: number): string {
  let rest = value;
  let digits = "";
  for (let at = 0; at < length; at++) {
    digits = DIGITS.charAt(Number(rest % 62n)) + digits;
    rest /= 62n;
  }
  return digits;
}
