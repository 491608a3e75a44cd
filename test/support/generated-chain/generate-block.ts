// One block with its receipts, valid by all its hashes, as geth writes them. The state is invented.
import { addToBloom, bytesOf, hexOf, keccak, listRoot, minimal, rlp } from "./encoding.ts";
import type { Random } from "./random.ts";

export type GeneratedLog = {
  readonly address: string;
  readonly topics: readonly string[];
  readonly logIndex: number;
  /** The log as it is in the receipt. */
  readonly json: string;
};

export type GeneratedBlock = {
  readonly number: number;
  readonly hash: string;
  readonly parentHash: string;
  readonly timestamp: number;
  /** With whole transactions. */
  readonly blockJson: string;
  readonly receiptsJson: string;
  readonly signed: readonly Signed[];
  readonly logs: readonly GeneratedLog[];
};

/** A transaction before its inclusion: several branches may include it. */
export type Signed = {
  readonly hash: string;
  readonly encoded: Buffer;
  readonly fields: Readonly<Record<string, unknown>>;
  readonly type: number;
  readonly events: readonly { address: string; topics: readonly string[]; data: string }[];
};

export type Vocabulary = {
  readonly addresses: readonly string[];
  readonly topics: readonly string[];
  /** One log in so many is of the first address. */
  readonly busy: number;
  /** The lengths of the logs' data, in words of 32 bytes. */
  readonly dataWords: readonly number[];
};

const quantity = (value: number | bigint): string => `0x${value.toString(16)}`;

/** @param logs The number of logs that the transaction emits. */
export function generateTransaction(logs: number, words: Vocabulary, random: Random): Signed {
  const type = random.one([0, 1, 2, 2, 2]);
  const common = {
    nonce: quantity(random.below(1000)),
    gas: quantity(21_000 + random.below(500_000)),
    to: random.below(50) === 0 ? null : random.one(words.addresses),
    value: random.quantity(8),
    input: random.hex(4) + wordsOf(random.one([0, 0, 2, 2, 3, 8]), random).slice(2),
    r: random.quantity(32),
    s: random.quantity(32),
  };
  const parity = random.below(2);
  const { nonce, gas, to, value, input, r, s } = common;
  const target = to === null ? Buffer.alloc(0) : bytesOf(to);
  const tail = [minimal(gas), target, minimal(value), bytesOf(input)];
  const signature = [minimal(r), minimal(s)];
  const price = quantity(2_000_000_000 + random.below(1_000_000_000));
  if (type === 0) {
    const v = quantity(27 + parity);
    const encoded = rlp([minimal(nonce), minimal(price), ...tail, minimal(v), ...signature]);
    return signed(encoded, { ...common, type: "0x0", gasPrice: price, v }, words, logs, random);
  }
  const yParity = quantity(parity);
  const accessList = [{ address: random.one(words.addresses), storageKeys: [random.hex(32)] }];
  const list = accessList.map(({ address, storageKeys }) => [
    bytesOf(address),
    storageKeys.map(bytesOf),
  ]);
  const typed = {
    ...common,
    type: quantity(type),
    chainId: "0x1",
    accessList,
    v: yParity,
    yParity,
  };
  if (type === 1) {
    const fields = [
      minimal("0x1"),
      minimal(nonce),
      minimal(price),
      ...tail,
      list,
      minimal(yParity),
      ...signature,
    ];
    const encoded = Buffer.concat([Buffer.of(1), rlp(fields)]);
    return signed(encoded, { ...typed, gasPrice: price }, words, logs, random);
  }
  const tip = quantity(1 + random.below(1_000_000_000));
  const most = quantity(3_000_000_000 + random.below(1_000_000_000));
  const fields = [
    minimal("0x1"),
    minimal(nonce),
    minimal(tip),
    minimal(most),
    ...tail,
    list,
    minimal(yParity),
    ...signature,
  ];
  const encoded = Buffer.concat([Buffer.of(2), rlp(fields)]);
  const fees = { maxPriorityFeePerGas: tip, maxFeePerGas: most };
  return signed(encoded, { ...typed, ...fees }, words, logs, random);
}

function signed(
  encoded: Buffer,
  fields: Readonly<Record<string, unknown>>,
  words: Vocabulary,
  logs: number,
  random: Random,
): Signed {
  const events = Array.from({ length: logs }, () => ({
    address:
      random.below(words.busy) === 0 ? (words.addresses[0] ?? "") : random.one(words.addresses),
    topics: Array.from({ length: random.one([0, 1, 2, 3, 3, 3, 4]) }, () =>
      random.one(words.topics),
    ),
    data: wordsOf(random.one(words.dataWords), random),
  }));
  const from = random.hex(20);
  const hash = hexOf(keccak(encoded));
  return { hash, encoded, type: Number(fields["type"]), fields: { ...fields, from, hash }, events };
}

/** Log data as most contracts write it: small numbers or addresses, in 32 bytes each. */
const wordsOf = (count: number, random: Random): string =>
  `0x${Array.from({ length: count }, () =>
    random
      .hex(random.one([4, 8, 20]))
      .slice(2)
      .padStart(64, "0"),
  ).join("")}`;

const BASE_FEE = 1_000_000_000;
const EMPTY_UNCLES = "0x1dcc4de8dec75d7aab85b567b6ccd41ad312451b948a7413f0a142fd40d49347";

export function generateBlock(
  position: { number: number; parentHash: string; timestamp: number },
  transactions: readonly Signed[],
  random: Random,
): GeneratedBlock {
  const bloom = Buffer.alloc(256);
  const made = transactions.map((transaction) => receiptOf(transaction, bloom, random));
  let gasUsed = 0;
  const receipts = made.map((receipt) => {
    gasUsed += receipt.gasUsed;
    return { ...receipt, cumulativeGasUsed: gasUsed };
  });
  const withdrawals = Array.from({ length: random.below(3) }, (_, index) => ({
    index: quantity(position.number * 16 + index),
    validatorIndex: quantity(random.below(1_000_000)),
    address: random.hex(20),
    amount: random.quantity(4),
  }));
  const header = {
    parentHash: position.parentHash,
    sha3Uncles: EMPTY_UNCLES,
    miner: random.hex(20),
    stateRoot: random.hex(32),
    transactionsRoot: listRoot(transactions.map(({ encoded }) => encoded)),
    receiptsRoot: listRoot(receipts.map(encodeReceipt)),
    logsBloom: hexOf(bloom),
    difficulty: "0x0",
    number: quantity(position.number),
    gasLimit: quantity(200_000_000),
    gasUsed: quantity(gasUsed),
    timestamp: quantity(position.timestamp),
    extraData: random.hex(8),
    mixHash: random.hex(32),
    nonce: "0x0000000000000000",
    baseFeePerGas: quantity(BASE_FEE),
    withdrawalsRoot: listRoot(
      withdrawals.map(({ index, validatorIndex, address, amount }) =>
        rlp([minimal(index), minimal(validatorIndex), bytesOf(address), minimal(amount)]),
      ),
    ),
    blobGasUsed: "0x0",
    excessBlobGas: "0x0",
    parentBeaconBlockRoot: random.hex(32),
    requestsHash: random.hex(32),
  };
  const hash = hexOf(
    keccak(
      rlp(
        Object.entries(header).map(([name, value]) =>
          NUMBERS.has(name) ? minimal(value) : bytesOf(value),
        ),
      ),
    ),
  );
  const { blockNumber, blockHash } = { blockNumber: header.number, blockHash: hash };
  const logs: GeneratedLog[] = [];
  const transactionsJson = transactions.map((transaction, index) =>
    JSON.stringify({
      blockHash,
      blockNumber,
      ...transaction.fields,
      ...priceOf(transaction),
      transactionIndex: quantity(index),
    }),
  );
  const receiptsJson = transactions.map((transaction, index) => {
    const receipt = receipts[index];
    const at = {
      blockNumber,
      transactionHash: transaction.hash,
      transactionIndex: quantity(index),
      blockHash,
    };
    const own = transaction.events.map((event) => {
      const logIndex = logs.length;
      const json = JSON.stringify({
        ...event,
        ...at,
        blockTimestamp: header.timestamp,
        logIndex: quantity(logIndex),
        removed: false,
      });
      logs.push({ address: event.address, topics: event.topics, logIndex, json });
      return json;
    });
    const { to, from } = transaction.fields as { to: string | null; from: string };
    const members = JSON.stringify({
      ...at,
      from,
      to,
      cumulativeGasUsed: quantity(receipt?.cumulativeGasUsed ?? 0),
      gasUsed: quantity(receipt?.gasUsed ?? 0),
      contractAddress: to === null ? createdBy(transaction) : null,
      logsBloom: hexOf(receipt?.bloom ?? Buffer.alloc(256)),
      status: receipt?.status,
      effectiveGasPrice: priceOf(transaction).gasPrice,
      type: quantity(transaction.type),
    });
    return `${members.slice(0, -1)},"logs":[${own.join(",")}]}`;
  });
  const members = JSON.stringify({ hash, ...header, size: "0x400", uncles: [], withdrawals });
  return {
    ...position,
    hash,
    blockJson: `${members.slice(0, -1)},"transactions":[${transactionsJson.join(",")}]}`,
    receiptsJson: `[${receiptsJson.join(",")}]`,
    signed: transactions,
    logs,
  };
}

const NUMBERS: ReadonlySet<string> = new Set([
  "difficulty",
  "number",
  "gasLimit",
  "gasUsed",
  "timestamp",
  "baseFeePerGas",
  "blobGasUsed",
  "excessBlobGas",
]);

type Receipt = {
  readonly type: number;
  readonly status: string;
  readonly gasUsed: number;
  readonly bloom: Buffer;
  readonly events: Signed["events"];
};

function receiptOf({ type, events }: Signed, blockBloom: Buffer, random: Random): Receipt {
  const bloom = Buffer.alloc(256);
  for (const { address, topics } of events)
    for (const value of [address, ...topics]) addToBloom(bloom, value);
  for (const [at, byte] of bloom.entries()) if (byte) blockBloom[at] = (blockBloom[at] ?? 0) | byte;
  const status = events.length > 0 || random.below(10) > 0 ? "0x1" : "0x0";
  return { type, status, gasUsed: 21_000 + random.below(100_000), bloom, events };
}

function encodeReceipt({
  type,
  status,
  cumulativeGasUsed,
  bloom,
  events,
}: Receipt & { cumulativeGasUsed: number }): Buffer {
  const logs = events.map(({ address, topics, data }) => [
    bytesOf(address),
    topics.map(bytesOf),
    bytesOf(data),
  ]);
  const encoded = rlp([minimal(status), minimal(quantity(cumulativeGasUsed)), bloom, logs]);
  return type === 0 ? encoded : Buffer.concat([Buffer.of(type), encoded]);
}

function priceOf({ fields }: Signed): { gasPrice: string } {
  const { gasPrice, maxFeePerGas, maxPriorityFeePerGas } = fields as Record<
    string,
    string | undefined
  >;
  if (gasPrice !== undefined) return { gasPrice };
  return {
    gasPrice: quantity(Math.min(Number(maxFeePerGas), BASE_FEE + Number(maxPriorityFeePerGas))),
  };
}

const createdBy = ({ fields }: Signed): string =>
  hexOf(
    keccak(rlp([bytesOf(String(fields["from"])), minimal(String(fields["nonce"]))])).subarray(12),
  );
