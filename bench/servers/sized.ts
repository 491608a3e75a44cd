// Yardstick: node:http with a given answer.
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import { listen } from "./listen.ts";

const answer = readFileSync(process.argv[2] ?? "");
const headers = { "content-type": "application/json", "content-length": answer.length };

listen(createServer((_request, response) => response.writeHead(200, headers).end(answer)));
