// Yardstick: the bare proxy that anyone would write with node:http and undici.
import { createServer } from "node:http";
import { Pool } from "undici";
import { listen } from "./listen.ts";

const json = { "content-type": "application/json" };
const pool = new Pool(process.argv[2] ?? "", { connections: 64 });

listen(
  createServer((request, response) => {
    const length = request.headers["content-length"];
    const call = {
      path: "/",
      method: "POST",
      headers: { ...json, "content-length": length },
      body: request,
    } as const;
    pool
      .stream(call, ({ statusCode, headers }) =>
        response.writeHead(statusCode, {
          ...json,
          "content-length": String(headers["content-length"]),
        }),
      )
      .catch(() => response.destroy()); // callers leave at the end of a run
  }),
);
