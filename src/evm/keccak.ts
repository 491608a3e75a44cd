// Keccak-256, the hash of Ethereum (not the standardised SHA3-256).
import { createKeccak } from "hash-wasm";

// WebAssembly is three times faster than JavaScript here (2.4 µs a short message); one instance is
// enough, since a hash is computed without giving way to anything else.
const keccak = await createKeccak(256);

/** The hash as DATA. */
export function keccak256(bytes: Uint8Array): string {
  const { buffer, byteOffset, byteLength } = keccakBytes(bytes);
  return `0x${Buffer.from(buffer, byteOffset, byteLength).toString("hex")}`;
}

export const keccakBytes = (bytes: Uint8Array): Uint8Array =>
  keccak.init().update(bytes).digest("binary");

/** The hash of the bytes that a DATA value stands for. */
export const keccak256OfData = (data: string): string =>
  keccak256(Buffer.from(data.slice(2), "hex"));
