// The same program again in the place of this process: whoever started it notices nothing but a pause.
import { endProcess } from "./end-process.ts";

/** Tells the program that it takes a place over, and how many errors nobody expected before. */
const REPLACED = "HEADGATE_REPLACED";

export type Replaced = {
  readonly isReplaced: boolean;
  readonly rejections: number;
  readonly exceptions: number;
};

/** What the process that was here before has left. */
export function replacedIn(environment: Readonly<Record<string, string | undefined>>): Replaced {
  const left = environment[REPLACED];
  const [rejections = 0, exceptions = 0] = (left ?? "").split(" ").map((word) => Number(word) || 0);
  return { isReplaced: left !== undefined, rejections, exceptions };
}

/** Begins anew, with the same number; where the system has no such thing it ends, for its manager to start another. */
export function replaceProcess(
  environment: Readonly<Record<string, string | undefined>>,
  { rejections, exceptions }: Omit<Replaced, "isReplaced">,
): never {
  const program = [process.execPath, ...process.execArgv, ...process.argv.slice(1)];
  const told = { ...environment, [REPLACED]: `${rejections} ${exceptions}` } as Record<
    string,
    string
  >;
  process.execve?.(process.execPath, program, told);
  return endProcess(1);
}
