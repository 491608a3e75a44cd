// Ends this process, whatever its native threads do. `process.exit` joins them: a store's write in the middle
// waits for the main thread, which waits for it; the look-up of a host name that nobody answers takes its time.
import { existsSync } from "node:fs";

/** The fastest there is: while it begins, a signal would end it before it says its code. */
const SHELL = "/bin/sh";

/**
 * Ends at once with the exit code: another program takes the place of this one, and says it. What was written
 * to a store and not acknowledged is lost; what was, is not. No listener for `exit` is called: some wait.
 */
export function endProcess(code: number): never {
  const program = existsSync(SHELL)
    ? [SHELL, "-c", `exit ${code}`]
    : [process.execPath, "-e", `process.exit(${code})`];
  // Without our environment: it tells Node.js of a channel to a supervisor, and of modules to load.
  process.execve?.(program[0] as string, program, {});
  process.kill(process.pid, "SIGKILL"); // where no program can take another's place
  throw new Error("unreachable: the process was killed");
}
