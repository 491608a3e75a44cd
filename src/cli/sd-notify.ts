// Tells systemd how the gateway is, where it wants to know (sd_notify): ready, reloading, stopping, and signs of
// life for its watchdog. Node.js cannot write to the datagram socket that systemd listens on; its own
// `systemd-notify` can. A small shell starts that, so that a large process is not forked for each sign of life.
import { spawn } from "node:child_process";
import type { Writable } from "node:stream";
import type { Logger } from "pino";
import type { Environment } from "../config/setting-names.ts";
import type { Clock } from "../lib/clock.ts";

export type SdNotifyParts = {
  readonly clock: Pick<Clock, "after">;
  readonly log: Pick<Logger, "warn">;
};

/**
 * A line is one notification, its assignments with tabs between them. The shell outlives the signals that end the gateway, which
 * systemd may send to both, and ends with its input.
 */
const SHELL = [
  "trap '' TERM INT HUP; set -f; IFS='\t'",
  "command -v systemd-notify > /dev/null || exit 127",
  "while read -r line; do systemd-notify $line; done",
].join("\n");

const NOT_TOLD = "systemd cannot be told how the gateway is: there is no systemd-notify";

/** One that is lost is no hang: so many in the time that systemd waits for. */
const BEATS_IN_TIME = 3;

export class SdNotify {
  /** undefined where nobody wants to know. */
  readonly #lines: Writable | undefined;
  /** Between two signs of life, in milliseconds; undefined where none is wanted. */
  readonly #beatMs: number | undefined;
  readonly #clock: Pick<Clock, "after">;

  constructor(environment: Environment, parts: SdNotifyParts) {
    this.#clock = parts.clock;
    this.#beatMs = beatMs(environment);
    if (environment["NOTIFY_SOCKET"]) this.#lines = linesToSystemd(environment, parts);
  }

  /**
   * The gateway serves. Signs of life follow while it is alive.
   *
   * @param isAlive Whether somebody answers callers.
   */
  serves(isAlive: () => boolean): void {
    this.#tell("READY=1");
    const beatEveryMs = this.#beatMs;
    if (beatEveryMs === undefined) return;
    const beat = (): void => {
      if (isAlive()) this.#tell("WATCHDOG=1");
      this.#clock.after(beatEveryMs, beat);
    };
    beat();
  }

  /** Its configuration is read again, until the promise is settled. */
  reloads(reloaded: Promise<unknown>): void {
    this.#tell("RELOADING=1", `MONOTONIC_USEC=${process.hrtime.bigint() / 1000n}`);
    const ready = (): void => this.#tell("READY=1");
    void reloaded.then(ready, ready);
  }

  /** The gateway ends for good. A process that only replaces itself does not say so. */
  stops(): void {
    this.#tell("STOPPING=1");
  }

  #tell(...assignments: readonly string[]): void {
    if (this.#lines?.writable) this.#lines.write(`${assignments.join("\t")}\n`);
  }
}

/** The watchdog may be meant for another process, such as the one that started this one. */
function beatMs(environment: Environment): number | undefined {
  const { WATCHDOG_USEC: usec, WATCHDOG_PID: pid } = environment;
  const isOurs = pid === undefined || Number(pid) === process.pid;
  return isOurs && Number(usec) > 0 ? Number(usec) / 1000 / BEATS_IN_TIME : undefined;
}

function linesToSystemd(environment: Environment, { log }: SdNotifyParts): Writable {
  const { NOTIFY_SOCKET, PATH } = environment; // the other variables may be secrets
  const shell = spawn("/bin/sh", ["-c", SHELL], {
    stdio: ["pipe", "ignore", "inherit"],
    env: { NOTIFY_SOCKET, PATH },
  });
  shell.on("error", () => log.warn(NOT_TOLD));
  shell.on("exit", (code) => {
    if (code === 127) log.warn(NOT_TOLD);
  });
  shell.stdin.on("error", () => undefined); // it is gone, and was told of
  shell.unref();
  return shell.stdin;
}
