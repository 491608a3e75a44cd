// What may happen to a call on its way to the upstreams, and what may be decided of it.
import { errors, RpcError } from "../../jsonrpc/rpc-error.ts";
import type { MethodTraits } from "../../namespaces/known-method.ts";
import type { OpenCall } from "../health/health.ts";
import type { Reply } from "../reply.ts";
import type { Upstream } from "../upstream.ts";
import type { CallOptions, CrossCheckRule, FinalReply } from "./call-options.ts";
import type { NetworkCalls, Shortage } from "./network-calls.ts";

export type UpstreamQuestion = {
  readonly method: string;
  readonly paramsJson: string;
  readonly traits: MethodTraits;
  readonly options: CallOptions;
  /** See `CallOptions`; of a call for the head it is the network that knows. */
  readonly isUncertain: CrossCheckRule["isUncertain"] | undefined;
};

/** What a decision looks at beyond the call itself: all of it are questions, which change nothing. */
export type NetworkView = Pick<
  NetworkCalls,
  "usableFor" | "hasOthers" | "outSinceMs" | "isBehind" | "usualMs" | "mayHedge" | "mayWait"
>;

export type AskingEvent =
  /** Also when an upstream is usable again that was waited for. `upstreams`: the best one first. */
  | { readonly kind: "started"; readonly upstreams: readonly Upstream[] }
  /** The attempt that was decided last is under way. */
  | { readonly kind: "begun" }
  | { readonly kind: "reply"; readonly attempt: Attempt; readonly reply: Reply }
  /** The time has come that was waited for. */
  | { readonly kind: "timer" }
  /** Nobody wants the answer any more. */
  | { readonly kind: "aborted" };

export type ReplyEvent = Extract<AskingEvent, { kind: "reply" }>;

export type Decision = Attempt | Wait | Settlement;

/** One try at one upstream, to be begun now. */
export type Attempt = {
  readonly kind: "ask";
  readonly upstream: Upstream;
  /** How many attempts the call had before. */
  readonly order: number;
  /** How often this upstream was asked for the call, this time included. */
  readonly tries: number;
  /** Why others did not do; undefined where that is not counted. */
  readonly why: AttemptReason | undefined;
  /** It is paid from the hedge budget. */
  readonly isHedge: boolean;
  /** It breaks a limit that was only learned. */
  readonly isInsistent: boolean;
  /** undefined until it is sent: it may wait for its turn. The driver sets it. */
  call: OpenCall | undefined;
};

export type AttemptReason = Parameters<NetworkCalls["askedAgain"]>[0];

export type Wait = {
  readonly kind: "wait";
  /** By the clock's `now`; Infinity: for replies only. */
  readonly untilMs: number;
  /** What the call waits for as one of many, whose number is bounded. */
  readonly shortOf: Shortage | undefined;
};

/** What one of several upstreams answered. */
export type Vote = { readonly name: string; readonly reply: FinalReply };

export type Settlement = {
  readonly kind: "settle";
  readonly outcome: FinalReply | RpcError;
  /** So long the attempts that are under way may go on, in milliseconds; Infinity: as they like. */
  readonly othersMs: number;
  /** What upstreams answered otherwise than the outcome. */
  readonly dissenters: readonly Vote[];
  /** No upstream had a turn for it. */
  readonly isOccupied: boolean;
};

export const NEVER = Number.POSITIVE_INFINITY;
export const FOR_REPLIES: Wait = { kind: "wait", untilMs: NEVER, shortOf: undefined };

const NOBODY: readonly Vote[] = [];

export const settlementOf = (
  outcome: FinalReply | RpcError,
  { othersMs = NEVER, dissenters = NOBODY, isOccupied = false }: Partial<Settlement> = {},
): Settlement => ({ kind: "settle", outcome, othersMs, dissenters, isOccupied });

/**
 * What a caller is told when no upstream gave an answer.
 *
 * @param seen What became of the attempts.
 * @param call.waitMs How long its turn would have taken at the upstreams where too much waits.
 */
export function whyNobody(
  seen: readonly Reply["kind"][],
  { method, waitMs = 0 }: { readonly method: string; readonly waitMs?: number },
): RpcError {
  const are = (...kinds: Reply["kind"][]): boolean => seen.every((kind) => kinds.includes(kind));
  if (seen.length === 0) return errors.noUpstream();
  if (are("missing")) return errors.methodNotFound(method);
  if (are("timeout", "missing")) return errors.upstreamTimeout();
  if (are("busy", "missing")) return errors.upstreamsLimited();
  if (are("occupied", "busy", "missing"))
    return errors.upstreamsOccupied(Math.max(1, Math.ceil(waitMs / 1000)));
  return errors.upstreamsFailed();
}

/** What a dissenter said and what the others did, from a little before where they part. */
export function sayings(
  reply: FinalReply,
  outcome: FinalReply | RpcError,
  others: readonly Vote[],
): { readonly said: string; readonly found: string } {
  const own = bytesOf(reply);
  if (!(outcome instanceof RpcError)) {
    const agreed = bytesOf(outcome);
    const from = Math.max(0, sameBytes(own, agreed) - BEFORE_BYTES);
    return { said: shortened(own, from), found: `the others said ${shortened(agreed, from)}` };
  }
  const each = others.map((other) => `${other.name} said ${shortened(bytesOf(other.reply))}`);
  const found = ["the nodes that were asked disagree", ...each].join("; ");
  return { said: shortened(own), found };
}

const BEFORE_BYTES = 40;
const SAID_BYTES = 160;

const bytesOf = (reply: FinalReply): Buffer =>
  reply.kind === "result" ? reply.json : Buffer.from(`refused: ${reply.code} ${reply.message}`);

/** How many bytes both begin with. */
function sameBytes(one: Buffer, other: Buffer): number {
  const most = Math.min(one.length, other.length);
  let at = 0;
  while (at < most && one[at] === other[at]) at += 1;
  return at;
}

function shortened(bytes: Buffer, from = 0): string {
  const text = bytes.subarray(from, from + SAID_BYTES).toString();
  return `${from > 0 ? "…" : ""}${text}${from + SAID_BYTES < bytes.length ? "…" : ""}`;
}
