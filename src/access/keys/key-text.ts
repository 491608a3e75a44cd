// The text of a key: a prefix that leak scanners look for, 160 random bits, and a checksum that tells a
// typo from a key without asking anybody.
import { crc32 } from "node:zlib";

export const SECRET_BYTES = 20;

/** @param secret 20 random bytes. */
export function keyTextOf(secret: Buffer): string {
  const bare = PREFIX + base62(BigInt(`0x${secret.toString("hex")}`), SECRET_LENGTH);
  return bare + checksumOf(bare);
}

/** Whether a text is to be looked for among the keys made here; one that only begins so has a typo. */
export function isKeyText(text: string): boolean {
  if (!FORM.test(text)) return false;
  const end = PREFIX.length + SECRET_LENGTH;
  return text.slice(end) === checksumOf(text.slice(0, end));
}

export const looksLikeKeyText = (text: string): boolean => text.startsWith(PREFIX);

const PREFIX = "hg_";
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
