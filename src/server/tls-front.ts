// TLS before HTTP on one port: bounds the handshakes, reads the certificate again when its files change, and passes on
// each secured connection with its protocol (ALPN).
import { constants, X509Certificate } from "node:crypto";
import { readFileSync, statSync } from "node:fs";
import type { Server } from "node:https";
import type { Socket } from "node:net";
import {
  createSecureContext,
  type SecureContextOptions,
  type TLSSocket,
  type TlsOptions,
} from "node:tls";
import type { Logger } from "pino";
import type { Config } from "../config/schema.ts";
import { isoText } from "../lib/calendar.ts";
import type { Clock } from "../lib/clock.ts";
import { PeriodicTimer } from "../lib/waiting.ts";
import type { CallbackGuard } from "./callback-guard.ts";

/** The paths of a certificate and its key, and of the authority that must have signed clients' certificates, if any. */
export type CertificateFiles = NonNullable<Config["admin"]["listen"]["tls"]>;

export type TlsFrontOptions = CertificateFiles & {
  readonly http2: boolean;
  /** How long a handshake may take, in milliseconds. */
  readonly handshakeMs: () => number;
};

type HandshakeOutcome = "done" | "failed" | "slow" | "turned away";

export type TlsFrontParts = {
  readonly createServer: (options: TlsOptions) => Server;
  /** Called for each new connection, and may destroy it. @returns Whether the connection may begin its handshake. */
  readonly admit: (raw: Socket) => boolean;
  /** Called when a handshake is done, before any byte of the protocol is read. */
  readonly onSecured: (secured: TLSSocket, raw: Socket) => void;
  readonly onHandshake: (outcome: HandshakeOutcome) => void;
  /** Called when a certificate comes into use, with the time at which it expires, in milliseconds since 1970. */
  readonly onCertificate: (expiresAtMs: number) => void;
  readonly clock: Pick<Clock, "now" | "after">;
  readonly log: Pick<Logger, "info" | "warn" | "error">;
  readonly guard: Pick<CallbackGuard, "run">;
};

const LOOK_EVERY_MS = 1_000;

type Certificate = { readonly context: SecureContextOptions; readonly expiresAtMs: number };

type ListenTls = { readonly tls?: CertificateFiles | undefined };

/** A line for each certificate that cannot be used, with the path of the setting that names its file. */
export const certificateMistakes = (config: {
  readonly listen: ListenTls;
  readonly admin: { readonly listen: ListenTls };
}): readonly string[] => [
  ...mistakeOf("listen", config.listen),
  ...mistakeOf("admin.listen", config.admin.listen),
];

function mistakeOf(path: string, { tls }: ListenTls): readonly string[] {
  try {
    if (tls) readCertificate(tls);
    return [];
  } catch (error) {
    return [`${path}.tls.${(error as Error).message}`];
  }
}

/** Reads and checks the files. @throws Error with a text for operators, which reveals nothing of the key. */
function readCertificate({ certificate, key, clients }: CertificateFiles): Certificate {
  const cert = textOf("certificate", certificate);
  const ca = clients === undefined ? undefined : textOf("clients", clients);
  const context = { cert, key: textOf("key", key), ...(ca !== undefined && { ca }), ...VERSIONS };
  const expiresAtMs = expiryOf("certificate", cert);
  if (ca !== undefined) expiryOf("clients", ca);
  try {
    createSecureContext(context);
  } catch (cause) {
    const { code = "" } = cause as NodeJS.ErrnoException;
    const isOther = code === "ERR_OSSL_X509_KEY_VALUES_MISMATCH";
    const why = isOther
      ? "belongs to another certificate"
      : "is not a private key in PEM, or has a password";
    throw new Error(`key: ${key} ${why}`, { cause });
  }
  return { context, expiresAtMs };
}

/** At least TLS 1.2, and no renegotiation, which a connection could request without end. */
const VERSIONS = {
  minVersion: "TLSv1.2",
  secureOptions: constants.SSL_OP_NO_RENEGOTIATION,
} as const;

function textOf(setting: string, path: string): string {
  let text: string;
  try {
    text = readFileSync(path, "utf8");
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException;
    const why = code === "ENOENT" ? "there is no such file" : `it cannot be read (${code})`;
    throw new Error(`${setting}: ${path}: ${why}`, { cause });
  }
  // Node takes an empty text for none: handshakes would have no key, or clients of any public authority would get in.
  if (text.trim() === "") throw new Error(`${setting}: ${path}: the file is empty`);
  return text;
}

function expiryOf(setting: string, pem: string): number {
  try {
    return new X509Certificate(pem).validToDate.getTime();
  } catch (cause) {
    throw new Error(`${setting}: this is not a certificate in PEM`, { cause });
  }
}

type Handshake = { readonly raw: Socket; readonly begunAtMs: number };

export class TlsFront {
  /** The server that listens on the port. */
  readonly server: Server;
  /** Makes Node read a secured connection as HTTP/1.1. */
  readonly serveByNode: (secured: Socket) => void;
  /** The handshakes under way, oldest first, by the address and port of their callers. */
  readonly #handshakes = new Map<string, Handshake>();
  #files: CertificateFiles;
  /** A text that changes when the files change. */
  #stamp: string;
  readonly #use: (certificate: Certificate) => void;
  readonly #timer: PeriodicTimer;
  readonly #options: TlsFrontOptions;
  readonly #parts: TlsFrontParts;

  /** @throws Error when the certificate cannot be used. */
  constructor(options: TlsFrontOptions, parts: TlsFrontParts) {
    this.#options = options;
    this.#parts = parts;
    this.#files = options;
    this.#stamp = stampOf(options);
    const round = (): boolean => {
      this.#look();
      this.#endSlow();
      return true;
    };
    this.#timer = new PeriodicTimer({ clock: parts.clock, everyMs: () => LOOK_EVERY_MS, round });
    const certificate = readCertificate(options);
    const server = parts.createServer({
      ...certificate.context,
      ALPNProtocols: options.http2 ? ["h2", "http/1.1"] : ["http/1.1"],
      ...(options.clients !== undefined && { requestCert: true, rejectUnauthorized: true }),
    });
    this.#use = ({ context, expiresAtMs }) => {
      server.setSecureContext(context);
      parts.onCertificate(expiresAtMs);
    };
    parts.onCertificate(certificate.expiresAtMs);
    // Node's own listeners would read each connection as HTTP/1.1, and answer a broken handshake as a request.
    const [overHttp1] = server.listeners("secureConnection");
    server.removeAllListeners("secureConnection").removeAllListeners("tlsClientError");
    const { guard } = parts;
    server.on("connection", (raw: Socket) => guard.run("connection", raw, () => this.#begin(raw)));
    server.on("secureConnection", (secured) =>
      guard.run("handshake", secured, () => this.#secured(secured)),
    );
    server.on("tlsClientError", (_, secured) => secured.destroy());
    this.server = server;
    this.serveByNode = (secured) => {
      overHttp1?.call(server, secured);
      // Node's parser reads from the TLS handle directly. While it is paused, since answers of a pipeline wait, it still
      // gets the rest of a decrypted record, and takes that for a broken request. A listener makes it read the stream.
      secured.on("data", ignore);
    };
    this.#timer.begin();
  }

  /** Changes the files, which count from the next handshake on. */
  reconfigure(files: CertificateFiles): void {
    this.#files = files;
    this.#look();
  }

  /** Ends the handshakes under way. To be called once the server accepts no more connections. */
  close(): void {
    this.#timer.stop();
    for (const { raw } of this.#handshakes.values()) raw.destroy();
  }

  #begin(raw: Socket): void {
    const { admit, onHandshake, clock } = this.#parts;
    raw.on("error", () => raw.destroy());
    if (!admit(raw)) {
      onHandshake("turned away");
      raw.destroy();
      return;
    }
    const peer = peerOf(raw);
    this.#handshakes.set(peer, { raw, begunAtMs: clock.now() });
    raw.once("close", () => {
      if (this.#handshakes.get(peer)?.raw !== raw) return;
      this.#handshakes.delete(peer);
      onHandshake("failed");
    });
  }

  #secured(secured: TLSSocket): void {
    const peer = peerOf(secured);
    const handshake = this.#handshakes.get(peer);
    secured.on("error", () => secured.destroy());
    if (!handshake) {
      secured.destroy(); // its TCP connection ended meanwhile
      return;
    }
    this.#handshakes.delete(peer);
    this.#parts.onHandshake("done");
    this.#parts.onSecured(secured, handshake.raw);
  }

  /** Ends each handshake that takes too long, also while its caller goes on sending. */
  #endSlow(): void {
    const { clock, onHandshake } = this.#parts;
    const before = clock.now() - this.#options.handshakeMs();
    for (const [peer, { raw, begunAtMs }] of this.#handshakes) {
      if (begunAtMs > before) return; // the rest began later
      this.#handshakes.delete(peer);
      onHandshake("slow");
      raw.destroy();
    }
  }

  /** Reads the files if they changed. A certificate that cannot be used is logged once, and changes nothing. */
  #look(): void {
    const { log } = this.#parts;
    const stamp = stampOf(this.#files);
    if (stamp === this.#stamp) return;
    this.#stamp = stamp;
    const { certificate: file } = this.#files;
    try {
      const read = readCertificate(this.#files);
      this.#use(read);
      log.info({ file, expires: isoText(read.expiresAtMs) }, "the certificate was replaced");
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error);
      log.error({ why }, "the new certificate cannot be used: the previous one stays in use");
    }
  }
}

const ignore = (): void => undefined;

const peerOf = ({ remoteAddress, remotePort }: Socket): string => `${remoteAddress} ${remotePort}`;

/** A text that changes when any of the files is replaced or written. */
const stampOf = ({ certificate, key, clients }: CertificateFiles): string =>
  [certificate, key, clients]
    .map((path) => (path === undefined ? "none" : stampOfOne(path)))
    .join("\n");

/** The stamp of one file. Never throws: a file that cannot be read counts as missing. */
function stampOfOne(path: string): string {
  try {
    const { ino, size, mtimeMs } = statSync(path);
    return `${path} ${ino} ${size} ${mtimeMs}`;
  } catch {
    return "none";
  }
}
