// What `headgate check` finds out about a node: who it is, where its head is, what it can do.

import { parsed } from "../../jsonrpc/raw-json.ts";
import type { Family } from "../../namespaces/known-method.ts";
import type { Connection } from "../connection/connection.ts";
import { readChainId } from "../identity.ts";
import { withoutSecrets } from "../redact.ts";
import { type Reply, readReply } from "../reply.ts";
import { requestJson } from "../request-json.ts";
import { Capabilities, type CapabilitiesParts } from "./capabilities.ts";
import { findReach } from "./find-reach.ts";
import type { KnownReaches } from "./history.ts";
import { learnFromProbe, methodProbes, reachProbes, VERSION_METHODS, versionIn } from "./probes.ts";

export type Inspection =
  | {
      readonly kind: "usable";
      readonly clientVersion: string;
      readonly chainId: number;
      readonly head: { readonly number: number; readonly ageSeconds: number };
      readonly has: readonly string[];
      readonly lacks: readonly string[];
      /** Nobody knows: the node was busy, slow, or answered with nonsense. */
      readonly unclear: readonly string[];
      readonly reaches: KnownReaches;
    }
  | { readonly kind: "wrong chain"; readonly chainId: number; readonly want: number }
  | { readonly kind: "unusable"; readonly reason: string };

type InspectParts = CapabilitiesParts & { readonly connection: Connection };

type Ask = (method: string, paramsJson?: string) => Promise<Reply>;

/** Never rejects: what went wrong is in the inspection. @param options.secrets What is left out of it. */
export async function inspect(
  options: { family: Family; chainId: number; secrets?: readonly string[] },
  parts: InspectParts,
): Promise<Inspection> {
  const ask = asker(options.secrets ?? [], parts);
  const chainId = await readChainId(options.family, ask);
  if (typeof chainId === "string") return { kind: "unusable", reason: chainId };
  if (chainId !== options.chainId) return { kind: "wrong chain", chainId, want: options.chainId };
  const { family } = options;
  const head = await readHead(family, ask);
  if (!head) return { kind: "unusable", reason: "no newest block in its answer" };
  const clientVersion = versionIn(await ask(VERSION_METHODS[family]));
  const methods = await askMethods(family, ask);
  const capabilities = new Capabilities(parts);
  await askReaches({ family, head: head.number }, { ask, capabilities });
  return {
    kind: "usable",
    clientVersion,
    chainId,
    head: {
      number: head.number,
      ageSeconds: Math.round(parts.clock.wallTime() / 1000 - head.seconds),
    },
    has: namesOf(methods, ["result", "refused"]), // a refusal shows that the node knows the method
    lacks: namesOf(methods, ["missing"]),
    unclear: namesOf(methods, ["busy", "failed", "timeout", "aborted"]),
    reaches: capabilities.history.known(),
  };
}

function asker(secrets: readonly string[], { connection, traitsOf }: InspectParts): Ask {
  const { signal } = new AbortController(); // each answer has the upstream's own timeout
  let id = 0;
  return async (method, paramsJson = "[]") => {
    id += 1;
    const own = id;
    const json = requestJson(own, method, paramsJson);
    const reply = readReply(await connection.send({ id: own, json }, signal), own);
    return withoutSecrets(reply, traitsOf(method), secrets);
  };
}

type MethodReply = { readonly method: string; readonly kind: Reply["kind"] };

/** One after the other: many at once are too much for some. */
async function askMethods(family: Family, ask: Ask): Promise<MethodReply[]> {
  const answered: MethodReply[] = [];
  for (const { method, paramsJson } of methodProbes(family))
    answered.push({ method, kind: (await ask(method, paramsJson)).kind });
  return answered;
}

async function askReaches(
  { family, head }: { family: Family; head: number },
  { ask, capabilities }: { ask: Ask; capabilities: Capabilities },
): Promise<void> {
  for (const probe of reachProbes(family, head))
    learnFromProbe(probe, await ask(probe.method, probe.paramsJson), { head, capabilities });
  for (const reach of ["state", "history"] as const)
    await findReach({ family, head, reach }, { ask, capabilities });
}

const namesOf = (
  methods: readonly MethodReply[],
  kinds: readonly MethodReply["kind"][],
): string[] => methods.filter(({ kind }) => kinds.includes(kind)).map(({ method }) => method);

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
