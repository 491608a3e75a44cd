// The settings of the process: the ports for callers and operators, the log, and the limits for callers.
import { z } from "zod";
import { hashOf, ownerName, sha256 } from "./key-settings.ts";
import {
  addressOrRange,
  byteSize,
  duration,
  filePath,
  inMs,
  oneOf,
  onlyOneOf,
  textOf,
  trueOrFalse,
  wholeNumber,
} from "./units.ts";

/** An address to listen at. @param port The default port. */
const listenOn = (port: number) =>
  z.strictObject({
    host: textOf(/^[A-Za-z0-9.:_%-]+$/, "an IP address or a host name")
      .prefault("127.0.0.1")
      .describe("The address to listen on; 0.0.0.0 or :: for all addresses."),
    port: wholeNumber(0, 65_535).prefault(port).describe("The port; 0 takes any free one."),
  });

/** The URL of an address; an IPv6 address gets brackets. */
export const urlOf = (
  { host, tls }: { readonly host: string; readonly tls?: object | undefined },
  port: number,
): string => `${tls ? "https" : "http"}://${host.includes(":") ? `[${host}]` : host}:${port}`;

/** PEM files, which the gateway reads again when they change. */
const certificateFiles = {
  certificate: filePath.describe("The file of the certificate, with its chain, in PEM."),
  key: filePath.describe("The file of the certificate's private key, in PEM."),
};

/** The proxies whose headers name the caller's address. */
const proxySettings = {
  trustedProxies: z
    .array(addressOrRange)
    .prefault([])
    .describe(
      "The addresses and ranges of the proxies whose header names the caller's address; left out: none. The header of any other sender is ignored.",
    ),
  forwardedHeader: oneOf("x-forwarded-for", "forwarded")
    .prefault("x-forwarded-for")
    .describe(
      "The header in which trusted proxies name the caller's address. Each proxy must append the address from which it was called, and must not pass on as its own what a caller wrote into the header.",
    ),
};

/** The port for callers. */
export const publicListen = listenOn(8545).extend({
  ...proxySettings,
  tls: z
    .strictObject({
      ...certificateFiles,
      http2: trueOrFalse.prefault(true).describe("Whether callers are offered HTTP/2 as well."),
    })
    .optional()
    .describe("TLS; left out: plain HTTP."),
});

const adminToken = textOf(
  /^[A-Za-z0-9._~+/-]{16,256}=*$/,
  "16 to 256 characters of A-Z, a-z, 0-9, '.', '_', '~', '+', '/' and '-'",
);

/** The roles of operators. Each role includes the rights of the roles before it. */
export const ROLES = ["read", "keys", "all"] as const;
export type Role = (typeof ROLES)[number];

/** The token of one operator, or its hash. */
const operatorToken = z
  .strictObject({
    name: ownerName
      .refine((name) => name !== "admin", { error: "admin is the name of admin.token" })
      .describe("The name of the token's holder in the audit trail; unique, and not admin."),
    role: oneOf(...ROLES).describe(
      "read: may see everything, which includes no secret; keys: may also make and change keys; all: may do everything.",
    ),
    token: adminToken
      .optional()
      .describe("The token itself, best taken from a variable. Give either this or hash."),
    hash: sha256
      .optional()
      .describe("`sha256:` and the SHA-256 of the token in hex. Give either this or token."),
  })
  .refine(...onlyOneOf("token", "hash"))
  .transform(({ name, role, token, hash }) => ({ name, role, hash: hash ?? hashOf(token ?? "") }));

/** The port for operators. A port that other machines can reach needs a token (contradictions.ts). */
export const admin = z.strictObject({
  listen: listenOn(8546)
    .extend({
      tls: z
        .strictObject({
          ...certificateFiles,
          clients: filePath
            .optional()
            .describe(
              "The file of a certificate authority, in PEM. Only clients with a certificate that it signed are answered, whether or not they also need a token.",
            ),
        })
        .optional()
        .describe("TLS; left out: plain HTTP."),
    })
    .prefault({})
    .describe("The address and port of the metrics and the admin API."),
  token: adminToken
    .optional()
    .describe(
      "The token that may do everything, sent as `Authorization: Bearer …`, best taken from a variable. This or one of tokens is required when other machines can reach the port.",
    ),
  tokens: z
    .array(operatorToken)
    .prefault([])
    .describe("Further tokens, each with a name and a role."),
});

/** Only algorithms with asymmetric keys, with which a verifier of tokens cannot make tokens. */
const algorithm = oneOf(
  ...["RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512"],
  ...["EdDSA", "Ed25519"],
);

const anyText = z.string({ error: "expected a text" }).min(1, { error: "expected a text" });

/** Tokens of an identity provider, which callers send in the place of keys. */
export const jwt = z
  .strictObject({
    issuer: anyText.describe("The `iss` that a token must have."),
    audience: anyText.describe("The `aud` that a token must have, alone or among others."),
    keys: textOf(
      /^(https:\/\/.+|http:\/\/(localhost|127\.\d+\.\d+\.\d+|\[::1\])([:/].*)?|(?!\w+:\/\/).+)$/,
      "an https URL of the provider's signing keys (JWKS), or the path of a file of them",
    ).describe(
      "The https URL of the provider's signing keys (JWKS), which is read every five minutes, or their file, which is read when it changes.",
    ),
    algorithms: z
      .array(algorithm)
      .min(1, { error: "at least one algorithm is needed, such as RS256" })
      .describe("The signature algorithms that are accepted."),
    claim: textOf(/^[\w:./-]{1,128}$/, "1 to 128 characters of A-Z, a-z, 0-9, _ : . / -")
      .prefault("headgate_key")
      .describe("The claim that contains the name of the key for which a token stands."),
    clockTolerance: duration
      .prefault("30s")
      .describe("The largest accepted difference between the provider's clock and the gateway's."),
    staleAfter: duration
      .prefault("24h")
      .describe("The time for which signing keys are still used while they cannot be read again."),
  })
  .transform(({ clockTolerance, staleAfter, ...rest }) => ({
    ...rest,
    clockToleranceMs: clockTolerance,
    staleAfterMs: staleAfter,
  }));

/** Whether only this machine can reach the address. The only name is localhost: other names may change their address. */
export const isLoopback = (host: string): boolean =>
  /^(localhost|127(\.\d{1,3}){3}|::1|\[::1\])$/i.test(host);

export const log = z.strictObject({
  level: oneOf("fatal", "error", "warn", "info", "debug", "trace", "silent")
    .prefault("info")
    .describe("The least severe level that is written."),
});

const expectedProcesses = "a whole number from 1, or auto";

export const processes = z.union(
  [wholeNumber(1, undefined, expectedProcesses), z.literal("auto")],
  { error: `expected ${expectedProcesses}` },
);

/** The limits for callers. */
export const serverLimits = z
  .strictObject({
    body: byteSize.prefault("1MiB").describe("The largest request body, also after decompression."),
    batch: wholeNumber(1, 1000).prefault(1000).describe("The most calls in one batch."),
    connections: wholeNumber(1).prefault(10_000).describe("The most open connections of callers."),
    connectionsPerAddress: wholeNumber(1)
      .optional()
      .describe(
        "The most open connections of one address, or of one IPv6 /64; trusted proxies have no such limit. Left out: a quarter of `connections`.",
      ),
    refusals: wholeNumber(0)
      .prefault(100)
      .describe(
        "The number of refused requests a second that an address may send, with one key or without any, before its requests are turned away unread; twenty times as many at once. 0: any number.",
      ),
    filters: wholeNumber(1).prefault(1_000).describe("The most filters of one key."),
    memory: byteSize
      .optional()
      .describe(
        "The most bytes that may wait in memory in all: request bodies, answers of nodes, and answers that callers have not taken. Above this limit new work is refused with 503, large work from three sixteenths of the limit on. Left out: a quarter of the memory that the gateway may use, at most 1GiB.",
      ),
    batchResponse: byteSize
      .prefault("50MiB")
      .describe(
        "The most bytes of answers to one batch; each further call in the batch gets an error.",
      ),
    reading: z
      .strictObject({
        atLeast: byteSize.prefault("10KiB").describe("The least bytes a second."),
        over: duration.prefault("30s").describe("The time over which that rate is averaged."),
      })
      .prefault({})
      .describe(
        "The rate at which a caller must take an answer that waits for it; a slower caller is cut off.",
      ),
    webSocket: z
      .strictObject({
        connections: wholeNumber(1)
          .prefault(100)
          .describe("The most open WebSockets and event streams of one key, in each process."),
        subscriptions: wholeNumber(1)
          .prefault(1_000)
          .describe("The most subscriptions of one key, over all networks."),
        messages: wholeNumber(1)
          .prefault(100)
          .describe(
            "The most messages a second that one key may send over its WebSockets, in each process; ten times as many at once.",
          ),
        compression: trueOrFalse
          .prefault(false)
          .describe("Whether messages are compressed for callers that ask for it."),
      })
      .prefault({})
      .describe("Limits and compression of WebSockets."),
  })
  .transform(({ body, memory, batchResponse, reading, webSocket, ...rest }) => ({
    bodyBytes: body,
    ...(memory === undefined ? {} : { memoryBytes: memory }),
    batchResponseBytes: batchResponse,
    reading: { bytesPerSecond: reading.atLeast, overMs: reading.over },
    webSocket: {
      perKey: webSocket.connections,
      messagesPerSecond: webSocket.messages,
      isCompressed: webSocket.compression,
      subscriptionsPerKey: webSocket.subscriptions,
    },
    ...rest,
    connectionsPerAddress: rest.connectionsPerAddress ?? Math.ceil(rest.connections / 4),
  }));

export const timeouts = z
  .strictObject({
    headers: duration
      .prefault("10s")
      .describe("The time for a caller to send the request's headers."),
    body: duration
      .prefault("30s")
      .describe("The time for a caller to send the whole request, or a message over a WebSocket."),
    idle: duration.prefault("65s").describe("The time for which an idle connection is kept open."),
    ping: duration
      .prefault("30s")
      .describe(
        "The time for which a WebSocket may be silent before the gateway sends a ping; a WebSocket that stays silent for the same time again is cut off.",
      ),
    webSocketIdle: duration
      .prefault("1h")
      .describe("The time for which a WebSocket without messages from its caller is kept open."),
    call: duration
      .prefault("30s")
      .describe("The time for a call to be answered, upstreams included."),
    drain: duration.prefault("25s").describe("The time for running calls to end after SIGTERM."),
    leave: duration
      .prefault("3s")
      .describe(
        "The part of drain that load balancers have to notice the end: /readyz is 503, and callers are still admitted. It applies only if /readyz was asked within the last minute.",
      ),
    heartbeat: duration
      .prefault("10s")
      .refine((ms) => ms >= 2_000, { error: "expected a duration from 2s" })
      .describe(
        "The time for one of several processes, or the writer thread, to give a sign of life before it is replaced.",
      ),
  })
  .transform(inMs);
