// Chains that are odd in a way of their own, and nodes over them that lack something or give one block in a form that
// cannot be taken in; and what an honest node of such a chain answers.
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { toQuantity } from "../../src/evm/values.ts";
import { type Odd, OddNode } from "./followed-in-memory.ts";
import { answerOf } from "./generated-chain/answers.ts";
import type { GeneratedBlock, GeneratedChain } from "./generated-chain.ts";
import { textOf } from "./request-text.ts";
import { failure, missing, type NodeCall, result } from "./scripted-node.ts";

type Fields = Readonly<Record<string, unknown>>;
export type Asked = Pick<NodeCall, "method" | "params">;

/** Changes each object of an answer, the inner ones first. */
function inEach(value: unknown, change: (item: Fields) => unknown): unknown {
  if (Array.isArray(value)) return value.map((item) => inEach(item, change));
  if (typeof value !== "object" || value === null) return value;
  const members = Object.entries(value).map(([name, item]) => [name, inEach(item, change)]);
  return change(Object.fromEntries(members));
}

const isReceipt = (item: Fields): boolean => "cumulativeGasUsed" in item;

type Own = (model: GeneratedChain) => (item: Fields) => unknown;

const inReceipts =
  (own: Fields): Own =>
  () =>
  (item) =>
    isReceipt(item) ? { ...item, ...own } : item;

/** The number of the logs in the transactions of the log's block before its own. */
function logsBefore(model: GeneratedChain, { transactionHash }: Fields): number {
  const { block, index } = model.position(String(transactionHash)) as {
    block: GeneratedBlock;
    index: number;
  };
  return block.signed.slice(0, index).reduce((sum, { events }) => sum + events.length, 0);
}

const UNKNOWN_TYPE = "0x7f";
/** Whether the transaction is of a type that the gateway does not know: every other one is. */
const isForeign = (hash: unknown): boolean =>
  Number.parseInt(String(hash).at(-1) ?? "", 16) % 2 === 0;

/** The ways of chains that all their nodes show in their answers. */
const OWN = {
  nothing: () => (item) => item,
  "log indexes that begin anew": (model) => (item) =>
    "logIndex" in item
      ? { ...item, logIndex: toQuantity(Number(item["logIndex"]) - logsBefore(model, item)) }
      : item,
  "a recipient of its own in receipts": inReceipts({ to: `0x${"22".repeat(20)}` }),
  "holes in the indexes of receipts": () => (item) =>
    isReceipt(item)
      ? { ...item, transactionIndex: toQuantity(2 * Number(item["transactionIndex"])) }
      : item,
  "no gas in the last receipt": (model) => (item) =>
    isReceipt(item) &&
    model.position(String(item["transactionHash"]))?.block.signed.at(-1)?.hash ===
      item["transactionHash"]
      ? { ...item, cumulativeGasUsed: "0x0" }
      : item,
  "no blooms in receipts": inReceipts({ logsBloom: `0x${"00".repeat(256)}` }),
  "withdrawals of null": () => (item) =>
    "stateRoot" in item ? { ...item, withdrawals: null } : item,
  "transactions of an unknown type": () => (item) =>
    "type" in item && isForeign(item["transactionHash"] ?? item["hash"])
      ? { ...item, type: UNKNOWN_TYPE }
      : item,
  "blocks of its own hash": () => (item) => item,
} satisfies Record<string, Own>;

export type OwnWay = keyof typeof OWN;
export const ownWays = Object.keys(OWN) as OwnWay[];

const DISGUISE = "deadbeef";

/** A chain with a way of its own; all its nodes tell the same of it. */
export class OddChain {
  readonly model: GeneratedChain;
  readonly #own: (item: Fields) => unknown;
  readonly #hasOwnHash: boolean;
  readonly #hashes = new Map<string, string>();

  constructor(model: GeneratedChain, way: OwnWay) {
    this.model = model;
    this.#own = OWN[way](model);
    this.#hasOwnHash = way === "blocks of its own hash";
  }

  /** The answer of an honest node that has everything; undefined for a method that nodes do not have. */
  truth({ method, params }: Asked): string | undefined {
    const meant = JSON.parse(this.#withHashesOfModel(JSON.stringify(params))) as unknown[];
    const json = answerOf(this.model, method, meant);
    if (json === undefined) return undefined;
    return this.withOwnHashes(JSON.stringify(inEach(JSON.parse(json), this.#own)));
  }

  withOwnHashes(json: string): string {
    if (!this.#hasOwnHash) return json;
    return json.replaceAll(/0x[0-9a-f]{64}/g, (hash) => {
      if (!this.model.byHash(hash)) return hash;
      const own = `${hash.slice(0, -DISGUISE.length)}${DISGUISE}`;
      this.#hashes.set(own, hash);
      return own;
    });
  }

  #withHashesOfModel(json: string): string {
    return json.replaceAll(/0x[0-9a-f]{56}deadbeef/g, (own) => this.#hashes.get(own) ?? own);
  }
}

/** The ways of single nodes: each changes answers, those that lack something about blocks below `keptFrom`. */
const LACKS = {
  nothing: () => (told) => told,
  "receipts of old blocks":
    (keptFrom) =>
    (told, { method }) =>
      method.includes("Receipt") && isBelow(told, keptFrom) ? null : told,
  "old receipts, and says []":
    (keptFrom) =>
    (told, { method }) => {
      if (!method.includes("Receipt") || !isBelow(told, keptFrom)) return told;
      return method === "eth_getTransactionReceipt" ? null : [];
    },
  "old logs":
    (keptFrom) =>
    (told, { method }) =>
      method === "eth_getLogs" && isBelow(told, keptFrom) ? [] : told,
  "the order of logs":
    () =>
    (told, { method }) =>
      method === "eth_getLogs" ? (told as Fields[]).toReversed() : told,
  "all but its first block": () => (told) => told,
} satisfies Record<string, (keptFrom: number) => (told: unknown, asked: Asked) => unknown>;

const isBelow = (told: unknown, number: number): boolean => {
  const [item] = [told].flat() as (Fields | null | undefined)[];
  return item ? Number(item["blockNumber"]) < number : false;
};

export type Lack = keyof typeof LACKS;
export const lacks = Object.keys(LACKS) as Lack[];

/** A node of an odd chain, over HTTP. */
export class OddServer {
  url = "";
  /** Whether the node has the newest blocks. */
  readonly isWhole: boolean;
  /** The answers about a block that cannot be taken in. */
  odd: Odd = () => undefined;
  readonly #server: Server;
  readonly #node: OddNode;
  readonly #chain: OddChain;
  readonly #change: (told: unknown, asked: Asked) => unknown;

  constructor(
    chain: OddChain,
    options: { readonly lack: Lack; readonly keptFrom: number; readonly chainId: number },
  ) {
    this.#chain = chain;
    this.#node = new OddNode("node", chain.model);
    this.isWhole = options.lack !== "all but its first block";
    if (!this.isWhole) this.#node.lag = "stopped";
    this.#change = LACKS[options.lack](options.keptFrom);
    this.#server = createServer(async (request, response) => {
      const body = JSON.parse(await textOf(request)) as NodeCall | NodeCall[];
      const answers = [body]
        .flat()
        .map((call) =>
          call.method === "eth_chainId"
            ? result(call, `"${toQuantity(options.chainId)}"`)
            : this.#answer(call),
        );
      if (answers.includes(undefined)) return; // the node is silent
      const text = Array.isArray(body) ? `[${answers.join(",")}]` : answers[0];
      response.writeHead(200, { "content-type": "application/json" }).end(text);
    });
  }

  async listen(): Promise<this> {
    await new Promise<void>((resolve) => this.#server.listen(0, "127.0.0.1", resolve));
    this.url = `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
    return this;
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  /** undefined: no answer, ever. */
  #answer(call: NodeCall): string | undefined {
    const { method } = call;
    const head = this.#node.head.number;
    if (method === "eth_syncing") return result(call, "false");
    if (method === "eth_blockNumber") return result(call, `"${toQuantity(head)}"`);
    const [first, ...rest] = call.params;
    const params = [first === "latest" ? toQuantity(head) : first, ...rest];
    const truth = this.#chain.truth({ method, params });
    if (truth === undefined) return missing(call);
    const told = JSON.stringify(
      this.#change(this.#known(JSON.parse(truth), head), { method, params }),
    );
    const odd = this.odd({ method, params, honest: told });
    if (odd === "silent") return undefined;
    if (odd?.kind === "failed") return failure(call, `{"code":-32000,"message":"${odd.reason}"}`);
    return result(call, odd?.kind === "result" ? odd.json.toString() : told);
  }

  /** The part of an answer about blocks up to the node's head. */
  #known(told: unknown, head: number): unknown {
    const isKnown = (item: Fields | null): boolean =>
      Number(item?.["number"] ?? item?.["blockNumber"] ?? 0) <= head;
    if (!Array.isArray(told)) return isKnown(told as Fields | null) ? told : null;
    const items = told as Fields[];
    const isOfReceipts = items[0] !== undefined && isReceipt(items[0]);
    return isOfReceipts && !items.every(isKnown) ? null : items.filter(isKnown);
  }
}
