// A plain model of cfx_getLogs as specified: it searches all logs at once.

import { toQuantity } from "../../src/evm/values.ts";
import type { RpcCaller } from "../../src/upstream/connection/connect.ts";

export type EpochLog = {
  readonly address: string;
  readonly topics: readonly string[];
  readonly data: string;
  readonly blockHash: string;
  readonly epochNumber: string;
  readonly transactionHash: string;
};

type Known = Pick<EpochModel, "logs" | "hashes" | "latestState">;

export type Filter = {
  readonly fromEpoch?: string | null;
  readonly toEpoch?: string | null;
  readonly blockHashes?: readonly string[] | null;
  readonly address?: string | readonly string[] | null;
  readonly topics?: readonly (string | readonly string[] | null)[] | null;
  readonly limit?: string | null;
  readonly offset?: string | null;
};

export type Modelled = { readonly logs: readonly EpochLog[]; readonly isCut: boolean };

export class EpochModel {
  /** The logs in chain order. */
  readonly logs: readonly EpochLog[];
  /** The hashes of all executed blocks, epoch by epoch. */
  readonly hashes: readonly string[];
  readonly latestState: number;

  constructor({ logs, hashes, latestState }: Known) {
    this.logs = logs;
    this.hashes = hashes;
    this.latestState = latestState;
  }

  /** The answer of the specification, for a chain without a checkpoint and without final epochs. */
  answer(filter: Filter, preset: number): Modelled {
    const { fromEpoch, toEpoch, blockHashes, limit, offset } = filter;
    const from = this.#epochOf(fromEpoch ?? "latest_checkpoint");
    const to = this.#epochOf(toEpoch ?? "latest_state");
    const hashes = blockHashes?.map((hash) => hash.toLowerCase());
    const all = this.logs
      .filter(({ blockHash, epochNumber }) =>
        hashes
          ? hashes.includes(blockHash)
          : Number(epochNumber) >= from && Number(epochNumber) <= to,
      )
      .filter((log) => matches(log, filter));
    const wanted = limit == null ? Number.POSITIVE_INFINITY : Number(limit);
    const most = Math.min(wanted, preset);
    const end = Math.max(0, all.length - Number(offset ?? 0));
    const logs = all.slice(Math.max(0, end - most), end);
    return { logs, isCut: wanted > preset && end > preset };
  }

  #epochOf(reference: string): number {
    if (reference === "latest_state") return this.latestState;
    if (/^(earliest|latest_checkpoint|latest_finalized)$/.test(reference)) return 0;
    return Number(reference);
  }
}

/** Reads all epochs of the node into a model. */
export async function readModel(node: RpcCaller): Promise<EpochModel> {
  const latestState = Number(await node.call("cfx_epochNumber", ["latest_state"]));
  const everything = { fromEpoch: "earliest", toEpoch: "latest_state" };
  const logs = (await node.call("cfx_getLogs", [everything])) as EpochLog[];
  const blocks = Array.from({ length: latestState + 1 }, (_, epoch) =>
    node.call("cfx_getBlocksByEpoch", [toQuantity(epoch)]),
  );
  const hashes = (await Promise.all(blocks)).flat() as string[];
  return new EpochModel({ logs, hashes, latestState });
}

function matches(log: EpochLog, { address, topics }: Filter): boolean {
  const addresses = typeof address === "string" ? [address] : (address ?? []);
  const isOurs =
    addresses.length === 0 || addresses.some((text) => bodyOf(text) === bodyOf(log.address));
  return (
    isOurs &&
    (topics ?? []).every((wanted, index) => {
      if (wanted === null) return true;
      const alternatives = typeof wanted === "string" ? [wanted] : wanted;
      return alternatives.some((topic) => topic.toLowerCase() === log.topics[index]);
    })
  );
}

/** The part of an address that is the same in all spellings. */
const bodyOf = (address: string): string => address.slice(-42).toLowerCase();
