// Callers that send batches without a pause, and the count of their answers.
import { expect } from "vitest";
import { type Envelope, post } from "../support/ask.ts";
import { stopwatch } from "../support/served-time.ts";

/** Calls in a batch; each costs one compute unit. */
export const BATCH = 20;

/** A method that needs no node; its cost is set to one compute unit. */
export const METHOD = "eth_chainId";
export const COSTS = { [METHOD]: 1 };

/** An endpoint, and the number of its concurrent callers. */
export type Share = { readonly url: string; readonly callers: number };

export type Served = {
  /** Compute units. */
  readonly units: number;
  readonly seconds: number;
  /** The part of the seconds in which the callers and the named gateways had a processor. */
  readonly servedSeconds: number;
  /** Compute units of each share, in order. */
  readonly each: readonly number[];
  /** Calls that a limit refused. */
  readonly refused: number;
};

const body = JSON.stringify(
  Array.from({ length: BATCH }, (_, id) => ({ jsonrpc: "2.0", id, method: METHOD })),
);

/** Decides whether to stop, from the compute units served so far. */
export type IsOver = (units: number) => boolean;

/** Makes full load until it is over: each caller sends one batch after the other. */
export async function load(
  shares: readonly Share[],
  isOver: IsOver,
  gateways: readonly { readonly pid: number | undefined }[] = [],
): Promise<Served> {
  const servedMs = stopwatch(...gateways);
  const from = performance.now();
  const each = shares.map(() => 0);
  const sum = (): number => each.reduce((units, more) => units + more, 0);
  let refused = 0;
  const call = async (url: string, at: number): Promise<void> => {
    while (!isOver(sum())) {
      const answered = await answeredOf(url);
      each[at] = (each[at] ?? 0) + answered;
      refused += BATCH - answered;
    }
  };
  await Promise.all(
    shares.flatMap(({ url, callers }, at) => Array.from({ length: callers }, () => call(url, at))),
  );
  const seconds = (performance.now() - from) / 1000;
  return { units: sum(), seconds, servedSeconds: servedMs() / 1000, each, refused };
}

/** Is over after so long. */
export function passed(ms: number): IsOver {
  const end = performance.now() + ms;
  return () => performance.now() > end;
}

/** Is over when no caller got an answer for two seconds, which is longer than an unused reservation lasts. */
export function exhausted(): IsOver {
  let before = -1;
  let sinceMs = 0;
  let looks = 0;
  return (units) => {
    if (units !== before) [sinceMs, looks] = [performance.now(), 0];
    before = units;
    looks += 1; // counts batches: during a pause of the machine no caller gets an answer either
    return performance.now() - sinceMs > 2000 && looks > 100;
  };
}

/** The number of answered calls in a batch; only a limit may have refused the others. */
async function answeredOf(url: string): Promise<number> {
  const members = (await (await post(url, body)).json()) as Envelope[];
  expect(members.length).toBe(BATCH);
  const refused = members.filter(({ error }) => error?.code === -32005);
  expect(members.filter(({ error }) => error).length).toBe(refused.length);
  return members.length - refused.length;
}
