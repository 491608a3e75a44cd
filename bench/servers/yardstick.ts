// Yardstick (Y): the least that a JSON-RPC server on `node:http` does. It reads the body, parses it, and writes the
// headers and bytes of the gateway's answer, which a file contains.
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import { listen } from "./listen.ts";

type Answer = { readonly headers: readonly string[]; readonly body: string };
const { headers, body } = JSON.parse(readFileSync(process.argv[2] ?? "", "utf8")) as Answer;
const bytes = Buffer.from(body);

listen(
  createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      JSON.parse(chunks.length === 1 ? String(chunks[0]) : Buffer.concat(chunks).toString());
      response.writeHead(200, headers as string[]).end(bytes);
    });
  }),
);
