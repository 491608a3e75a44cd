// Runs inside a child process of its own: conflux-rust is a native library, one server a process.
import { createServer } from "@xcfx/node";
import { systemClock } from "../../../src/lib/clock.ts";

// Stays when the library gives up: then nothing is left to wait for, and the process ends.
process.exitCode = 1;

async function run(): Promise<void> {
  const server = await createServer(JSON.parse(process.argv[2] ?? "{}"));
  await server.start();
  // The server stops when nobody refers to it, and it does not keep the process alive by itself.
  for (;;) {
    await systemClock.sleep(60_000);
    void server;
  }
}

// Not awaited: Node.js would complain of that last, and hide what the library said.
void run();
