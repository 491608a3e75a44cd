// What `headgate check` finds out about a node: who it is, where its head is, what it can do.

import { parsed } from "../jsonrpc/parsed.ts";
import type { Clock } from "../lib/clock.ts";
import { readChainId } from "./chain-id.ts";
import type { Connection } from "./connection/connection.ts";
import { type Reply, readReply } from "./reply.ts";
import { requestJson } from "./request-json.ts";

export type Findings =
  | {
      readonly kind: "usable";
      readonly clientVersion: string;
      readonly chainId: number;
      readonly head: { readonly number: number; readonly ageSeconds: number };
      readonly has: readonly string[];
      readonly lacks: readonly string[];
      /** Nobody knows: the node was busy, slow, or answered with nonsense. */
      readonly unclear: readonly string[];
    }
  | { readonly kind: "wrong chain"; readonly chainId: number; readonly want: number }
  | { readonly kind: "unusable"; readonly reason: string };

type Family = "evm" | "conflux";
type Ask = (method: string, paramsJson?: string) => Promise<Reply>;

const NOWHERE = `"0x${"0".repeat(64)}"`;
const NOBODY = `"0x${"0".repeat(40)}"`;

/** Methods that nodes differ in, with parameters that cost a node nothing. */
const PROBES: Readonly<Record<Family, Readonly<Record<string, string>>>> = {
  evm: {
    eth_getBlockReceipts: '["0x0"]',
    eth_getTransactionReceiptsByBlock: '["0x0"]',
    eth_getLogs: `[{"fromBlock":"0x0","toBlock":"0x0","address":${NOBODY}}]`,
    eth_getUncleCountByBlockNumber: '["0x0"]',
    eth_getUncleByBlockNumberAndIndex: '["0x0","0x0"]',
    eth_estimateGas: `[{"to":${NOBODY}}]`,
    eth_feeHistory: '["0x1","latest",[]]',
    eth_getProof: `[${NOBODY},[],"latest"]`,
    eth_getFilterChanges: '["0x0"]',
    trace_get: `[${NOWHERE},["0x0"]]`,
    trace_transaction: `[${NOWHERE}]`,
    trace_replayTransaction: `[${NOWHERE},["trace"]]`,
    debug_traceTransaction: `[${NOWHERE}]`,
  },
  conflux: {
    cfx_getLogs: '[{"fromEpoch":"0x0","toEpoch":"0x0"}]',
    cfx_getEpochReceipts: '["0x0"]',
    cfx_getFilterChanges: '["0x0"]',
    trace_block: `[${NOWHERE}]`,
  },
};

/** Never rejects: what went wrong is a finding. */
export async function inspect(
  options: { family: Family; chainId: number },
  parts: { connection: Connection; clock: Pick<Clock, "wallTime"> },
): Promise<Findings> {
  const ask = asker(parts.connection);
  const chainId = await readChainId(options.family, ask);
  if (typeof chainId === "string") return { kind: "unusable", reason: chainId };
  if (chainId !== options.chainId) return { kind: "wrong chain", chainId, want: options.chainId };
  const { family } = options;
  const head = await readHead(family, ask);
  if (!head) return { kind: "unusable", reason: "no newest block in its answer" };
  const version = await ask(family === "evm" ? "web3_clientVersion" : "cfx_clientVersion");
  const probes = await probe(PROBES[family], ask);
  return {
    kind: "usable",
    clientVersion: version.kind === "result" ? String(parsed(version.json)) : "unknown",
    chainId,
    head: {
      number: head.number,
      ageSeconds: Math.round(parts.clock.wallTime() / 1000 - head.seconds),
    },
    has: namesOf(probes, ["result", "refused"]), // a refusal shows that the node knows the method
    lacks: namesOf(probes, ["missing"]),
    unclear: namesOf(probes, ["busy", "failed", "timeout", "aborted"]),
  };
}

/** What a person reads. */
export function renderFindings(name: string, findings: Findings): string[] {
  switch (findings.kind) {
    case "unusable":
      return [`✗ ${name}: ${findings.reason}`];
    case "wrong chain":
      return [
        `✗ ${name}: is on chain ${findings.chainId}, the configuration wants ${findings.want}`,
      ];
    case "usable": {
      const { clientVersion, chainId, head, has, lacks, unclear } = findings;
      return [
        `✓ ${name}: ${clientVersion}, chain ${chainId}, head ${head.number}, ${head.ageSeconds} s old`,
        `    has   ${has.join(", ") || "none of the methods asked for"}`,
        `    lacks ${lacks.join(", ") || "none of the methods asked for"}`,
        ...(unclear.length > 0 ? [`    no answer to ${unclear.join(", ")}`] : []),
      ];
    }
  }
}

function asker(connection: Connection): Ask {
  const { signal } = new AbortController(); // each answer has the upstream's own timeout
  let id = 0;
  return async (method, paramsJson = "[]") => {
    id += 1;
    const own = id;
    const json = requestJson(own, method, paramsJson);
    return readReply(await connection.send({ id: own, json }, signal), own);
  };
}

type Probe = { readonly method: string; readonly kind: Reply["kind"] };

const probe = (methods: Readonly<Record<string, string>>, ask: Ask): Promise<Probe[]> =>
  Promise.all(
    Object.entries(methods).map(async ([method, params]) => {
      const { kind } = await ask(method, params);
      return { method, kind };
    }),
  );

const namesOf = (probes: readonly Probe[], kinds: readonly Probe["kind"][]): string[] =>
  probes.filter(({ kind }) => kinds.includes(kind)).map(({ method }) => method);

/** The newest block's number, and its time in seconds since 1970; undefined when the node tells none. */
async function readHead(
  family: Family,
  ask: Ask,
): Promise<{ number: number; seconds: number } | undefined> {
  const reply =
    family === "evm"
      ? await ask("eth_getBlockByNumber", '["latest",false]')
      : await ask("cfx_getBlockByEpochNumber", '["latest_state",false]');
  if (reply.kind !== "result") return undefined;
  const block = parsed(reply.json) as Record<string, string> | null | undefined;
  const number = Number(block?.["epochNumber"] ?? block?.["number"]);
  const seconds = Number(block?.["timestamp"]);
  return Number.isSafeInteger(number + seconds) ? { number, seconds } : undefined;
}
