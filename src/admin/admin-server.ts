// HTTP for operators, on its own port: keys, usage, metrics, and how the gateway does.
import { createServer, type Server } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { getRequestListener } from "@hono/node-server";
import { answerBarely, answerBroken } from "../server/bare-answer.ts";
import { Connections } from "../server/connections.ts";
import { hasOneHost } from "../server/host-header.ts";
import { requestIds } from "../server/request-id.ts";
import { adminApp } from "./admin-app.ts";
import type { AdminServerParts } from "./admin-server-parts.ts";
import { Token } from "./admission.ts";
import { Problem, problemResponse } from "./problem.ts";

export type AdminServerOptions = {
  readonly host: string;
  /** 0 takes any free port. */
  readonly port: number;
  /** undefined: this machine alone is answered. */
  readonly token: string | undefined;
};

export class AdminServer {
  readonly #place: { host: string; port: number };
  readonly #server: Server;
  readonly #nextRequestId = requestIds();
  /** As at callers' port: who is not let in makes room for those who are. */
  readonly #connections = new Connections(
    { most: MOST_CONNECTIONS, strangers: MOST_CONNECTIONS, perAddress: MOST_CONNECTIONS },
    { isProxy: () => true, metrics: { connectionEnded: noop, connectionsCounted: noop } },
  );
  #token: Token | undefined;

  constructor({ host, port, token }: AdminServerOptions, parts: AdminServerParts) {
    this.#place = { host, port };
    this.reconfigure({ token });
    const onLetIn = (socket: Socket): void => this.#connections.letIn(socket);
    const app = adminApp({ token: () => this.#token, onLetIn }, parts);
    this.#server = boundedServer(
      getRequestListener((request, bindings) => app.fetch(request, bindings), {
        overrideGlobalObjects: false,
        errorHandler: () => this.#unreadable(),
      }),
      () => this.#nextRequestId(),
    );
    this.#server.on("connection", (socket) => {
      if (this.#connections.admit(socket) !== "admitted") socket.destroy();
    });
  }

  #unreadable(): Response {
    const headers = { "X-Request-Id": this.#nextRequestId() };
    return problemResponse(new Problem(400, "this is no request that can be read", { headers }));
  }

  /** The next request needs this token. */
  reconfigure({ token }: { readonly token?: string | undefined }): void {
    this.#token = token === undefined ? undefined : new Token(token);
  }

  /** @returns The port, also when any was asked for. */
  listen(): Promise<number> {
    return new Promise((resolve, reject) => {
      this.#server.once("error", reject);
      this.#server.listen(this.#place, () => {
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
}

const noop = (): void => undefined;
const NO_TUNNEL = { status: "405 Method Not Allowed" };
const HEADERS_MS = 10_000;
const BODY_MS = 30_000;
const MOST_CONNECTIONS = 100;

function boundedServer(
  serve: ReturnType<typeof getRequestListener>,
  nextRequestId: () => string,
): Server {
  const bounds = {
    headersTimeout: HEADERS_MS,
    requestTimeout: HEADERS_MS + BODY_MS,
    keepAliveTimeout: HEADERS_MS,
    connectionsCheckingInterval: 1_000,
    maxHeaderSize: 16_384,
    requireHostHeader: false, // node's own refusal has no request id
  };
  const server = createServer(bounds, (request, response) => {
    if (hasOneHost(request)) return void serve(request, response);
    response.writeHead(400, { "X-Request-Id": nextRequestId(), Connection: "close" }).end();
  });
  server.on("clientError", (error, socket) => {
    answerBroken(error, socket as Socket, nextRequestId());
  });
  server.on("connect", (_, socket) => {
    answerBarely(socket as Socket, { ...NO_TUNNEL, requestId: nextRequestId() });
  });
  server.on("checkExpectation", (_, response) => {
    response.writeHead(417, { "X-Request-Id": nextRequestId() }).end();
  });
  // Who stops reading its answer is cut off.
  server.setTimeout(HEADERS_MS + BODY_MS);
  return server;
}
