// A failed system test keeps the logs of its file's gateways: all lines in a file, the last lines in the run's output.
import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeAll } from "vitest";
import { startedLogs } from "./gateway-process.ts";

const LINES_SHOWN = 80;
/** Lines below this level are about single calls. */
const INFO = 30;

beforeAll(() => {
  startedLogs.length = 0; // removes the logs of the previous test file in this worker
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
