// Which code runs at an address: what was there before the transaction, what the transaction created
// there since, and where an account lets another one's code run for it.
const DELEGATION = /^0xef0100[0-9a-f]{40}$/i; // EIP-7702

export class CodeBook {
  readonly #codeBefore: (address: string) => string | undefined;
  readonly #created = new Map<string, string>();

  constructor(codeBefore: (address: string) => string | undefined) {
    this.#codeBefore = codeBefore;
  }

  /** undefined when it is not known. */
  codeAt(address: string): string | undefined {
    const code = this.#codeOf(address);
    return code && DELEGATION.test(code) ? this.#codeOf(`0x${code.slice(8)}`) : code;
  }

  /** `address` as a QUANTITY. What is undone later is never asked for, as nothing runs there. */
  deploy(address: string, code: string): void {
    this.#created.set(`0x${address.slice(2).padStart(40, "0")}`, code);
  }

  #codeOf(address: string): string | undefined {
    return this.#created.get(address) ?? this.#codeBefore(address);
  }
}
