// Tells systemd the state of the gateway if systemd asks for it (sd_notify): ready, reloading, stopping, and heartbeats
// for its watchdog. Node.js cannot write to systemd's datagram socket, but the program `systemd-notify` can. A small shell
// starts that program, so that the large process of the gateway is not forked for each heartbeat.
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
 * The shell's program. Each line of its input is one notification: assignments, separated by tabs. The shell ignores the
 * signals that end the gateway, since systemd may send them to both, and exits at the end of its input.
 */
const SHELL = [
  "trap '' TERM INT HUP; set -f; IFS='\t'",
  "command -v systemd-notify > /dev/null || exit 127",
  "while read -r line; do systemd-notify $line; done",
].join("\n");

const NOT_TOLD = "the gateway cannot notify systemd: the program systemd-notify is missing";

/** How many heartbeats are sent in systemd's timeout for one, so that a lost heartbeat does no harm. */
const BEATS_IN_TIME = 3;

export class SdNotify {
  /** The shell's input; undefined: systemd does not ask for notifications. */
  readonly #lines: Writable | undefined;
  /** The milliseconds between two heartbeats; undefined: systemd asks for none. */
  readonly #beatMs: number | undefined;
  readonly #clock: Pick<Clock, "after">;

  constructor(environment: Environment, parts: SdNotifyParts) {
    this.#clock = parts.clock;
    this.#beatMs = beatMs(environment);
    if (environment["NOTIFY_SOCKET"]) this.#lines = linesToSystemd(environment, parts);
  }

  /** Tells that the gateway serves. Heartbeats follow while `isAlive` is true. */
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

  /** Tells that the gateway reads its configuration again, until the promise settles. */
  reloads(reloaded: Promise<unknown>): void {
    this.#tell("RELOADING=1", `MONOTONIC_USEC=${process.hrtime.bigint() / 1000n}`);
    const ready = (): void => this.#tell("READY=1");
    void reloaded.then(ready, ready);
  }

  /** Tells that the gateway ends. Not to be called by a process that replaces itself. */
  stops(): void {
    this.#tell("STOPPING=1");
  }

  #tell(...assignments: readonly string[]): void {
    if (this.#lines?.writable) this.#lines.write(`${assignments.join("\t")}\n`);
  }
}

/** The milliseconds between heartbeats; undefined if the watchdog's variables are for another process. */
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
  shell.stdin.on("error", () => undefined); // the shell's end was logged
  shell.unref();
  return shell.stdin;
}
