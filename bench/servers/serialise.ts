// Yardstick: the cost of writing an answer out of objects, and nothing else.
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import { listen } from "./listen.ts";

const answer: unknown = JSON.parse(readFileSync(process.argv[2] ?? "", "utf8"));

listen(
  createServer((_request, response) => {
    const body = Buffer.from(JSON.stringify(answer));
    const headers = { "content-type": "application/json", "content-length": body.length };
    response.writeHead(200, headers).end(body);
  }),
);
