#!/usr/bin/env node
// The command line: argv → a command; exit codes; signals.
import { CommandFailure } from "./cli/read-config.ts";
import { type Running, run } from "./cli/run.ts";

/** SIGTERM and SIGINT drain; a second one ends at once. */
function stopOnSignals(running: NonNullable<Running>): void {
  let isStopping = false;
  const onSignal = (): void => {
    if (isStopping) process.exit(1);
    isStopping = true;
    running.stop().then(() => process.exit(0), fail);
  };
  process.on("SIGTERM", onSignal);
  process.on("SIGINT", onSignal);
}

function fail(error: unknown): never {
  if (error instanceof CommandFailure) process.stderr.write(`${error.message}\n`);
  else console.error(error);
  process.exit(error instanceof CommandFailure ? error.exitCode : 1);
}

try {
  const running = await run(process.argv.slice(2), process.env);
  if (running) stopOnSignals(running);
} catch (error) {
  fail(error);
}
