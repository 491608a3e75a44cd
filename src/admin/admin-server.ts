// HTTP for operators, on its own port: keys, usage, metrics, and the state of the gateway.
import type { Socket } from "node:net";
import { getRequestListener } from "@hono/node-server";
import { Connections } from "../server/connections.ts";
import { hasOneHost, Listener, requestIds } from "../server/listener.ts";
import { Handshakes } from "../server/refusals.ts";
import type { CertificateFiles } from "../server/tls-front.ts";
import { adminApp } from "./admin-app.ts";
import type { AdminServerParts } from "./admin-parts.ts";
import { type TokenSettings, type Tokens, tokensOf } from "./admission.ts";
import { Problem, problemResponse } from "./problem.ts";

/** Without any token only this machine is answered. */
export type AdminServerOptions = TokenSettings & {
  readonly host: string;
  /** 0 takes a free port. */
  readonly port: number;
  /** Left out: plain HTTP. */
  readonly tls?: CertificateFiles | undefined;
};

const MOST_CONNECTIONS = 100;
const HEADERS_MS = 10_000;
const BODY_MS = 30_000;
const BOUNDS = {
  headersMs: HEADERS_MS,
  bodyMs: BODY_MS,
  idleMs: HEADERS_MS,
  silenceMs: HEADERS_MS + BODY_MS, // an operator that stops reading its answer is cut off
};

/** Handshakes that one address may make each second without a right token; twenty times as many at once. */
const HANDSHAKES = { perSecond: 10 };

export class AdminServer {
  readonly #listener: Listener;
  /** As on the callers' port, a connection without a right token makes room for others. */
  readonly #connections = new Connections(
    { most: MOST_CONNECTIONS, strangers: MOST_CONNECTIONS, perAddress: MOST_CONNECTIONS },
    { isProxy: () => true, metrics: { connectionEnded: noop, connectionsCounted: noop } },
  );
  #tokens: Tokens;
  readonly #ending = new AbortController();

  constructor({ host, port, tls, ...settings }: AdminServerOptions, parts: AdminServerParts) {
    this.#tokens = tokensOf(settings);
    const onLetIn = (socket: Socket): void => this.#connections.letIn(socket);
    const { signal: ending } = this.#ending;
    const app = adminApp({ tokens: () => this.#tokens, onLetIn, ending }, parts);
    const nextUnreadableId = requestIds();
    const answer = getRequestListener((request, bindings) => app.fetch(request, bindings), {
      overrideGlobalObjects: false,
      errorHandler: () => unreadable(nextUnreadableId()),
    });
    const { clock } = parts;
    const handshakes = new Handshakes(HANDSHAKES, {
      connections: {
        subscriberOf: ({ remoteAddress }) => remoteAddress,
        isKnown: (socket) => this.#connections.isKnown(socket),
      },
      clock,
    });
    this.#listener = new Listener(
      { host, port, tls, bounds: BOUNDS },
      {
        serve: ({ request, response, requestId }) => {
          if (hasOneHost(request)) return void answer(request, response);
          response.writeHead(400, { "X-Request-Id": requestId, Connection: "close" }).end();
        },
        onConnection: (socket) => {
          const isAdmitted =
            (tls === undefined || handshakes.begin(socket)) &&
            this.#connections.admit(socket) === "admitted";
          if (!isAdmitted) socket.destroy();
          return isAdmitted;
        },
        onCarried: (socket, by, as) => this.#connections.carry(socket, by, as),
        tls: {
          onHandshake: (outcome) => {
            if (outcome !== "done") parts.metrics.adminRefused("handshake");
          },
          onCertificate: (ms) => parts.metrics.certificateExpires("admin", ms),
          onEnded: noop,
          ...parts,
        },
      },
    );
  }

  /** The next request needs one of these tokens. */
  reconfigure({
    listen,
    ...settings
  }: TokenSettings & { readonly listen?: Pick<AdminServerOptions, "tls"> }): void {
    this.#tokens = tokensOf(settings);
    this.#listener.certify(listen?.tls);
  }

  /** @returns The port; a free one was taken if 0 was asked for. */
  listen(): Promise<number> {
    return this.#listener.listen();
  }

  close(): Promise<void> {
    this.#ending.abort();
    const closed = this.#listener.close();
    this.#listener.cut();
    return closed;
  }
}

const noop = (): void => undefined;

const unreadable = (requestId: string): Response => {
  const headers = { "X-Request-Id": requestId };
  return problemResponse(new Problem(400, "this is no request that can be read", { headers }));
};
