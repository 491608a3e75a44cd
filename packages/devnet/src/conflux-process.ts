// Runs in a child process: conflux-rust is a native library that allows one node in a process.
import { createServer } from "@xcfx/node";
import { systemClock } from "../../../src/lib/clock.ts";

// The exit code when the library gives up: then nothing keeps the process alive any more.
process.exitCode = 1;

async function run(): Promise<void> {
  const server = await createServer(JSON.parse(process.argv[2] ?? "{}"));
  await server.start();
  // The library stops the node when `server` is collected, and the node does not keep the process alive.
  for (;;) {
    await systemClock.sleep(60_000);
    void server;
  }
}

// Without `await`: Node.js would print a warning about it last, and hide the library's own message.
void run();
