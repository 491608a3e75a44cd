// Random chains that grow and reorganise: after each step the followed chain answers like a naive model, for every
// lookup and for random log filters.
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, expect, it } from "vitest";
import type { Chain } from "../../src/chain/chain.ts";
import type { ChainView } from "../../src/chain/chain-view.ts";
import { matcherOf } from "../../src/evm/log-filter.ts";
import { atDepth } from "../support/depth.ts";
import { followChain } from "../support/followed-chain.ts";
import { answerOf, matches } from "../support/generated-chain/answers.ts";
import { Random } from "../support/generated-chain/random.ts";
import { GeneratedChain } from "../support/generated-chain.ts";

const WINDOW = 24;
const STEPS = 12;
const folders: string[] = [];
const chains: Chain[] = [];

afterEach(async () => {
  await Promise.all(chains.splice(0).map((chain) => chain.close()));
  await Promise.all(folders.splice(0).map((path) => rm(path, { recursive: true, force: true })));
});

async function followed(model: GeneratedChain, path: string) {
  const { chain, settled } = await followChain(model, { path, windowBlocks: WINDOW });
  chains.push(chain);
  return { chain, settled };
}

async function newFolder(): Promise<string> {
  const path = await mkdtemp(join(tmpdir(), "headgate-model-"));
  folders.push(path);
  return path;
}

function change(model: GeneratedChain, random: Random): void {
  const depth = 1 + random.below(10);
  switch (random.below(4)) {
    case 0:
      model.reorganise(depth, depth + random.below(3));
      return;
    case 1:
      if (random.below(3) === 0) model.rollBack(Math.min(depth, 3));
      else model.extend(1);
      return;
    default:
      model.extend(1 + random.below(6));
  }
}

function expectLookupsToAgree(
  view: ChainView,
  model: GeneratedChain,
  seen: ReadonlySet<string>,
): void {
  for (let number = view.tail; number <= model.head.number; number += 1) {
    const block = view.blockAt(number);
    const told = (method: string, ...params: unknown[]): string | undefined =>
      answerOf(model, method, params);
    expect(block?.hash).toBe(model.block(number)?.hash);
    expect(String(block?.withHashes())).toBe(told("eth_getBlockByHash", block?.hash, false));
    expect(String(block?.withTransactions())).toBe(told("eth_getBlockByHash", block?.hash, true));
    expect(String(block?.receipts())).toBe(told("eth_getBlockReceipts", block?.hash));
  }
  for (const hash of seen) {
    const expected = model.position(hash);
    const position = view.transaction(hash);
    if (!expected || expected.block.number < view.tail) {
      expect(position).toBeUndefined();
      continue;
    }
    expect([position?.block.hash, position?.index]).toEqual([expected.block.hash, expected.index]);
    expect(String(position?.block.transaction(expected.index))).toBe(
      answerOf(model, "eth_getTransactionByHash", [hash]),
    );
    expect(String(position?.block.receipt(expected.index))).toBe(
      answerOf(model, "eth_getTransactionReceipt", [hash]),
    );
  }
}

async function expectLogsToAgree(
  view: ChainView,
  model: GeneratedChain,
  random: Random,
): Promise<void> {
  const { addresses, topics } = model.words;
  const some = (values: readonly string[]): string[] =>
    Array.from({ length: random.below(3) }, () => random.one(values));
  for (let tries = 0; tries < 50; tries += 1) {
    const from = view.tail + random.below(model.head.number - view.tail + 1);
    const to = from + random.below(model.head.number - from + 1);
    const filter = {
      address: some(addresses),
      topics: Array.from({ length: random.below(4) }, () =>
        random.below(2) ? null : some(topics),
      ),
    };
    const expected: string[] = [];
    for (let number = from; number <= to; number += 1)
      for (const log of model.block(number)?.logs ?? [])
        if (matches(log, filter)) expected.push(log.json);
    const most = Number.POSITIVE_INFINITY;
    const found = await view.logs({ matcher: matcherOf(filter), range: { from, to }, most });
    expect(found?.all().map(String)).toEqual(expected);
  }
}

it.each(Array.from({ length: atDepth(4, 20) }, (_, index) => index + 1))(
  "agrees with the model after each of its steps, seed %i",
  async (seed) => {
    const random = new Random(seed * 7919);
    const model = new GeneratedChain({ seed, addresses: 5, topics: 6 });
    model.extend(random.below(40));
    const path = await newFolder();
    let { chain, settled } = await followed(model, path);
    const seen = new Set<string>();
    for (let step = 0; step < STEPS; step += 1) {
      if (step === STEPS / 2) {
        // Opens the same store again.
        await chain.close();
        chains.splice(chains.indexOf(chain), 1);
        ({ chain, settled } = await followed(model, path));
      }
      change(model, random);
      const view = await settled();
      for (let number = view.tail; number <= model.head.number; number += 1)
        for (const { hash } of model.block(number)?.signed ?? []) seen.add(hash);
      expectLookupsToAgree(view, model, seen);
      await expectLogsToAgree(view, model, random);
    }
  },
);
