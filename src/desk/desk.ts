// HTTP for operators, on its own port: metrics for Prometheus. Keys and usage will follow.
import { createServer, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { Metrics } from "../observe/metrics.ts";

export class Desk {
  readonly #options: { host: string; port: number };
  readonly #metrics: Pick<Metrics, "exposition" | "contentType">;
  readonly #server: Server;

  constructor(
    options: { host: string; port: number },
    parts: { metrics: Pick<Metrics, "exposition" | "contentType"> },
  ) {
    this.#options = options;
    this.#metrics = parts.metrics;
    this.#server = createServer((request, response) => {
      request.resume();
      if (request.method === "GET" && request.url === "/metrics") void this.#tellMetrics(response);
      else response.writeHead(404, { "Content-Type": "text/plain" }).end("try GET /metrics\n");
    });
  }

  /** @returns The port, also when any was asked for. */
  listen(): Promise<number> {
    return new Promise((resolve, reject) => {
      this.#server.once("error", reject);
      this.#server.listen(this.#options, () => {
        this.#server.off("error", reject);
        resolve((this.#server.address() as AddressInfo).port);
      });
    });
  }

  close(): Promise<void> {
    return new Promise((resolve) => {
      this.#server.close(() => resolve());
      this.#server.closeAllConnections();
    });
  }

  async #tellMetrics(response: ServerResponse): Promise<void> {
    const text = await this.#metrics.exposition();
    response.writeHead(200, { "Content-Type": this.#metrics.contentType }).end(text);
  }
}
