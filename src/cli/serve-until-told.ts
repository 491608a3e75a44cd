// Serves until a signal, or the end of who started this process, says otherwise.

import { closeSync, openSync } from "node:fs";
import type { Environment } from "../config/environment.ts";
import { systemClock } from "../lib/clock.ts";
import { createLog } from "../observe/log.ts";
import { endProcess } from "../processes/end-process.ts";
import { listenForUnexpectedErrors } from "../processes/unexpected-errors.ts";
import { ProcessEnding } from "./ending.ts";
import { Replacing } from "./replacing.ts";
import { type ServeOptions, serve } from "./serve.ts";
import type { Served } from "./start.ts";

/** How often is looked whether npm is there still, in milliseconds. */
const LOOK_EVERY_MS = 500;

/**
 * Resolves once the gateway listens; what happens then is up to signals. SIGTERM and SIGINT drain, and end at
 * once when they come again. SIGHUP: the configuration is read again.
 *
 * @throws CommandFailure for whatever a person can put right.
 */
export async function serveUntilTold(
  options: ServeOptions,
  environment: Environment,
): Promise<void> {
  const isOnTerminal = process.stdout.isTTY;
  const log = createLog({ level: "info", readable: isOnTerminal });
  const replacing = new Replacing(environment, { clock: systemClock });
  const ending = new ProcessEnding({ log, clock: systemClock, end: (code) => replacing.end(code) });
  let served: Served | undefined;
  listenForUnexpectedErrors({
    log,
    onUnexpected: (kind) => {
      served?.unexpected(kind);
      if (!served) endProcess(1);
      else if (replacing.count(kind) && !ending.hasBegun) ending.begin("an unexpected error");
    },
  });
  const signalled = (signal: string): void => {
    // Who is on the way to be replaced ends now as it would have, and stays away.
    if (!replacing.callOff()) ending.signalled(signal);
  };
  process.on("SIGTERM", signalled);
  process.on("SIGINT", signalled);
  process.on("SIGHUP", () => {
    // Nobody would end what nobody sees any more.
    if (isOnTerminal && isTerminalGone()) ending.begin("the terminal was closed");
    // What is being started has read its configuration a moment ago.
    else if (!ending.hasBegun) void served?.reloadFile();
  });
  if (environment["npm_lifecycle_event"] !== undefined) endWithParent(ending);
  served = await serve(options, { environment, log });
  replacing.tellOfEarlier(served);
  ending.serves(served);
}

/** npm passes on SIGTERM and SIGINT, but not what ends it otherwise: left behind, we would hold the ports. */
function endWithParent(ending: ProcessEnding): void {
  const parent = process.ppid;
  const look = (): void => {
    if (process.ppid === parent) systemClock.after(LOOK_EVERY_MS, look);
    else ending.begin("npm, which started it, is gone");
  };
  look();
}

function isTerminalGone(): boolean {
  try {
    closeSync(openSync("/dev/tty", "r"));
    return false;
  } catch {
    return true;
  }
}
