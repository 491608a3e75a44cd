// The filter of eth_getLogs: how it is read, and which logs it matches.
import {
  type BlockReference,
  invalidParams,
  latest,
  readAddress,
  readBlockNumber,
  readHash,
  readObject,
} from "./arguments.ts";
import type { LogFields } from "./shapes.ts";

export type LogFilter = {
  within: { hash: string } | { from: BlockReference; to: BlockReference };
  /** An empty list matches any address. */
  addresses: readonly string[];
  /** Alternatives by position; a position without alternatives matches any topic. */
  topics: readonly (readonly string[])[];
};

/** Reads the filter object; reports mistakes in geth's words. */
export function readLogFilter(value: unknown): LogFilter {
  const { blockHash, fromBlock, toBlock, address, topics } = readObject(value);
  return {
    within: readBlocks({ blockHash, fromBlock, toBlock }),
    addresses: readAlternatives(address, readAddress),
    topics: readTopics(topics),
  };
}

export const matches = ({ addresses, topics }: LogFilter, log: LogFields): boolean =>
  isAmong(addresses, log.address) &&
  topics.length <= log.topics.length &&
  topics.every((alternatives, index) => isAmong(alternatives, log.topics[index]));

function readBlocks({
  blockHash,
  fromBlock,
  toBlock,
}: Readonly<Record<"blockHash" | "fromBlock" | "toBlock", unknown>>): LogFilter["within"] {
  if (isAbsent(blockHash)) return { from: readEnd(fromBlock), to: readEnd(toBlock) };
  if (!isAbsent(fromBlock) || !isAbsent(toBlock))
    throw invalidParams(
      "cannot specify both BlockHash and FromBlock/ToBlock, choose one or the other",
    );
  return { hash: readHash(blockHash) };
}

const readEnd = (value: unknown): BlockReference =>
  isAbsent(value) ? latest : readBlockNumber(value);

function readTopics(topics: unknown): LogFilter["topics"] {
  if (isAbsent(topics)) return [];
  if (!Array.isArray(topics)) throw invalidParams("invalid topic(s)");
  return topics.map((position) => readAlternatives(position, readHash));
}

/** One value, several, or none. A null among several makes them match anything, as in geth. */
function readAlternatives(value: unknown, read: (one: unknown) => string): readonly string[] {
  if (isAbsent(value)) return [];
  if (!Array.isArray(value)) return [read(value)];
  return value.some(isAbsent) ? [] : value.map(read);
}

const isAmong = (alternatives: readonly string[], value: string | undefined): boolean =>
  alternatives.length === 0 || (value !== undefined && alternatives.includes(value));

const isAbsent = (value: unknown): boolean => value === undefined || value === null;
