// Runs inside a child process of its own: conflux-rust is a native library, one server a process.
import { createServer } from "@xcfx/node";

const server = await createServer(JSON.parse(process.argv[2] ?? "{}"));
await server.start();
// The server stops when nobody refers to it.
process.on("exit", () => void server);
