// The addresses that run a node's own code: 0x01 to 0x11 (Frontier to Prague), and 0x0100 (Osaka).

const PRECOMPILE = /^0x0{36}(00(0[1-9a-f]|1[01])|0100)$/i;

export const isPrecompile = (address: unknown): boolean =>
  typeof address === "string" && PRECOMPILE.test(address);

/** Before the fork that made it a precompile it was an account like any without code. */
export const wasPrecompile = (address: unknown, gasUsed: unknown): boolean =>
  isPrecompile(address) && (gasUsed !== "0x0" || address === MODEXP);

/** The only one that can be for nothing. */
const MODEXP = `0x${"5".padStart(40, "0")}`;
