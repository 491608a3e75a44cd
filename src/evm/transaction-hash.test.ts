import { Common, Hardfork, Mainnet } from "@ethereumjs/common";
import { createBlob4844Tx, createTx, type TypedTransaction } from "@ethereumjs/tx";
import { bytesToHex, hexToBytes, type KZG } from "@ethereumjs/util";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { keccak256OfData } from "./keccak.ts";
import { hashOfSigned } from "./transaction-hash.ts";

const customCrypto = { kzg: {} as KZG }; // required, never used
const commonOf = (hardfork: Hardfork) => new Common({ chain: Mainnet, hardfork, customCrypto });
const secret = hexToBytes(`0x${"46".repeat(32)}`);
const to = `0x${"11".repeat(20)}` as const;
const word = `0x${"33".repeat(32)}` as const;
const fields = { nonce: 7, gasLimit: 100_000, to, value: 5, data: "0xabcd" } as const;
const priced = { ...fields, gasPrice: 10_000_000_000n };
const capped = { ...fields, maxFeePerGas: 10_000_000_000n, maxPriorityFeePerGas: 1n };
const blobVersionedHashes = [`0x01${"22".repeat(31)}` as const];
const withBlob = { ...capped, maxFeePerBlobGas: 1n, blobVersionedHashes };
const authorization = {
  ...{ chainId: "0x1", address: to, nonce: "0x0" },
  ...{ yParity: "0x1", r: word, s: word },
};

const common = commonOf(Hardfork.Prague);
const signed = (given: object): TypedTransaction =>
  createTx(given as Parameters<typeof createTx>[0], { common }).sign(secret);
const hexOf = (transaction: TypedTransaction): string => bytesToHex(transaction.serialize());

/** A transaction with a blob of realistic size: the bytes that are sent, and the hash. */
function sentWithBlob(given: object, hardfork: Hardfork): { sent: string; hash: string } {
  const proof = `0x${"88".repeat(48)}` as const;
  const transaction = createBlob4844Tx(
    {
      ...withBlob,
      ...given,
      blobs: [`0x${"09".repeat(131_072)}`],
      kzgCommitments: [proof],
      kzgProofs: Array(hardfork === Hardfork.Osaka ? 128 : 1).fill(proof),
    },
    { common: commonOf(hardfork) },
  ).sign(secret);
  const sent = bytesToHex(transaction.serializeNetworkWrapper());
  return { sent, hash: bytesToHex(transaction.hash()) };
}

describe("the hash of a signed transaction", () => {
  it.each([
    ["legacy", { type: 0, ...priced }],
    ["EIP-2930", { type: 1, ...priced, accessList: [{ address: to, storageKeys: [word] }] }],
    ["EIP-1559", { type: 2, ...capped }],
    ["EIP-4844", { type: 3, ...withBlob }],
    ["EIP-7702", { type: 4, ...capped, authorizationList: [authorization] }],
  ])("of %s is known before it is sent", (_, given) => {
    const made = signed(given);
    expect(hashOfSigned(hexOf(made))).toEqual({ hash: bytesToHex(made.hash()), isCertain: true });
  });

  it.each([
    ["EIP-4844", Hardfork.Prague],
    ["EIP-7594", Hardfork.Osaka],
  ])("is without the blobs that travel with it, in the form of %s", (_, hardfork) => {
    const { sent, hash } = sentWithBlob({}, hardfork);
    expect(hashOfSigned(sent)).toEqual({ hash, isCertain: true });
    expect(hashOfSigned(`0x${sent.slice(2).toUpperCase()}`)).toEqual({ hash, isCertain: true });
  });

  it("is that of any legacy, EIP-1559 or blob transaction", () => {
    const byChance = fc.record({
      nonce: fc.bigInt({ min: 0n, max: 2n ** 64n - 2n }),
      value: fc.bigInt({ min: 0n, max: 2n ** 90n }),
      data: fc.uint8Array({ maxLength: 700 }),
      gasLimit: fc.bigInt({ min: 60_000n, max: 16_000_000n }),
    });
    const kind = fc.constantFrom({ type: 0, ...priced }, { type: 2, ...capped });
    fc.assert(
      fc.property(kind, byChance, (basis, given) => {
        const made = signed({ ...basis, ...given });
        expect(hashOfSigned(hexOf(made)).hash).toBe(bytesToHex(made.hash()));
      }),
    );
    fc.assert(
      fc.property(byChance, (given) => {
        const { sent, hash } = sentWithBlob(given, Hardfork.Prague);
        expect(hashOfSigned(sent).hash).toBe(hash);
      }),
      { numRuns: 10 },
    );
  });

  it("of a type that only some network knows is not certain", () => {
    for (const raw of ["0x71c0", "0x7ec0", "0x05c0", "0x", "0x00"]) {
      expect(hashOfSigned(raw)).toEqual({ hash: keccak256OfData(raw), isCertain: false });
    }
  });

  it.each([
    "0x03", // nothing after the type
    "0x03f8", // a missing length field
    "0x03ff", // a missing length field of eight bytes
    "0x03ffffffffffffffffff",
    "0x03c0", // an empty list
    "0x03c1c1", // a transaction longer than its list
    "0x03c3c105", // no blobs, and an incomplete list
    "0x0383010203", // no list at all
    "0x0380c105", // a list behind an empty string
  ])("of the malformed %s is that of its bytes", (raw) => {
    expect(hashOfSigned(raw).hash).toBe(keccak256OfData(raw));
  });

  it("is found without falling, whatever the bytes", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 40 }), (bytes) => {
        expect(hashOfSigned(`0x03${Buffer.from(bytes).toString("hex")}`).hash).toHaveLength(66);
      }),
    );
  });
});
