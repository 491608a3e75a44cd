// A process that runs development nodes, for a test that kills it. Prints their URLs.
import { pino } from "pino";
import { startDevnet } from "../../packages/devnet/src/devnet.ts";
import { systemClock } from "../../src/lib/clock.ts";
import { fetchCaller } from "./ask.ts";

const devnet = await startDevnet({
  clock: systemClock,
  log: pino({ level: "silent" }),
  connect: fetchCaller,
});
process.stdout.write(`${JSON.stringify(devnet.nodes.map(({ url }) => url))}\n`);
