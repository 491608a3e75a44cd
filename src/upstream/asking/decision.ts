// The events of a call on its way to the upstreams, and the decisions that they may lead to.
import { errors, RpcError } from "../../jsonrpc/rpc-error.ts";
import type { MethodTraits } from "../../namespaces/known-method.ts";
import type { OpenCall } from "../health/health.ts";
import type { Reply } from "../reply.ts";
import type { Upstream } from "../upstream.ts";
import type { CallOptions, CrossCheckRule, FinalReply, Lesson } from "./call-options.ts";
import type { NetworkCalls, Shortage } from "./network-calls.ts";

export type UpstreamQuestion = {
  readonly method: string;
  readonly paramsJson: string;
  readonly traits: MethodTraits;
  readonly options: CallOptions;
  /** As `CrossCheckRule.isUncertain`; for a call that asks for the head, the pool may set it. */
  readonly isUncertain: CrossCheckRule["isUncertain"] | undefined;
};

/** The part of the network that a decision may read besides the call itself: members that change nothing. */
export type NetworkView = Pick<
  NetworkCalls,
  | "usableFor"
  | "hasOthers"
  | "isSettled"
  | "outSinceMs"
  | "isBehind"
  | "usualMs"
  | "mayHedge"
  | "mayWait"
  | "knowsAnswer"
>;

export type AskingEvent =
  /** The call starts, or an upstream has become usable while the call waited for one. `upstreams`: best first. */
  | { readonly kind: "started"; readonly upstreams: readonly Upstream[] }
  /** The driver has begun the attempt that was decided last. */
  | { readonly kind: "begun" }
  | { readonly kind: "reply"; readonly attempt: Attempt; readonly reply: Reply }
  /** The time until which the call waited has come. */
  | { readonly kind: "timer" }
  /** The signal of the call has aborted: nobody waits for the answer any more. */
  | { readonly kind: "aborted" };

export type ReplyEvent = Extract<AskingEvent, { kind: "reply" }>;

export type Decision = Attempt | Wait | Settlement;

/** One try at one upstream, to be begun now. */
export type Attempt = {
  readonly kind: "ask";
  readonly upstream: Upstream;
  /** The number of attempts that the call made before this one. */
  readonly order: number;
  /** The number of attempts of the call at this upstream, with this one. */
  readonly tries: number;
  /** The reason for another attempt, for the metric; undefined: the metric does not count this attempt. */
  readonly why: AttemptReason | undefined;
  /** Whether the attempt is paid from the hedge budget. */
  readonly isHedge: boolean;
  /** Whether the attempt exceeds a rate limit that the gateway has only learned from replies. */
  readonly exceedsLearnedLimit: boolean;
  /** undefined until the upstream sends the call, which may wait for its turn; the upstream sets it. */
  call: OpenCall | undefined;
};

export type AttemptReason = Parameters<NetworkCalls["askedAgain"]>[0];

export type Wait = {
  readonly kind: "wait";
  /** By the clock's `now`; Infinity: the call waits for replies only. */
  readonly untilMs: number;
  /** The shortage that the call waits out, where the number of such calls is bounded. */
  readonly shortOf: Shortage | undefined;
};

/** The answer of one of several upstreams. */
export type Vote = { readonly name: string; readonly reply: FinalReply };

export type Settlement = {
  readonly kind: "settle";
  readonly outcome: FinalReply | RpcError;
  /** How long the open attempts may go on, in milliseconds; Infinity: without limit. */
  readonly othersMs: number;
  /** The upstreams whose answers differ from the outcome. */
  readonly dissenters: readonly Vote[];
  /** Whether the call fails because no upstream had a turn for it. */
  readonly isOccupied: boolean;
  /** The meaning that the call showed of words that were not known. */
  readonly lesson?: Lesson | undefined;
};

export const NEVER = Number.POSITIVE_INFINITY;
export const FOR_REPLIES: Wait = { kind: "wait", untilMs: NEVER, shortOf: undefined };

export const settlementOf = (outcome: FinalReply | RpcError): Settlement => ({
  kind: "settle",
  outcome,
  othersMs: NEVER,
  dissenters: [],
  isOccupied: false,
});

/**
 * The error for a caller when no upstream gave an answer.
 * @param seen The kinds of the replies to the attempts.
 * @param call.waitMs How long the call would have waited for a turn at the upstreams, in milliseconds.
 */
export function noAnswerError(
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

/**
 * The texts of a dissenter and of the others: around their first difference, or their beginnings where none agree.
 *
 * @param redact Removes secrets of nodes: the dissenter's answer, and with it the nodes' data, is shown to operators.
 */
export function disagreementTexts(
  reply: FinalReply,
  {
    outcome,
    others,
  }: { readonly outcome: FinalReply | RpcError; readonly others: readonly Vote[] },
  redact: (text: string) => string,
): { readonly said: string; readonly found: string } {
  const own = bytesOf(reply);
  if (!(outcome instanceof RpcError)) {
    const agreed = bytesOf(outcome);
    const near = Math.max(0, sameLength(own, agreed) - NEAR_BYTES);
    const [said, agreedText] = [own, agreed].map((bytes) => redact(textNear(bytes, near)));
    const from = Math.max(0, sameLength(said ?? "", agreedText ?? "") - BEFORE_CHARACTERS);
    const found = `the other nodes said ${shortened(agreedText ?? "", from, near)}`;
    return { said: shortened(said ?? "", from, near), found };
  }
  const beginning = (of: FinalReply): string => shortened(redact(textNear(bytesOf(of), 0)));
  const each = others.map((other) => `${other.name} said ${beginning(other.reply)}`);
  const found = ["the nodes that were asked disagree", ...each].join("; ");
  return { said: beginning(reply), found };
}

/** Around a difference. A secret that begins or ends within them is found. */
const NEAR_BYTES = 4_096;
const BEFORE_CHARACTERS = 40;
const SAID_CHARACTERS = 160;

const bytesOf = (reply: FinalReply): Buffer =>
  reply.kind === "result" ? reply.json : Buffer.from(`refused: ${reply.code} ${reply.message}`);

const textNear = (bytes: Buffer, from: number): string =>
  bytes.subarray(from, from + 2 * NEAR_BYTES).toString();

/** The length of the beginning that both have in common. */
function sameLength<Text extends Buffer | string>(one: Text, other: Text): number {
  const most = Math.min(one.length, other.length);
  let at = 0;
  while (at < most && one[at] === other[at]) at += 1;
  return at;
}

/** @param before The number of bytes before the text. */
function shortened(text: string, from = 0, before = 0): string {
  const shown = text.slice(from, from + SAID_CHARACTERS);
  return `${from + before > 0 ? "…" : ""}${shown}${from + SAID_CHARACTERS < text.length ? "…" : ""}`;
}
