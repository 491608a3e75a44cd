// Runs a command in this process, for its output and exit code. Where a process of its own matters, `runCommand` of
// gateway-process.ts starts one.
import { CommandFailure } from "../../src/cli/read-config.ts";

type Ended = { readonly code: number; readonly stdout: string; readonly stderr: string };

export async function commandHere(
  command: (print: (text: string) => void) => void | Promise<void>,
): Promise<Ended> {
  let stdout = "";
  try {
    await command((text) => {
      stdout += `${text}\n`;
    });
    return { code: 0, stdout, stderr: "" };
  } catch (error) {
    if (!(error instanceof CommandFailure)) throw error;
    return { code: error.exitCode, stdout, stderr: `${error.message}\n` };
  }
}
