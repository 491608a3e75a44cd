// Callers that call all the time and check every answer: they note each answer without a result.
import { setTimeout as pause } from "node:timers/promises";
import { post } from "../support/ask.ts";

export type Load = {
  readonly faults: readonly string[];
  readonly answers: () => number;
  /** Resolves when each caller has got an answer to a further call. */
  again(): Promise<void>;
  stop(): Promise<void>;
};

type Question = readonly [method: string, params: readonly unknown[]];

const CALLERS = 6;
const PAUSE_MS = 5;

export function keepCalling(url: string, questions: readonly Question[]): Load {
  const faults: string[] = [];
  const counts = Array.from({ length: CALLERS }, () => 0);
  let isStopped = false;
  const bodies = bodiesOf(questions);
  const call = async (caller: number): Promise<void> => {
    while (!isStopped) {
      const count = counts[caller] ?? 0;
      const fault = await faultOf(url, bodies[(caller + count) % bodies.length] ?? "");
      if (fault !== undefined) faults.push(fault);
      counts[caller] = count + 1;
      await pause(PAUSE_MS);
    }
  };
  const callers = counts.map((_, caller) => call(caller));
  return {
    faults,
    answers: () => counts.reduce((sum, count) => sum + count, 0),
    again: async () => {
      const before = [...counts];
      while (counts.some((count, caller) => count < (before[caller] ?? 0) + 2))
        await pause(PAUSE_MS);
    },
    stop: async () => {
      isStopped = true;
      await Promise.all(callers);
    },
  };
}

/** The body of each call, and of a batch of all. */
function bodiesOf(questions: readonly Question[]): string[] {
  const calls = questions.map(([method, params], id) => ({ jsonrpc: "2.0", id, method, params }));
  return [...calls, calls].map((body) => JSON.stringify(body));
}

/** undefined for a good answer. */
async function faultOf(url: string, body: string): Promise<string | undefined> {
  try {
    const response = await post(url, body);
    const text = await response.text();
    const answers = [JSON.parse(text)].flat() as { result?: unknown }[];
    const isGood =
      response.status === 200 && answers.every(({ result }) => (result ?? null) !== null);
    return isGood ? undefined : `${response.status} to ${body}: ${text}`;
  } catch (error) {
    return `${String(error)} ${String((error as Error).cause)} to ${body}`;
  }
}
