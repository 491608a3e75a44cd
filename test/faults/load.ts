// Callers at a fixed rate, whether or not earlier calls are answered; every answer is judged.
import { setTimeout as pause } from "node:timers/promises";
import { Pool } from "undici";
import type { Envelope } from "../support/ask.ts";
import type { ServedTime } from "../support/served-time.ts";
import { Judge, type Verdict } from "./judge.ts";
import { STATE_METHODS } from "./node-answers.ts";
import { type Question, Questions } from "./questions.ts";
import type { WorldChain } from "./world-chain.ts";

export type Sample = {
  /** In milliseconds since 1970. */
  readonly sentAtMs: number;
  readonly ms: number;
  /** The delay of the request against its plan, which the load or the machine caused. */
  readonly lateMs: number;
  readonly isForwarded: boolean;
  /** Calls about an account at a block: the gateway never answers those itself. */
  readonly stateCalls: number;
  readonly verdict: Verdict;
};

export class Load {
  #samples: Sample[] = [];
  #isStopping = false;
  #running: Promise<void> | undefined;
  #sent = 0;
  readonly #unanswered = new Set<Promise<void>>();
  readonly #questions: Questions;
  readonly #judge: Judge;
  readonly #time: ServedTime | undefined;
  readonly #pool: Pool;
  readonly #path: string;
  readonly perSecond: number;

  constructor(
    options: { url: string; perSecond: number; seed: number; isFollowed: boolean },
    parts: { chain: WorldChain; time?: ServedTime | undefined },
  ) {
    const { origin, pathname } = new URL(options.url);
    // After a pause of the machine very many connect at once, and the system retries some connections only much later.
    const connect = { timeout: 60_000 };
    this.#pool = new Pool(origin, { connections: 4_000, headersTimeout: 60_000, connect });
    this.#path = pathname;
    this.#questions = new Questions(options, parts);
    this.#judge = new Judge(options, parts);
    this.#time = parts.time;
    this.perSecond = options.perSecond;
  }

  start(): void {
    this.#running ??= this.#run();
  }

  /** Resolves when the last answer has come. */
  async stop(): Promise<void> {
    this.#isStopping = true;
    await this.#running;
    await Promise.all(this.#unanswered);
    if (!this.#pool.closed) await this.#pool.close();
  }

  get unanswered(): number {
    return this.#unanswered.size;
  }

  /** The requests that were sent in that time and are answered by now. */
  between(fromMs: number, toMs: number): readonly Sample[] {
    return this.#samples.filter(({ sentAtMs }) => sentAtMs >= fromMs && sentAtMs < toMs);
  }

  /** Returns the samples since the last call, and forgets them. */
  take(): readonly Sample[] {
    const samples = this.#samples;
    this.#samples = [];
    return samples;
  }

  async #run(): Promise<void> {
    const startedAt = performance.now();
    while (!this.#isStopping) {
      const elapsedMs = performance.now() - startedAt;
      while (this.#sent < (elapsedMs * this.perSecond) / 1000) {
        const plannedAt = startedAt + (this.#sent * 1000) / this.perSecond;
        this.#sent += 1;
        const asking: Promise<void> = this.#ask(performance.now() - plannedAt).finally(() =>
          this.#unanswered.delete(asking),
        );
        this.#unanswered.add(asking);
      }
      this.#time?.look();
      await pause(1);
    }
  }

  async #ask(lateMs: number): Promise<void> {
    const questions = this.#questions.next();
    const { floor } = this.#judge;
    const sentAtMs = Date.now();
    const sentAt = performance.now();
    const answered = await this.#send(questions);
    const ms = performance.now() - sentAt;
    const about = { sentAtMs, answeredAtMs: Date.now(), floor };
    const verdict = Array.isArray(answered)
      ? this.#judge.judge(questions, answered, about)
      : (answered as Verdict);
    const isForwarded = questions.some((question) => question.isForwarded);
    const stateCalls = questions.filter(isAboutState).length;
    this.#samples.push({ sentAtMs, ms, lateMs, isForwarded, stateCalls, verdict });
  }

  /** The envelopes in the order of the questions, or the reason why there are none. */
  async #send(
    questions: readonly Question[],
  ): Promise<readonly (Envelope | undefined)[] | Verdict> {
    const calls = questions.map(({ method, params }, id) => ({
      jsonrpc: "2.0",
      id,
      method,
      params,
    }));
    try {
      const { statusCode, body } = await this.#pool.request({
        path: this.#path,
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify(calls.length === 1 ? calls[0] : calls),
      });
      const told = [await body.json()].flat() as Envelope[];
      const [first] = told;
      if (statusCode !== 200 && first?.error) {
        const { code, message } = first.error;
        return { kind: "error", why: `${statusCode}: ${code} ${message}` };
      }
      return questions.map((_, index) => told.find(({ id }) => id === index));
    } catch (error) {
      return { kind: "error", why: `no answer: ${String(error)}` };
    }
  }
}

const isAboutState = ({ method, isForwarded }: Question): boolean =>
  isForwarded && STATE_METHODS.has(method);
