// Runs inside a gateway: at each SIGUSR2 it writes one log line with the files of `src` whose functions ran since the
// last one, and the names of these functions.
import { Session } from "node:inspector/promises";

const SRC = new URL("../../src/", import.meta.url).href;
const session = new Session();
session.connect();
await session.post("Profiler.enable");
await session.post("Profiler.startPreciseCoverage", { callCount: true, detailed: false });

process.on("SIGUSR2", async () => {
  const { result } = await session.post("Profiler.takePreciseCoverage");
  const files = result
    .filter(({ url }) => url.startsWith(SRC))
    .map(({ url, functions }) => ({
      file: url.slice(SRC.length),
      functions: functions
        .filter(({ ranges }) => ranges.some(({ count }) => count > 0))
        .map(({ functionName }) => functionName || "=>"),
    }))
    .filter(({ functions }) => functions.length > 0);
  process.stdout.write(`${JSON.stringify({ msg: "ran", files })}\n`);
});
