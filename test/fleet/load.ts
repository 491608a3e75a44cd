// Callers that ask without a pause, in batches, and what they were answered.
import { expect } from "vitest";
import { type Envelope, post } from "../support/ask.ts";
import { stopwatch } from "../support/own-time.ts";

/** Calls in a batch; each costs one compute unit. */
export const BATCH = 20;

/** Needs no node, and its cost is set to one compute unit. */
export const METHOD = "eth_chainId";
export const COSTS = { [METHOD]: 1 };

/** Who asks, and how many of them at the same time. */
export type Share = { readonly url: string; readonly callers: number };

export type Served = {
  /** Compute units. */
  readonly units: number;
  readonly seconds: number;
  /** Of these the seconds in which callers, and the gateways that were named, had a processor. */
  readonly servedSeconds: number;
  /** By the share, in its order. */
  readonly each: readonly number[];
  /** Calls that were turned away by a limit. */
  readonly refused: number;
};

const body = JSON.stringify(
  Array.from({ length: BATCH }, (_, id) => ({ jsonrpc: "2.0", id, method: METHOD })),
);

/** Looks at the compute units that were served so far. */
export type IsOver = (units: number) => boolean;

/** Full load until it is over: each caller sends one batch after the other. */
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

/** For so long. */
export function passed(ms: number): IsOver {
  const end = performance.now() + ms;
  return () => performance.now() > end;
}

/** Until nobody was served anything for two seconds: longer than reservations that nobody uses are kept. */
export function exhausted(): IsOver {
  let before = -1;
  let sinceMs = 0;
  let looks = 0;
  return (units) => {
    if (units !== before) [sinceMs, looks] = [performance.now(), 0];
    before = units;
    looks += 1; // after each batch: in a pause of the machine nobody is served either
    return performance.now() - sinceMs > 2000 && looks > 100;
  };
}

/** How many calls of a batch were answered; the others were refused by a limit, and by nothing else. */
async function answeredOf(url: string): Promise<number> {
  const members = (await (await post(url, body)).json()) as Envelope[];
  expect(members.length).toBe(BATCH);
  const refused = members.filter(({ error }) => error?.code === -32005);
  expect(members.filter(({ error }) => error).length).toBe(refused.length);
  return members.length - refused.length;
}
