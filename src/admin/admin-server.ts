// HTTP for operators, on its own port: keys, usage, metrics, and the state of the gateway.
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { Connections } from "../server/connections.ts";
import { hasOneHost, Listener } from "../server/listener.ts";
import { Handshakes } from "../server/refusals.ts";
import type { CertificateFiles } from "../server/tls-front.ts";
import type { AdminServerParts } from "./admin-parts.ts";
import { type TokenSettings, type Tokens, tokensOf } from "./admission.ts";

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

type Answer = (request: IncomingMessage, response: ServerResponse) => unknown;

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
  readonly #read: () => Promise<Answer>;
  /** What answers; undefined before it is read. */
  #answer: Promise<Answer> | undefined;

  constructor({ host, port, tls, ...settings }: AdminServerOptions, parts: AdminServerParts) {
    this.#tokens = tokensOf(settings);
    const onLetIn = (socket: Socket): void => this.#connections.letIn(socket);
    const { signal: ending } = this.#ending;
    this.#read = async () => {
      const { adminListener } = await import("./admin-app.ts");
      return adminListener({ tokens: () => this.#tokens, onLetIn, ending }, parts);
    };
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
          if (hasOneHost(request))
            return void this.prepare().then((answer) => answer(request, response));
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

  /**
   * Reads what answers, which takes a fifth of a start: to be called once callers are answered. A package that is
   * replaced later has other files.
   */
  prepare(): Promise<Answer> {
    this.#answer ??= this.#read();
    return this.#answer;
  }

  close(): Promise<void> {
    this.#ending.abort();
    const closed = this.#listener.close();
    this.#listener.cut();
    return closed;
  }
}

const noop = (): void => undefined;
