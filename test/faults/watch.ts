// Readings of a running gateway: its gauges, its memory and its open files. Zero where the system does not tell them.
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { memory } from "../../bench/process-cost.ts";
import type { RunningGateway } from "../support/gateway-process.ts";

export type Reading = {
  readonly inFlight: number;
  readonly memoryBytes: number;
  /** Memory without mapped files, such as the block store. */
  readonly ownMemoryBytes: number;
  readonly descriptors: number;
  /** The descriptors that are open connections of callers. */
  readonly callers: number;
};

export async function readGateway(gateway: RunningGateway): Promise<Reading> {
  const pid = gateway.process.pid ?? 0;
  const files = `/proc/${pid}/fd`;
  const { all, own } = memory(pid);
  return {
    inFlight: await readGauge(gateway, "headgate_http_requests_in_flight"),
    memoryBytes: all,
    ownMemoryBytes: own,
    descriptors: existsSync(files) ? readdirSync(files).length : 0,
    callers: await readGauge(gateway, "headgate_connections"),
  };
}

/** The sum over all series whose labels contain `label`. */
export async function readGauge(
  gateway: RunningGateway,
  name: string,
  label = "",
): Promise<number> {
  const text = await (await fetch(gateway.metricsUrl)).text();
  return text
    .split("\n")
    .filter((line) => new RegExp(`^${name}[ {]`).test(line) && line.includes(label))
    .reduce((sum, line) => sum + Number(line.split(" ").at(-1)), 0);
}

/** The time in which the process's main thread was ready but another thread ran, in milliseconds, since its start. */
export function waitedForCpuMs(gateway: RunningGateway): number {
  const file = `/proc/${gateway.process.pid}/schedstat`;
  if (!existsSync(file)) return 0;
  const [, waitedNanoseconds] = readFileSync(file, "utf8").split(" ");
  return Number(waitedNanoseconds) / 1e6;
}

/** The most requests in flight, sampled four times a second. */
export class InFlightWatch {
  #most = 0;
  readonly #timer: NodeJS.Timeout;

  constructor(gateway: RunningGateway) {
    this.#timer = setInterval(() => {
      readGauge(gateway, "headgate_http_requests_in_flight").then(
        (seen) => {
          this.#most = Math.max(this.#most, seen);
        },
        () => undefined,
      );
    }, 250);
  }

  stop(): number {
    clearInterval(this.#timer);
    return this.#most;
  }
}
