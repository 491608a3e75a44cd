// The answers of the bench of compressed answers: a receipt, and the logs of some thousand transfers.
import { createHash } from "node:crypto";

const digits = (seed: string, length: number): string =>
  createHash("sha512").update(seed).digest("hex").slice(0, length);

const TRANSFER = `0x${digits("Transfer", 64)}`;
const padded = (seed: string): string => `0x${"0".repeat(24)}${digits(seed, 40)}`;

const log = (at: number) => ({
  address: `0x${digits(`token ${at % 7}`, 40)}`,
  topics: [TRANSFER, padded(`from ${at % 900}`), padded(`to ${at}`)],
  data: `0x${"0".repeat(50)}${digits(`value ${at}`, 14)}`,
  blockNumber: `0x${(19_000_000 + (at >> 7)).toString(16)}`,
  transactionHash: `0x${digits(`hash ${at >> 1}`, 64)}`,
  transactionIndex: `0x${((at >> 1) % 64).toString(16)}`,
  blockHash: `0x${digits(`block ${at >> 7}`, 64)}`,
  logIndex: `0x${(at % 128).toString(16)}`,
  removed: false,
});

const receipt = () => ({
  blockHash: `0x${digits("block 0", 64)}`,
  blockNumber: "0x121eac0",
  contractAddress: null,
  cumulativeGasUsed: "0x5e1a2f",
  effectiveGasPrice: "0x6fc23ac00",
  from: `0x${digits("from 0", 40)}`,
  gasUsed: "0xb41d",
  logs: [log(0), log(1)],
  logsBloom: `0x${"0".repeat(472)}${digits("bloom", 40)}`,
  status: "0x1",
  to: `0x${digits("token 0", 40)}`,
  transactionHash: `0x${digits("hash 0", 64)}`,
  transactionIndex: "0x0",
  type: "0x2",
});

/** The body of the answer with this name. */
export function answerOf(name: string): Buffer {
  const result = name === "logs" ? Array.from({ length: 8_000 }, (_, at) => log(at)) : receipt();
  return Buffer.from(JSON.stringify({ jsonrpc: "2.0", id: 1, result }));
}
