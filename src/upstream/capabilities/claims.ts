// A node's claims about the data that it holds, in its answer to `eth_capabilities` (execution-apis,
// src/schemas/capabilities.yaml). Claims are hints for the order of nodes: no claim makes a node unusable, and each answer
// that contradicts a claim lifts it.
import { numberIn } from "../../evm/values.ts";
import { parsed } from "../../jsonrpc/raw-json.ts";
import type { Family, WorkKind } from "../../namespaces/known-method.ts";

/** The kinds of data of which a node tells the range; none are traces. */
export const RESOURCES = ["blocks", "tx", "receipts", "logs", "state", "stateproofs"] as const;
export type Resource = (typeof RESOURCES)[number];

/** The blocks whose data a node claims to hold: those that are within both bounds. */
type Claim = {
  /** The oldest block; Infinity: none. */
  readonly from: number;
  /** The number of the newest blocks; Infinity: without such a limit. */
  readonly newest: number;
};

/** The number of a call's block, and that of the network's head. */
type Position = { readonly block: number; readonly head: number };

export type Claims = Readonly<Partial<Record<Resource, Claim>>>;

/** The call that asks a node for its claims. geth, Nethermind, Erigon and Besu answer it. */
export const CLAIMS_CALL = {
  name: "eth_capabilities",
  method: "eth_capabilities",
  paramsJson: "[]",
};

export const mayClaim = (family: Family): boolean => family === "evm";

/** In bytes: a longer answer is not read. Honest ones have a kilobyte. */
const LONGEST = 16_384;

/**
 * Reads the result of `eth_capabilities`. Members that are malformed, or that claim less than the newest block, are left
 * out.
 *
 * @param head The number of the newest block.
 */
export function readClaims(json: Buffer, head: number): Claims {
  const told = json.length <= LONGEST ? parsed(json) : undefined;
  if (typeof told !== "object" || told === null) return {};
  const claims = RESOURCES.map((name) => [name, claimIn((told as Told)[name], head)] as const);
  return Object.fromEntries(claims.filter(([, claim]) => claim !== undefined));
}

type Told = { readonly [member: string]: unknown };

function claimIn(value: unknown, head: number): Claim | undefined {
  if (typeof value !== "object" || value === null) return undefined;
  const { disabled, oldestBlock, deleteStrategy } = value as Told;
  if (disabled === true) return { from: Number.POSITIVE_INFINITY, newest: 0 };
  const from = numberIn(oldestBlock);
  const newest = windowIn(deleteStrategy);
  // Besu leaves the oldest block out where it has no such notion.
  if (disabled !== false || (from === undefined && newest === undefined)) return undefined;
  const claim = { from: from ?? 0, newest: newest ?? Number.POSITIVE_INFINITY };
  return claim.from <= head && claim.newest > 0 ? claim : undefined;
}

function windowIn(strategy: unknown): number | undefined {
  if (typeof strategy !== "object" || strategy === null) return undefined;
  const { type, retentionBlocks } = strategy as Told;
  return type === "window" ? numberIn(retentionBlocks) : undefined;
}

/** The resource that a call needs: by the method, as the specification lists them, or else by the kind of work. */
export const resourceOf = (method: string, workKind: WorkKind): Resource | undefined =>
  OF_METHODS[method] ?? OF_WORK[workKind];

const OF_METHODS: Readonly<Record<string, Resource | undefined>> = {
  __proto__: null as never,
  eth_getTransactionByHash: "tx",
  eth_getTransactionByBlockHashAndIndex: "tx",
  eth_getTransactionByBlockNumberAndIndex: "tx",
  eth_getTransactionReceipt: "receipts",
  eth_getBlockReceipts: "receipts",
  eth_getProof: "stateproofs",
};

const OF_WORK: Readonly<Partial<Record<WorkKind, Resource>>> = {
  blocks: "blocks",
  logs: "logs",
  state: "state",
  execution: "state",
};

/** The claims of one node. */
export class ClaimedReaches {
  #claims: Claims = {};

  get all(): Claims {
    return this.#claims;
  }

  /** Replaces all claims. */
  learn(claims: Claims): void {
    this.#claims = claims;
  }

  /** Whether the node says that it does not hold the data of this block. */
  isLacking(resource: Resource | undefined, { block, head }: Position): boolean {
    const claim = resource && this.#claims[resource];
    return claim !== undefined && (block < claim.from || head - block >= claim.newest);
  }

  /** Must be called when the node answered with the data of this block: a claim to lack it, or newer ones, was wrong. */
  contradict(resource: Resource | undefined, position: Position): void {
    const claim = resource && this.#claims[resource];
    if (!resource || !claim || !this.isLacking(resource, position)) return;
    const from = Math.min(claim.from, position.block);
    const newest = Math.max(claim.newest, position.head - position.block + 1);
    this.#claims = { ...this.#claims, [resource]: { from, newest } };
  }
}

const NAMES: Readonly<Record<Resource, string>> = {
  blocks: "blocks",
  tx: "transactions",
  receipts: "receipts",
  logs: "logs",
  state: "states",
  stateproofs: "proofs",
};

/** The claims in words, such as `blocks and receipts from 15537394 on, states of the newest 128 blocks, no proofs`. */
export function claimsText(claims: Claims): string {
  const namesByRange = Map.groupBy(
    RESOURCES.filter((resource) => claims[resource]),
    (resource) => rangeText(claims[resource] as Claim),
  );
  return [...namesByRange]
    .map(([range, resources]) => {
      const names = resources.map((resource) => NAMES[resource]);
      return range === "no" ? `no ${listed(names, "or")}` : `${listed(names, "and")} ${range}`;
    })
    .join(", ");
}

function rangeText({ from, newest }: Claim): string {
  if (newest === 0) return "no";
  if (Number.isFinite(newest)) return `of the newest ${newest} blocks`;
  return from === 0 ? "of all blocks" : `from block ${from} on`;
}

const listed = (names: readonly string[], word: "and" | "or"): string =>
  names.length < 2 ? names.join("") : `${names.slice(0, -1).join(", ")} ${word} ${names.at(-1)}`;
