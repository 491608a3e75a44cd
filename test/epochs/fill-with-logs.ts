// A chain with many logs that filters match often: few contracts, topics and data; some epochs are empty, and some have
// more than one block.

import type { ConfluxNode } from "../support/conflux-nodes.ts";
import { openSender, type Sending } from "../support/conflux-sender.ts";
import { Random } from "../support/generated-chain/random.ts";
import { creationCode, type Emission, inputOf } from "./log-contract.ts";

export type LogWords = {
  readonly contracts: readonly string[];
  readonly topics: readonly string[];
};

const CONTRACTS = 3;
const TOPICS = ["0a", "0b", "0c", "0d"].map((byte) => `0x${byte.repeat(32)}`);
const DATA = ["0x", "0x01", `0x${"02".repeat(32)}`, `0x${"03".repeat(64)}`];

/** Fills a chain with at least so many logs over at least so many epochs. */
export async function fillWithLogs(
  node: ConfluxNode,
  { seed, epochs, logs }: { seed: number; epochs: number; logs: number },
): Promise<LogWords> {
  const random = new Random(seed);
  const sender = await openSender(node);
  const contracts: string[] = [];
  for (let count = 0; count < CONTRACTS; count += 1) {
    const { contractCreated } = await sender.mine({ data: creationCode, storageLimit: 2_000n });
    contracts.push(String(contractCreated));
  }
  const emissions = (): readonly Emission[] =>
    Array.from({ length: random.between([1, 6]) }, () => ({
      topics: Array.from({ length: random.below(5) }, () => random.one(TOPICS)),
      data: random.one(DATA),
    }));
  let told = 0;
  const sendings = (): Sending[] =>
    Array.from({ length: random.below(4) }, () => {
      const each = emissions();
      told += each.length;
      return { to: random.one(contracts), data: inputOf(each) };
    });
  let tip = await sender.tip();
  for (let count = 0; count < epochs || told < logs; count += 3) {
    const first = await sender.putBlock(tip, { sendings: sendings() });
    const second = await sender.putBlock(first, { sendings: sendings() });
    // A block beside a chain of two blocks is off the pivot chain; the next block takes it into its epoch.
    const referees =
      random.below(3) === 0 ? [await sender.putBlock(tip, { sendings: sendings() })] : [];
    tip = await sender.putBlock(second, { referees, sendings: sendings() });
  }
  await sender.bury(tip);
  return { contracts, topics: TOPICS };
}
