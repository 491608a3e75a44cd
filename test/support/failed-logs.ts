// A system test that failed leaves what its file's gateways logged: all of it in a file, the last of it in the run's output.
import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeAll } from "vitest";
import { startedLogs } from "./gateway-process.ts";

const LINES_SHOWN = 80;
/** What is below is of single calls. */
const INFO = 30;

beforeAll(() => {
  startedLogs.length = 0; // those of the file before, in this worker
});

afterEach(({ task }) => {
  if (task.result?.state !== "fail" || startedLogs.length === 0) return;
  const folder = mkdtempSync(join(tmpdir(), "headgate-failed-"));
  for (const [index, log] of startedLogs.entries()) {
    const path = join(folder, `gateway-${index + 1}.log`);
    const lines = log.map((line) => JSON.stringify(line));
    writeFileSync(path, lines.join("\n"));
    const shown = lines.filter((_, at) => (log[at]?.level ?? INFO) >= INFO).slice(-LINES_SHOWN);
    process.stderr.write(`\n${task.name}: all of the log is in ${path}\n${shown.join("\n")}\n`);
  }
});
