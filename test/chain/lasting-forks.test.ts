// Two nodes on two branches that both grow for long, and lead in turns: whatever a caller is told at one time is of one
// branch, filters and subscriptions go from one to the other through the block where they parted, and nothing is ever
// made of both.
import { afterEach, beforeEach, expect, it } from "vitest";
import { nodeAnswer, stateOf } from "../faults/node-answers.ts";
import { ExpectedLogs } from "../subscriptions/expected-notifications.ts";
import { post, read } from "../support/ask.ts";
import { atDepth } from "../support/depth.ts";
import { type RunningGateway, startGatewayProcess } from "../support/gateway-process.ts";
import { GeneratedChain } from "../support/generated-chain.ts";
import { until } from "../support/processes.ts";
import { type ScriptedNode, startScriptedNode } from "../support/scripted-node.ts";
import { SocketCaller } from "../support/socket-caller.ts";

type Log = { readonly blockHash: string; readonly blockNumber: string };
type Head = { readonly number: string; readonly hash: string; readonly parentHash: string };

/**
 * The leading node changes so often. A turn makes both branches about nine blocks longer. The window must keep the block
 * where they parted: the gateway refuses a branch that lacks the oldest block of the window while another node has it.
 */
const TURNS = atDepth(6, 20);
const WINDOW_BLOCKS = 500;
/** A leader is so many blocks ahead at the end of its turn. */
const LEAD = 3;
const ACCOUNT = `0x${"11".repeat(20)}`;

let chains: readonly [GeneratedChain, GeneratedChain];
let nodes: readonly ScriptedNode[];
let gateway: RunningGateway;
let url: string;
let first: number;
let pushes = 0;

beforeEach(async () => {
  const make = () =>
    new GeneratedChain({ seed: 11, transactions: [1, 3], logs: [1, 4], blockSeconds: 0 });
  chains = [make(), make()];
  for (const chain of chains) chain.extend(20);
  first = chains[0].head.number;
  nodes = await Promise.all(
    chains.map((chain) =>
      startScriptedNode(
        ({ id, method, params }) =>
          `{"jsonrpc":"2.0","id":${JSON.stringify(id)},${nodeAnswer(chain, method, params)}}`,
      ),
    ),
  );
  gateway = await startGatewayProcess({
    networks: {
      main: {
        ...{ family: "evm", chainId: 1, window: { blocks: WINDOW_BLOCKS } },
        upstreams: nodes.map((node, index) => ({ name: `node-${index}`, url: node.url })),
      },
    },
  });
  url = gateway.endpoint("main");
  await follows(chains[0]);
});
afterEach(async () => {
  expect(gateway.process).toMatchObject({ exitCode: null, signalCode: null });
  expect(await gateway.stop()).toBe(0);
  await Promise.all(nodes.map((node) => node.close()));
});

const follows = (chain: GeneratedChain): Promise<unknown> =>
  until("the chain is followed", async () => {
    const body = callOf("eth_getBlockByNumber", ["latest", false]);
    const response = await post(url, JSON.stringify(body));
    const { result } = (await response.json()) as { result?: Head };
    return (
      response.headers.get("x-headgate-source") === "store" && result?.hash === chain.head.hash
    );
  });

const callOf = (method: string, params: readonly unknown[], id = 1) => ({
  ...{ jsonrpc: "2.0", id, method, params },
});

/** The whole truth about a moment, in one batch. Throws unless all of it is of one branch. */
async function lookAround(): Promise<Head> {
  const asked = [
    callOf("eth_getBlockByNumber", ["latest", false], 0),
    callOf("eth_getLogs", [{ fromBlock: `0x${(first - 5).toString(16)}`, toBlock: "latest" }], 1),
    callOf("eth_getBalance", [ACCOUNT, "latest"], 2),
    callOf("eth_blockNumber", [], 3),
    callOf("eth_getBlockByNumber", ["safe", false], 4),
    callOf("eth_getBlockByNumber", ["finalized", false], 5),
    callOf("eth_getBlockReceipts", ["latest"], 6),
    callOf("eth_call", [{ to: ACCOUNT, data: "0x" }, "latest"], 7),
  ];
  const response = await post(url, JSON.stringify(asked));
  const answers = (await response.json()) as { result?: unknown; error?: unknown }[];
  for (const { error } of answers) expect(error).toBeUndefined();
  const [head, logs, balance, number, safe, finalized, receipts, called] = answers.map(
    ({ result }) => result,
  ) as [Head, Log[], string, string, Head, Head, { blockHash: string }[], string];
  const branch = chains.find((each) => each.block(Number(head.number))?.hash === head.hash);
  expect(branch, `head ${head.number} is of a branch`).toBeDefined();
  const isOfBranch = (hash: string, at: number): void =>
    expect(branch?.block(at)?.hash, `block ${at}`).toBe(hash);
  expect(number).toBe(head.number);
  for (const log of logs) isOfBranch(log.blockHash, Number(log.blockNumber));
  const blocks = Array.from({ length: Number(head.number) - first + 6 }, (_, at) => first - 5 + at);
  expect(logs).toHaveLength(
    blocks.reduce((sum, at) => sum + (branch?.block(at)?.logs.length ?? 0), 0),
  );
  expect(balance).toBe(stateOf("eth_getBalance", ACCOUNT, head.hash));
  expect(called).toBe(stateOf("eth_call", { to: ACCOUNT, data: "0x" }, head.hash));
  for (const tagged of [safe, finalized]) isOfBranch(tagged.hash, Number(tagged.number));
  for (const { blockHash } of receipts) expect(blockHash).toBe(head.hash);
  return head;
}

it("callers are told of one branch at a time, whichever leads", async () => {
  const told = { polled: new ExpectedLogs(chains[0], {}), pushed: new ExpectedLogs(chains[0], {}) };
  const branch = new ToldBranch(chains[0]);
  const id = await read<string>(url, "eth_newFilter", {});
  const caller = await SocketCaller.open(url);
  const heads = await caller.subscribe("newHeads");
  const logs = await caller.subscribe("logs", {});
  const poll = async (): Promise<void> => {
    for (const log of await read<unknown[]>(url, "eth_getFilterChanges", id)) told.polled.hear(log);
  };
  chains[0].extend(1);
  chains[1].reorganise(2, 3);
  for (let turn = 0; turn < TURNS; turn += 1) {
    const [ahead, behind] = turn % 2 === 0 ? [chains[1], chains[0]] : chains;
    while (ahead.head.number < behind.head.number + LEAD) {
      behind.extend(1);
      ahead.extend(2);
      await lookAround();
      await poll();
    }
    await follows(ahead);
    expect((await lookAround()).hash).toBe(ahead.head.hash);
  }
  await until("all is told", async () => {
    for (const head of caller.resultsOf<Head>(heads).slice(branch.heard)) branch.hear(head);
    for (const log of caller.resultsOf(logs).slice(pushes)) {
      told.pushed.hear(log);
      pushes += 1;
    }
    await poll();
    return (
      branch.last === chains[0].head.hash &&
      !told.pushed.whyNotAtEnd() &&
      !told.polled.whyNotAtEnd()
    );
  });
  await caller.close();
});

/** Requires that each head stands on the one that was told for the height below. */
class ToldBranch {
  heard = 0;
  last = "";
  readonly #hashes: string[] = [];

  constructor(chain: GeneratedChain) {
    for (let number = 0; number <= chain.head.number; number += 1)
      this.#hashes[number] = chain.block(number)?.hash ?? "";
  }

  hear({ number, hash, parentHash }: Head): void {
    const height = Number(number);
    expect(this.#hashes[height - 1], `head ${height} stands on nothing`).toBe(parentHash);
    this.#hashes.length = height;
    this.#hashes.push(hash);
    this.heard += 1;
    this.last = hash;
  }
}
