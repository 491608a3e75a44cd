#!/usr/bin/env node
// The command line: argv → a command; exit codes; signals.
import { CommandFailure } from "./cli/read-config.ts";
import { type Running, run } from "./cli/run.ts";

/**
 * SIGTERM and SIGINT drain; a second one ends at once. SIGHUP: the configuration is read again; without
 * one the terminal was closed, and that ends it too.
 */
function listenToSignals({ stop, reload }: NonNullable<Running>): void {
  let isStopping = false;
  const onSignal = (): void => {
    if (isStopping) process.exit(1);
    isStopping = true;
    stop().then(() => process.exit(0), fail);
  };
  process.on("SIGTERM", onSignal);
  process.on("SIGINT", onSignal);
  process.removeListener("SIGHUP", ignore);
  process.on("SIGHUP", () => {
    if (!reload) onSignal();
    else if (!isStopping) void reload();
  });
}

/** What is being started has read its configuration a moment ago. */
const ignore = (): void => undefined;

function fail(error: unknown): never {
  if (error instanceof CommandFailure) process.stderr.write(`${error.message}\n`);
  else console.error(error);
  process.exit(error instanceof CommandFailure ? error.exitCode : 1);
}

try {
  const args = process.argv.slice(2);
  if (args[0] === "child") {
    const { runChild } = await import("./processes/child.ts");
    runChild();
  } else {
    process.on("SIGHUP", ignore);
    const running = await run(args, process.env);
    if (running) listenToSignals(running);
  }
} catch (error) {
  fail(error);
}
