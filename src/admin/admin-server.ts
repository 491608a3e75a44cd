// The HTTP server for operators, on its own port: keys, usage, metrics, configuration and status.
import type { IncomingMessage } from "node:http";
import type { Socket } from "node:net";
import type { Logger } from "pino";
import { configuredIn, KeyBook } from "../access/keys/key-book.ts";
import { GUESS_LIMITS, Guesses } from "../access/scope/guesses.ts";
import { type PriceList, priceList } from "../access/usage/usage-report.ts";
import type { Config } from "../config/schema.ts";
import type { Clock } from "../lib/clock.ts";
import { CallbackGuard } from "../server/callback-guard.ts";
import { Connections } from "../server/connections.ts";
import { type HttpExchange, hasOneHost, Listener } from "../server/listener.ts";
import { Handshakes, RefusalBudget } from "../server/refusals.ts";
import type { State } from "../state/state.ts";
import type { AdminListener } from "./admin-app.ts";
import type { AdminAppParts } from "./admin-parts.ts";
import { type AdminRequest, type Tokens, tokensOf } from "./admission.ts";

export type AdminServerParts = Omit<AdminAppParts, "keys" | "prices" | "guesses"> & {
  readonly state: State;
  readonly clock: Clock;
  readonly log: Logger;
};

/** How many refusals of wrong tokens may be delayed at the same time: each holds one of the few connections. */
const HELD = 20;

const MOST_CONNECTIONS = 100;
const HEADERS_MS = 10_000;
const BODY_MS = 30_000;
const BOUNDS = {
  headersMs: HEADERS_MS,
  bodyMs: BODY_MS,
  idleMs: HEADERS_MS,
  silenceMs: HEADERS_MS + BODY_MS, // an operator that stops reading its response is disconnected
};

/** The refused requests of one address that are forgiven each second; twenty times as many at once. */
const REFUSALS = { refusals: 10 };
/** A wrong token or none, another site, too many of them. */
const REFUSED: ReadonlySet<number> = new Set([401, 403, 429]);
/** Health probes need no token. */
const OPEN_PATHS: ReadonlySet<string | undefined> = new Set(["/healthz", "/readyz"]);

/** TLS handshakes per second that an address may make without a right token; twenty times as many at once. */
const HANDSHAKES = { refusals: 10 };

export class AdminServer {
  readonly #listener: Listener;
  /** As on the callers' port, connections without a right token make room for new connections. */
  readonly #connections = new Connections(
    { most: MOST_CONNECTIONS, strangers: MOST_CONNECTIONS, perAddress: MOST_CONNECTIONS },
    { isProxy: () => true, metrics: { connectionEnded: noop, connectionsCounted: noop } },
  );
  #tokens: Tokens;
  readonly #ending = new AbortController();
  readonly #read: () => Promise<AdminListener>;
  /** The listener of the admin API; undefined before `prepare`. */
  #app: Promise<AdminListener> | undefined;
  /** The refusals of each address, by which a flood of wrong tokens is turned away before any route. */
  readonly #refusals = new RefusalBudget(REFUSALS);
  readonly #clock: Pick<Clock, "now">;
  readonly #keys: KeyBook;
  #prices: PriceList | undefined;
  readonly #log: Logger;

  constructor(config: Config, given: AdminServerParts) {
    const { state, clock, log } = given;
    this.#log = log;
    this.#clock = clock;
    this.#keys = new KeyBook(
      { ...configuredIn(config), secret: config.keySecret },
      { state, clock },
    );
    this.#prices = pricesOf(config);
    const parts: AdminAppParts = {
      ...given,
      keys: this.#keys,
      prices: () => this.#prices,
      guesses: new Guesses({ ...GUESS_LIMITS, held: HELD }),
    };
    this.#tokens = tokensOf(config.admin);
    const { host, port, tls } = config.admin.listen;
    const onAdmitted = (socket: Socket): void => this.#connections.markAdmitted(socket);
    const { signal: ending } = this.#ending;
    this.#read = async () => {
      const { adminListener } = await import("./admin-app.ts");
      return adminListener({ tokens: () => this.#tokens, onAdmitted, ending }, parts);
    };
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
        serve: (exchange) => this.#serve(exchange),
        onConnection: (socket) => {
          const isAdmitted =
            (tls === undefined || handshakes.begin(socket)) &&
            this.#connections.admit(socket) === "admitted";
          if (!isAdmitted) socket.destroy();
          return isAdmitted;
        },
        onCarried: (socket, by, as) => this.#connections.carry(socket, by, as),
        guard: new CallbackGuard(given),
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

  /** Takes another configuration; the next request already needs one of its tokens. */
  reconfigure(config: Config): void {
    this.#keys.reconfigure(configuredIn(config));
    this.#prices = pricesOf(config);
    this.#tokens = tokensOf(config.admin);
    this.#listener.setCertificate(config.admin.listen.tls);
  }

  /** Begins to listen. @returns The port: a free one if the configured port is 0. */
  listen(): Promise<number> {
    void this.#warnWithoutKeys();
    return this.#listener.listen();
  }

  async #warnWithoutKeys(): Promise<void> {
    // Other parts of the gateway log that the state cannot be reached.
    const keys = await this.#keys.list().catch(() => undefined);
    if (keys?.every(({ status }) => status !== "active"))
      this.#log.warn(
        "there are no active keys: no caller is admitted until a key is made (headgate keys create)",
      );
  }

  /**
   * Loads the module of the admin API, which takes a fifth of a start: to be called once callers are served, and not only
   * at the first request, since a package that is replaced meanwhile has other files.
   */
  prepare(): Promise<AdminListener> {
    this.#app ??= this.#read();
    return this.#app;
  }

  async #serve({ request, response, requestId }: HttpExchange): Promise<void> {
    const own = { "X-Request-Id": requestId, Connection: "close" };
    if (!hasOneHost(request)) return void response.writeHead(400, own).end();
    const app = await this.prepare();
    const refusedForMs = this.#refusedForMs(request, app);
    if (refusedForMs > 0) {
      const headers = {
        ...own,
        "Retry-After": Math.ceil(refusedForMs / 1000),
        "Content-Length": 0,
      };
      return void response.writeHead(429, headers).end();
    }
    response.once("close", () => {
      if (REFUSED.has(response.statusCode))
        this.#refusals.charge(addressOf(request), 1, this.#clock.now());
    });
    await app.answer(request, response);
  }

  /** The milliseconds for which a request without a right token is refused; 0: it is answered. */
  #refusedForMs(request: IncomingMessage, { admits }: AdminListener): number {
    if (this.#refusals.exhausted.size === 0 || OPEN_PATHS.has(request.url)) return 0;
    const ms = this.#refusals.refusedForMs(addressOf(request), this.#clock.now());
    return ms > 0 && !admits(adminRequestOf(request)) ? ms : 0;
  }

  close(): Promise<void> {
    this.#ending.abort();
    const closed = this.#listener.close();
    this.#listener.terminate();
    return closed;
  }
}

const noop = (): void => undefined;

const addressOf = ({ socket }: IncomingMessage): string => socket.remoteAddress ?? "";

const adminRequestOf = ({ method = "", headers, socket }: IncomingMessage): AdminRequest => ({
  verb: method,
  header: (name) => headers[name]?.toString(),
  isEncrypted: "encrypted" in socket,
});

const pricesOf = ({ prices }: Config): PriceList | undefined => prices && priceList(prices);
