// Inspects one upstream for `headgate check` (identity, head, capabilities), and renders the result for people.
import { Secrets } from "../../lib/secrets.ts";
import { type Family, GATEWAY_CALLS } from "../../namespaces/known-method.ts";
import type { Connection } from "../connection/connection.ts";
import { newestBlockIn } from "../head.ts";
import { readChainId } from "../identity.ts";
import { withoutSecrets } from "../redact.ts";
import { type NodeCaller, nodeCallerOf, type Reply } from "../reply.ts";
import { Capabilities, type CapabilitiesParts } from "./capabilities.ts";
import type { CapabilityRecord, KnownReach, KnownReaches, Reach } from "./capability-store.ts";
import { CLAIMS_CALL, type Claims, claimsText, mayClaim, readClaims } from "./claims.ts";
import { learnFromProbe, methodProbes, probeAt, reachProbes, versionIn } from "./probes.ts";

export type Inspection =
  | {
      readonly kind: "usable";
      readonly clientVersion: string;
      readonly chainId: number;
      readonly head: { readonly number: number; readonly ageSeconds: number };
      readonly has: readonly string[];
      readonly lacks: readonly string[];
      /** Methods of which it is unknown: the node was busy or slow, or its reply was invalid. */
      readonly unclear: readonly string[];
      readonly reaches: KnownReaches;
      /** The data that the node says it holds. */
      readonly claims: Claims;
    }
  | { readonly kind: "wrong chain"; readonly chainId: number; readonly want: number }
  | { readonly kind: "unusable"; readonly reason: string };

type InspectParts = CapabilitiesParts & { readonly connection: Connection };

type InspectOptions = {
  readonly family: Family;
  readonly chainId: number;
  /** Texts that are removed from all output. */
  readonly secrets?: Secrets;
  /** Whether to make only a few calls: no method probes, and for old blocks only whether the node has them. */
  readonly isBrief?: boolean;
};

const NO_SECRETS = new Secrets([]);

/** Never rejects: failures are part of the inspection. */
export async function inspect(options: InspectOptions, parts: InspectParts): Promise<Inspection> {
  const ask = discreetCaller(options.secrets ?? NO_SECRETS, parts);
  const chainId = await readChainId(options.family, ask);
  if (typeof chainId === "string") return { kind: "unusable", reason: chainId };
  if (chainId !== options.chainId) return { kind: "wrong chain", chainId, want: options.chainId };
  const { family, isBrief = false } = options;
  const calls = GATEWAY_CALLS[family];
  const found = await ask(...calls.newestBlock);
  const head = found.kind === "result" ? newestBlockIn(found.json) : undefined;
  if (!head)
    return {
      kind: "unusable",
      reason: "its answer has no newest block: is the node still syncing?",
    };
  const clientVersion = versionIn(await ask(...calls.version));
  const claims = isBrief || !mayClaim(family) ? {} : await askClaims(head.number, ask);
  const methods = isBrief ? [] : await askMethods(family, ask);
  const capabilities = new Capabilities(parts);
  await askReaches({ family, head: head.number, isBrief }, { ask, capabilities });
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
    claims,
  };
}

async function askClaims(head: number, ask: NodeCaller): Promise<Claims> {
  const reply = await ask(CLAIMS_CALL.method, CLAIMS_CALL.paramsJson);
  return reply.kind === "result" ? readClaims(reply.json, head) : {};
}

/** After this many timeouts in a row, further calls count as timeouts without being sent. */
const MOST_SILENCES = 2;

function discreetCaller(secrets: Secrets, parts: InspectParts): NodeCaller {
  const ask = nodeCallerOf(parts.connection);
  let silences = 0;
  return async (method, paramsJson) => {
    if (silences >= MOST_SILENCES) return { kind: "timeout" };
    const reply = await ask(method, paramsJson);
    silences = reply.kind === "timeout" ? silences + 1 : 0;
    return withoutSecrets(reply, parts.traitsOf(method), secrets);
  };
}

type MethodReply = { readonly method: string; readonly kind: Reply["kind"] };

/** Probes one method after the other: many at once are too much for some nodes. */
async function askMethods(family: Family, ask: NodeCaller): Promise<MethodReply[]> {
  const answered: MethodReply[] = [];
  for (const { method, paramsJson } of methodProbes(family))
    answered.push({ method, kind: (await ask(method, paramsJson)).kind });
  return answered;
}

type AskReachParts = { readonly ask: NodeCaller; readonly capabilities: Capabilities };

async function askReaches(
  { family, head, isBrief }: { family: Family; head: number; isBrief: boolean },
  { ask, capabilities }: AskReachParts,
): Promise<void> {
  for (const probe of reachProbes(family, head))
    learnFromProbe(probe, await ask(probe.method, probe.paramsJson), { head, capabilities });
  if (isBrief) return;
  for (const reach of ["state", "history"] as const)
    await findReach({ family, head, reach }, { ask, capabilities });
}

const namesOf = (
  methods: readonly MethodReply[],
  kinds: readonly MethodReply["kind"][],
): string[] => methods.filter(({ kind }) => kinds.includes(kind)).map(({ method }) => method);

/** More than halving takes on any chain: bounds the calls to a node that contradicts itself. */
const MOST_CALLS = 40;

/**
 * Finds the oldest block that a node has, by halving the range between a block that the node has and one that it lacks.
 * Makes no calls if no block is known to be missing, and stops when a reply shows nothing new.
 */
async function findReach(
  { family, head, reach }: { family: Family; head: number; reach: Reach },
  { ask, capabilities }: AskReachParts,
): Promise<void> {
  for (let calls = 0; calls < MOST_CALLS; calls += 1) {
    const known = capabilities.history.known()[reach];
    if (known.kind !== "part") return;
    const { notAt, since = head } = known;
    const block = Math.floor((notAt + since) / 2);
    const probe = probeAt(family, { reach, block });
    if (since - notAt <= 1 || !probe) return;
    learnFromProbe(probe, await ask(probe.method, probe.paramsJson), { head, capabilities });
    const now = capabilities.history.known()[reach];
    if (now.kind === "part" && now.notAt === notAt && (now.since ?? head) === since) return;
  }
}

export function renderInspection(name: string, inspection: Inspection): string[] {
  switch (inspection.kind) {
    case "unusable":
      return [`✗ ${name}: ${inspection.reason}`];
    case "wrong chain":
      return [
        `✗ ${name}: is on chain ${inspection.chainId}, but the configuration says ${inspection.want}`,
      ];
    case "usable": {
      const { clientVersion, chainId, head, has, lacks, unclear, reaches, claims } = inspection;
      const claimed = claimsText(claims);
      const { state, history, traces } = reaches;
      return [
        `✓ ${name}: ${clientVersion}, chain ${chainId}, head ${head.number}, ${head.ageSeconds} s old`,
        `    has   ${has.join(", ") || "none of the methods asked for"}`,
        `    lacks ${lacks.join(", ") || "none of the methods asked for"}`,
        ...(unclear.length > 0 ? [`    no answer to ${unclear.join(", ")}`] : []),
        `    state of ${newest(state, head.number)}`,
        `    blocks and receipts of ${shownSince(history)}`,
        ...(traces.kind === "unknown" ? [] : [`    traces of ${shownSince(traces)}`]),
        ...(claimed === "" ? [] : [`    says that it has ${claimed}`]),
      ];
    }
  }
}

export type TakesBatches = "yes" | "no" | "nobody knows";

export const renderBatches = (takesBatches: TakesBatches): string =>
  `    batches: ${{ yes: "yes", no: "no, each call is sent by itself", "nobody knows": "not known" }[takesBatches]}`;

/** The knowledge that earlier runs gained from replies to callers' calls. */
export function renderMemory(record: CapabilityRecord): string[] {
  const { version, missing, widestLogs, batch, words = [] } = record;
  const names = missing.map(([method]) => printable(method));
  const lacks =
    names.length > 0 ? `it lacked ${names.slice(-NAMED).join(", ")}` : "it lacked no method";
  const more = names.length > NAMED ? ` and ${names.length - NAMED} more` : "";
  return [
    `    remembered of ${version ?? "an unknown version"}: ${lacks}${more}`,
    ...(widestLogs ? [`    remembered: at most ${widestLogs} blocks in one log query`] : []),
    ...(batch ? [`    remembered: at most ${batch} calls in one request`] : []),
    ...words
      .slice(-NAMED)
      .map(
        ([method, said]) =>
          `    remembered: it cannot answer every ${printable(method)}; then it says "${printable(said)}"`,
      ),
  ];
}

const printable = (text: string): string => text.replace(/[^\x20-\x7e]/g, "?");

/** The most names that fit into a line or two; callers may have invented some of them. */
const NAMED = 12;

/**
 * The most blocks whose states a pruning node keeps: Erigon keeps 100,000, reth 10,064, Besu 512, geth and Nethermind
 * 128. On a younger chain, a pruning node looks like a node that keeps all states.
 */
const LONGEST_PRUNING_WINDOW = 100_000;

/** The words for a reach that is limited to the newest blocks. */
function newest(reach: KnownReach, head: number): string {
  if (reach.kind === "all" && head < LONGEST_PRUNING_WINDOW)
    return `all ${head + 1} blocks so far: the chain is too young to show whether the node drops old ones`;
  if (reach.kind !== "part") return whole(reach.kind);
  const { newest: least, atMost } = reach;
  if (least === 0) return `the newest ${atMost} blocks at most`;
  return least === atMost
    ? `the newest ${least} blocks`
    : `the newest ${least} blocks at least, ${atMost} at most`;
}

/** The words for a reach that begins at some block. */
function shownSince(reach: KnownReach): string {
  if (reach.kind !== "part") return whole(reach.kind);
  const { since: first, notAt } = reach;
  return first === notAt + 1 ? `the blocks from ${first} on` : `no block before ${notAt + 1}`;
}

const whole = (kind: "all" | "unknown"): string =>
  kind === "all" ? "all blocks" : "old blocks: not known";
