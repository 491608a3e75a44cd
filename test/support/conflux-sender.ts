// Sends transactions to a conflux-rust node, or puts them into blocks at chosen places.
import { type ConfluxNode, SECRET } from "./conflux-nodes.ts";
import { until } from "./processes.ts";

export type Sending = { to?: string; data?: string; value?: bigint; storageLimit?: bigint };
export type Receipt = {
  transactionHash: string;
  blockHash: string;
  epochNumber: string;
  contractCreated: string | null;
};

const CUSTOM_BLOCK = { "2.4": "test_generatecustomblock", "3.0": "test_generateCustomBlock" };
type Account = { address: string; signTransaction(transaction: never): Promise<string> };

/** A node executes an epoch when so many epochs follow it. */
const DEFERRED = 5;

/** A sender with the account that has the genesis funds. */
export async function openSender(node: ConfluxNode): Promise<ConfluxSender> {
  // The package is not installed on all machines, like the nodes.
  const { privateKeyToAccount } = await import("cive/accounts");
  return new ConfluxSender(node, privateKeyToAccount(`0x${SECRET}`, { networkId: node.chainId }));
}

export class ConfluxSender {
  readonly address: string;
  readonly #node: ConfluxNode;
  readonly #account: Account;
  #nonce = 0;

  constructor(node: ConfluxNode, account: Account) {
    this.#node = node;
    this.#account = account;
    this.address = this.#account.address;
  }

  /** Signs a transaction with the next nonce. */
  async sign({ to, data, value = 0n, storageLimit = 0n }: Sending): Promise<string> {
    const nonce = this.#nonce;
    this.#nonce += 1;
    return this.#account.signTransaction({
      type: "legacy",
      chainId: this.#node.chainId,
      nonce,
      gas: 1_000_000n,
      gasPrice: 20_000_000_000n, // drip
      epochHeight: 0n, // valid up to epoch 100,000
      storageLimit,
      value,
      ...(to && { to }),
      ...(data && { data }),
    } as never);
  }

  /** Sends a transaction: the node mines five epochs, with the transaction in the first. */
  async mine(sending: Sending): Promise<Receipt> {
    const hash = await this.#node.call("cfx_sendRawTransaction", [await this.sign(sending)]);
    const look = () => this.#node.call("cfx_getTransactionReceipt", [hash]);
    return (await until(`${hash} is executed`, look)) as Receipt;
  }

  /** Puts a block on top of `parent`, on any branch; returns its hash. */
  async putBlock(
    parent: string,
    { referees = [], sendings = [] }: { referees?: string[]; sendings?: readonly Sending[] } = {},
  ): Promise<string> {
    const signed: string[] = [];
    for (const sending of sendings) signed.push(await this.sign(sending));
    const params = [parent, referees, rlpList(signed), false, null];
    const hash = await this.#node.call(CUSTOM_BLOCK[this.#node.generation], params);
    return String(hash);
  }

  /** Adds blocks until everything up to `parent` is executed. */
  async bury(parent: string): Promise<void> {
    let tip = parent;
    for (let count = 0; count < DEFERRED; count += 1) tip = await this.putBlock(tip);
    await until("the blocks are executed", async () => {
      const block = await this.#node.call("cfx_getBlockByEpochNumber", ["latest_state", false]);
      return (block as { parentHash?: string }).parentHash === parent;
    });
  }

  async tip(): Promise<string> {
    return String(await this.#node.call("cfx_getBestBlockHash", []));
  }

  /** Reads the nonce from the node: for use after transactions of others, or on another branch. */
  async learnNonce(): Promise<void> {
    this.#nonce = Number(await this.#node.call("cfx_getNextNonce", [this.address]));
  }

  /** The nonce of the next transaction; settable, to return to it on another branch. */
  get nonce(): number {
    return this.#nonce;
  }

  set nonce(nonce: number) {
    this.#nonce = nonce;
  }
}

function rlpList(items: readonly string[]): string {
  const bytes = Buffer.concat(items.map((item) => Buffer.from(item.slice(2), "hex")));
  if (bytes.length < 56)
    return `0x${Buffer.concat([Buffer.of(0xc0 + bytes.length), bytes]).toString("hex")}`;
  const digits = bytes.length.toString(16);
  const length = Buffer.from(digits.padStart(digits.length + (digits.length % 2), "0"), "hex");
  return `0x${Buffer.concat([Buffer.of(0xf7 + length.length), length, bytes]).toString("hex")}`;
}
