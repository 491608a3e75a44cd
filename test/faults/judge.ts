// Decides whether an answer is right. The judge knows the chain and the time, and asks no node.
import { isDeepStrictEqual } from "node:util";
import type { Envelope } from "../support/ask.ts";
import type { ServedTime } from "../support/served-time.ts";
import { nodeAnswer, STATE_METHODS, stateOf, transactionHash } from "./node-answers.ts";
import type { Question } from "./questions.ts";
import type { WorldChain } from "./world-chain.ts";

export type Verdict =
  | { readonly kind: "right" }
  /** The answer claims something false. */
  | { readonly kind: "wrong"; readonly why: string }
  /** The call was not answered, and the caller got an error. */
  | { readonly kind: "error"; readonly why: string };

/** The times of the request and of its answer, in milliseconds since 1970. */
export type Times = { readonly sentAtMs: number; readonly answeredAtMs: number };

/** The greatest age of the block that callers get as the newest, in milliseconds. */
const LATEST_AGE_MS = 4_000;

export class Judge {
  /** The newest block number that any caller got. */
  #highest = 0;
  readonly #isFollowed: boolean;
  readonly #chain: WorldChain;
  readonly #time: Pick<ServedTime, "before">;

  /**
   * @param options.isFollowed Requires one head for all members of a batch.
   * @param parts.time Computes the age of a block on a busy machine.
   */
  constructor(
    options: { isFollowed: boolean },
    parts: { chain: WorldChain; time?: Pick<ServedTime, "before"> | undefined },
  ) {
    this.#isFollowed = options.isFollowed;
    this.#chain = parts.chain;
    this.#time = parts.time ?? { before: (atMs, ms) => atMs - ms };
  }

  /** The lowest right answer to a request that is sent now. */
  get floor(): number {
    return this.#highest;
  }

  judge(
    questions: readonly Question[],
    envelopes: readonly (Envelope | undefined)[],
    about: Times & { readonly floor: number },
  ): Verdict {
    const heads = new Set<number>();
    for (const [index, question] of questions.entries()) {
      const envelope = envelopes[index];
      if (!envelope) return { kind: "error", why: "no answer in the batch" };
      if (envelope.error) return judgeError(question, envelope.error);
      const found = this.#judgeResult(question, envelope.result, about);
      if (typeof found === "string") return { kind: "wrong", why: `${question.method}: ${found}` };
      if (found !== undefined) heads.add(found);
    }
    if (this.#isFollowed && heads.size > 1)
      return { kind: "wrong", why: "a batch of several heads" };
    return RIGHT;
  }

  /** The mistake as text; or the number of the block that the call took as `latest`, if it did. */
  #judgeResult(
    { method, params }: Question,
    result: unknown,
    { floor, ...times }: Times & { readonly floor: number },
  ): string | number | undefined {
    if (method === "eth_blockNumber") return this.#judgeHead(Number(result), floor, times);
    if (method === "eth_sendRawTransaction")
      return result === transactionHash(params[0]) ? undefined : "another hash";
    if (STATE_METHODS.has(method) && params[1] === "latest")
      return this.#latestOf(method, params[0], { result, ...times });
    const view = this.#chain.upTo(this.#chain.headNumber());
    const want = JSON.parse(`{${nodeAnswer(view, method, params)}}`) as Envelope;
    return isDeepStrictEqual(result, want.result) ? undefined : describe(result, want.result);
  }

  #judgeHead(number: number, floor: number, times: Times): string | undefined {
    const { oldest, newest } = this.#heads(times);
    if (number < oldest) return `${newest - number} blocks behind`;
    if (!(number <= newest)) return "a block that is not there yet";
    if (number < floor) return "fell back";
    this.#highest = Math.max(this.#highest, number);
    return undefined;
  }

  #latestOf(
    method: string,
    subject: unknown,
    { result, ...times }: Times & { readonly result: unknown },
  ): string | number {
    const { oldest, newest } = this.#heads(times);
    for (let number = newest; number >= oldest - LOOKED_BACK; number -= 1) {
      if (stateOf(method, subject, this.#chain.block(number).hash) !== result) continue;
      return number >= oldest ? number : `the state ${newest - number} blocks ago as latest`;
    }
    return "the state of no block of the chain as latest";
  }

  /** The oldest and the newest block that may count as the newest one. */
  #heads({ sentAtMs, answeredAtMs }: Times): { oldest: number; newest: number } {
    const oldest = this.#chain.headNumber(this.#time.before(sentAtMs, LATEST_AGE_MS));
    return { oldest, newest: this.#chain.headNumber(answeredAtMs) };
  }
}

/** The number of older blocks that are searched for the message about a wrong state. */
const LOOKED_BACK = 30;

const RIGHT: Verdict = { kind: "right" };

function judgeError(
  { method }: Question,
  { code, message }: NonNullable<Envelope["error"]>,
): Verdict {
  // Right: the first node took the transaction, but did not answer in time.
  if (method === "eth_sendRawTransaction" && message === "already known") return RIGHT;
  return { kind: "error", why: `${code} ${message}` };
}

/** The difference, from a little before its beginning. */
function describe(result: unknown, want: unknown): string {
  if (result === null) return "null";
  const [seen, expected] = [result, want].map((value) => JSON.stringify(value) ?? "nothing") as [
    string,
    string,
  ];
  let at = 0;
  while (at < seen.length && seen[at] === expected[at]) at += 1;
  const part = (text: string): string => text.slice(Math.max(0, at - 60), at + 60);
  return `other content ${part(seen)} instead of ${part(expected)}`;
}
