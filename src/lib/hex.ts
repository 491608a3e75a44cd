// Numbers as the wire writes them.

/** A QUANTITY: `0x`, hex digits, no leading zeros. */
export const toHex = (value: number | bigint): string => `0x${value.toString(16)}`;
