// Finds the chain of a network where the configuration does not name it: asks the nodes once, and keeps their answer in
// the state. The kept chain counts from then on: a node that later tells another one is kept out.
import { z } from "zod";
import type { ChainFacts } from "../config/known-chains.ts";
import { parsed } from "../jsonrpc/raw-json.ts";
import type { Clock } from "../lib/clock.ts";
import type { Secrets } from "../lib/secrets.ts";
import { deadline } from "../lib/waiting.ts";
import type { State } from "../state/state.ts";
import type { Connection } from "./connection/connection.ts";
import { readChainId } from "./identity.ts";
import { withoutSecrets } from "./redact.ts";
import { nodeCallerOf, type Reply } from "./reply.ts";

/** The chain that a node tells, or the reason why it tells none, in plain words without secrets. */
export type ChainAnswer = { readonly upstream: string; readonly answer: ChainFacts | string };

export type Discovery =
  | { readonly kind: "chain"; readonly facts: ChainFacts; readonly silent: readonly ChainAnswer[] }
  | { readonly kind: "disagree" | "silent"; readonly answers: readonly ChainAnswer[] };

export type NodeToAsk = {
  readonly upstream: string;
  /** The texts to remove from the node's own words. */
  readonly secrets: Secrets;
  readonly connect: () => Connection;
};

type AskOptions = { readonly timeoutMs: number };

/** Asks all nodes at the same time. Silent nodes do not count; when two disagree, no chain is found. Never rejects. */
export async function discoverChain(
  nodes: readonly NodeToAsk[],
  options: AskOptions,
  parts: { readonly clock: Clock },
): Promise<Discovery> {
  const answers = await Promise.all(nodes.map((node) => askChain(node, options, parts)));
  const told = answers.flatMap(({ answer }) => (typeof answer === "string" ? [] : [answer]));
  const [facts, ...others] = told;
  if (!facts) return { kind: "silent", answers };
  if (others.some((other) => !isSameChain(facts, other))) return { kind: "disagree", answers };
  return {
    kind: "chain",
    facts,
    silent: answers.filter(({ answer }) => typeof answer === "string"),
  };
}

const isSameChain = (one: ChainFacts, other: ChainFacts): boolean =>
  one.family === other.family && one.chainId === other.chainId;

/** Asks one node for its chain, first with the method of EVM nodes, then with that of Conflux nodes. Never rejects. */
export async function askChain(
  { upstream, secrets, connect }: NodeToAsk,
  { timeoutMs }: AskOptions,
  { clock }: { readonly clock: Clock },
): Promise<ChainAnswer> {
  const connection = connect();
  const { signal, done } = deadline(timeoutMs, new AbortController().signal, clock);
  const askIt = nodeCallerOf(connection, signal);
  const ask = async (method: string): Promise<Reply> =>
    withoutSecrets(await askIt(method), { isOfChain: false }, secrets);
  try {
    let why = "";
    for (const family of ["evm", "conflux"] as const) {
      const chainId = await readChainId(family, ask);
      // No chain has the id 0.
      if (typeof chainId === "number" && chainId > 0)
        return { upstream, answer: { family, chainId } };
      if (signal.aborted) {
        const answer = `no answer within ${timeoutMs / 1000} s: is the host right, and does a firewall let this machine through?`;
        return { upstream, answer };
      }
      if (family === "evm") why = typeof chainId === "string" ? chainId : "chain id 0";
    }
    return { upstream, answer: why };
  } catch (error) {
    return { upstream, answer: error instanceof Error ? error.message : "no answer" };
  } finally {
    done();
    await connection.close();
  }
}

const kept = z.object({
  family: z.enum(["evm", "conflux"]),
  chainId: z.number().int().positive(),
});

const keyOf = (network: string): string => `chains ${network}`;

/** Reads the kept chain of a network; undefined where none is kept. */
export async function readChainFacts(
  network: string,
  state: Pick<State, "get">,
): Promise<ChainFacts | undefined> {
  return factsIn(await state.get(keyOf(network)));
}

const factsIn = (text = ""): ChainFacts | undefined => kept.safeParse(parsed(text)).data;

/** Keeps the found chain, unless another gateway kept one before. @returns The chain that is kept now. */
export async function keepChainFacts(
  network: string,
  facts: ChainFacts,
  state: Pick<State, "update">,
): Promise<ChainFacts> {
  const { family, chainId } = facts;
  const found = JSON.stringify({ family, chainId });
  const { texts } = await state.update([keyOf(network)], ([there]) =>
    there === undefined ? [found] : undefined,
  );
  return factsIn(texts[0]) ?? facts;
}
