#!/usr/bin/env node
// The entry point: runs the command that argv names, and ends the process with an exit code when the command fails.
import { CommandFailure } from "./cli/read-config.ts";
import { run } from "./cli/run.ts";
import { crashText, endProcess } from "./processes/end-process.ts";

function fail(error: unknown): never {
  if (error instanceof CommandFailure) process.stderr.write(`${error.message}\n`);
  else process.stderr.write(`${crashText(error)}\n`);
  return endProcess(error instanceof CommandFailure ? error.exitCode : 1);
}

try {
  const args = process.argv.slice(2);
  if (args[0] === "child") {
    const { runChild } = await import("./processes/child.ts");
    runChild();
  } else {
    await run(args, process.env);
  }
} catch (error) {
  fail(error);
}
