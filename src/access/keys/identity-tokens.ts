// Tokens of an identity provider (JWT, RFC 7519), which callers send in the place of a key's text. A claim of the token
// names the key whose grant the caller gets. A verified token stays known until it expires or its signing key is removed.

import { readFile } from "node:fs/promises";
import { get } from "node:http";
import { get as getSecurely } from "node:https";
import {
  createLocalJWKSet,
  decodeProtectedHeader,
  type JSONWebKeySet,
  errors as joseErrors,
  jwtVerify,
} from "jose";
import type { Logger } from "pino";
import type { Config } from "../../config/schema.ts";
import type { Clock } from "../../lib/clock.ts";
import { keepNewest } from "../../lib/keep-newest.ts";
import { TokenBucket } from "../../lib/token-bucket.ts";
import type { Metrics } from "../../observe/metrics.ts";

export type IdentitySettings = NonNullable<Config["jwt"]>;

export type IdentityTokensParts = {
  /** Called when a token that was known may have been forgotten. */
  readonly onForgotten: () => void;
  readonly metrics: Pick<Metrics, "tokenRefused">;
  readonly clock: Pick<Clock, "now" | "wallTime" | "after">;
  readonly log: Pick<Logger, "info" | "warn" | "debug">;
};

export type KnownToken = {
  /** The name of the key whose grant the token gives. */
  readonly name: string;
  readonly untilMs: number;
};

type Verified = KnownToken & { readonly signer: string };

type SigningKeys = {
  readonly text: string;
  readonly resolve: ReturnType<typeof createLocalJWKSet>;
  /** The signing keys as JSON texts. */
  readonly signers: ReadonlySet<string>;
  /** The signing keys as JSON texts, by `kid`. */
  readonly signerById: ReadonlyMap<string, string>;
};

/** In characters. */
const LONGEST_TOKEN = 8_192;
const FORM = /^eyJ[\w-]+\.[\w-]+\.[\w-]+$/;
const MOST_KNOWN = 10_000;
const MOST_AT_ONCE = 64;
const READ_EVERY_MS = 300_000;
/** The pause after a failure. */
const READ_AGAIN_MS = 10_000;
const READS = { size: 5, perSecond: 0.1 };
const FILE_EVERY_MS = 2_000;
const FETCH_MS = 5_000;
const MOST_BYTES = 256 * 1024;

export class IdentityTokens {
  /** Verified tokens by their texts, oldest first. */
  readonly #known = new Map<string, Verified>();
  #keys: SigningKeys | undefined;
  #readAtMs = Number.NEGATIVE_INFINITY;
  /** Bounds the reads for tokens with an unknown signing key, since anybody can make such tokens. */
  readonly #readsLeft: TokenBucket;
  #reading: Promise<void> | undefined;
  /** How many tokens wait, counted apart: tokens whose signing key is still being read do not delay the others. */
  readonly #underWay = { reading: 0, verifying: 0 };
  #isTold = false;
  #stopTimer: () => void = () => undefined;
  #settings: IdentitySettings | undefined;
  readonly #parts: IdentityTokensParts;

  /** @param settings undefined: every token is refused. */
  constructor(settings: IdentitySettings | undefined, parts: IdentityTokensParts) {
    this.#settings = settings;
    this.#parts = parts;
    this.#readsLeft = new TokenBucket(READS, parts.clock.now());
  }

  /** Reads the signing keys now, and then in intervals. */
  start(): void {
    if (this.#settings) void this.#read().then(() => this.#readLater());
  }

  close(): void {
    this.#stopTimer();
    this.#settings = undefined;
  }

  /** Forgets the tokens that the new settings would refuse. */
  reconfigure(settings: IdentitySettings | undefined): void {
    if (JSON.stringify(settings) === JSON.stringify(this.#settings)) return;
    this.#stopTimer();
    this.#settings = settings;
    this.#keys = undefined;
    this.#readAtMs = Number.NEGATIVE_INFINITY;
    this.#known.clear();
    this.#parts.onForgotten();
    this.start();
  }

  /** Whether a text in the place of a key looks like a token. */
  isOne(text: string): boolean {
    return this.#settings !== undefined && text.length <= LONGEST_TOKEN && FORM.test(text);
  }

  /** The key of a verified token that has not expired; undefined for other texts. */
  known(text: string, wallTimeMs: number): KnownToken | undefined {
    const verified = this.#known.get(text);
    return verified && wallTimeMs < verified.untilMs ? verified : undefined;
  }

  /** Never rejects. @returns `unavailable` while the signing keys are missing or stale, or too many tokens wait. */
  async verify(text: string): Promise<"verified" | "refused" | "unavailable"> {
    const settings = this.#settings;
    if (!settings) return "refused";
    try {
      const { kid, alg = "" } = decodeProtectedHeader(text);
      // Checked before the gateway reads or computes anything for the token.
      if (!settings.algorithms.includes(alg)) throw new joseErrors.JOSEAlgNotAllowed();
      const hasKeys = this.#hasKeyOf(kid) || (await this.#atOnce("reading", () => this.#readFor()));
      if (hasKeys === "unavailable") return hasKeys;
      return await this.#atOnce("verifying", () => this.#verify(text, kid, settings));
    } catch (error) {
      this.#parts.metrics.tokenRefused(whyOf(error));
      this.#parts.log.debug({ why: whyOf(error) }, "a token was refused");
      return "refused";
    }
  }

  async #atOnce<Outcome>(
    what: "reading" | "verifying",
    work: () => Promise<Outcome>,
  ): Promise<Outcome | "unavailable"> {
    if (this.#underWay[what] >= MOST_AT_ONCE) return "unavailable";
    this.#underWay[what] += 1;
    try {
      return await work();
    } finally {
      this.#underWay[what] -= 1;
    }
  }

  async #verify(
    text: string,
    kid: string | undefined,
    settings: IdentitySettings,
  ): Promise<"verified" | "unavailable"> {
    const { clock } = this.#parts;
    const keys = this.#keys;
    if (!keys || clock.now() - this.#readAtMs > settings.staleAfterMs) {
      this.#parts.metrics.tokenRefused("no keys");
      return "unavailable";
    }
    const { payload } = await jwtVerify(text, keys.resolve, {
      issuer: settings.issuer,
      audience: settings.audience,
      algorithms: [...settings.algorithms],
      clockTolerance: settings.clockToleranceMs / 1000,
      requiredClaims: ["exp", settings.claim],
    });
    // The signing keys changed meanwhile: a token of a removed key must not become known.
    if (keys !== this.#keys && settings === this.#settings)
      return this.#verify(text, kid, settings);
    const name = payload[settings.claim];
    if (typeof name !== "string" || settings !== this.#settings)
      throw new joseErrors.JWTClaimValidationFailed("the claim is not a text", payload);
    const untilMs = (payload.exp ?? 0) * 1000 + settings.clockToleranceMs;
    this.#remember(text, { name, untilMs, signer: (kid && keys.signerById.get(kid)) ?? "" });
    return "verified";
  }

  #remember(text: string, verified: Verified): void {
    if (this.#known.size >= MOST_KNOWN) {
      const now = this.#parts.clock.wallTime();
      for (const [each, { untilMs }] of this.#known) if (untilMs <= now) this.#known.delete(each);
    }
    keepNewest(this.#known, [text, verified], MOST_KNOWN);
  }

  #hasKeyOf(kid: string | undefined): boolean {
    return this.#keys !== undefined && (kid === undefined || this.#keys.signerById.has(kid));
  }

  /** Reads the signing keys for a token with an unknown one: a provider may begin to use a new key at any time. */
  async #readFor(): Promise<void> {
    if (this.#reading !== undefined || this.#readsLeft.take(1, this.#parts.clock.now()))
      await this.#read();
  }

  #readLater(): void {
    const { clock } = this.#parts;
    if (!this.#settings) return;
    const isFresh = clock.now() - this.#readAtMs < READ_EVERY_MS;
    const isFile = !this.#settings.keys.includes("://");
    const everyMs = isFile ? FILE_EVERY_MS : isFresh ? READ_EVERY_MS : READ_AGAIN_MS;
    this.#stopTimer();
    this.#stopTimer = clock.after(everyMs, () => void this.#read().then(() => this.#readLater()));
  }

  /** Never rejects: when the read fails, the known signing keys stay until they are stale. */
  #read(): Promise<void> {
    const settings = this.#settings;
    if (!settings) return Promise.resolve();
    const { clock, log } = this.#parts;
    this.#reading ??= textOf(settings.keys, this.#parts.clock)
      .then((text) => {
        if (settings !== this.#settings) return;
        this.#take(text);
        this.#readAtMs = clock.now();
        if (this.#isTold) log.info("the keys of the identity provider can be read again");
        this.#isTold = false;
      })
      .catch((error: unknown) => {
        const reason = error instanceof Error ? error.message : String(error);
        if (!this.#isTold) log.warn({ reason }, "the keys of the identity provider cannot be read");
        this.#isTold = true;
      })
      .finally(() => {
        this.#reading = undefined;
      });
    return this.#reading;
  }

  /** Replaces the signing keys, and forgets the tokens of removed keys. @throws Error as `signingKeys` */
  #take(text: string): void {
    if (text === this.#keys?.text) return;
    this.#keys = signingKeys(text);
    let isForgotten = false;
    for (const [token, { signer }] of this.#known)
      if (!this.#keys.signers.has(signer)) isForgotten = this.#known.delete(token);
    if (isForgotten) this.#parts.onForgotten();
  }
}

/** @throws Error when the text is no JSON Web Key Set, or has no public key. */
function signingKeys(text: string): SigningKeys {
  const { keys } = JSON.parse(text) as JSONWebKeySet;
  // Symmetric keys (`oct`) are not accepted: everybody who can verify with such a key can also sign with it.
  const usable = keys.filter(({ kty }) => kty !== "oct");
  if (usable.length === 0) throw new Error("the key set has no public key");
  const named = usable.map((key) => [key.kid ?? "", JSON.stringify(key)] as const);
  return {
    text,
    resolve: createLocalJWKSet({ keys: usable }),
    signers: new Set(named.map(([, key]) => key)),
    signerById: new Map(named),
  };
}

/** Reads a file, or fetches a URL within bounds of time and size. @throws Error */
async function textOf(place: string, clock: Pick<Clock, "after">): Promise<string> {
  if (!place.includes("://")) return readFile(place, "utf8");
  const from = place.startsWith("https:") ? getSecurely : get;
  return new Promise((resolve, reject) => {
    const asked = from(place, { headers: { accept: "application/json" }, agent: false });
    const cancel = clock.after(FETCH_MS, () =>
      asked.destroy(new Error("the server took too long to answer")),
    );
    let hasAnswered = false;
    asked.on("error", reject).on("close", () => {
      cancel();
      if (!hasAnswered) reject(new Error("the server closed the connection without an answer"));
    });
    asked.on("response", (response) => {
      hasAnswered = true;
      if (response.statusCode !== 200)
        asked.destroy(new Error(`the server answered ${response.statusCode}`));
      const chunks: Buffer[] = [];
      let bytes = 0;
      response.on("data", (chunk: Buffer) => {
        bytes += chunk.length;
        if (bytes > MOST_BYTES)
          asked.destroy(new Error(`the key set is larger than ${MOST_BYTES} bytes`));
        else chunks.push(chunk);
      });
      response.on("end", () => resolve(Buffer.concat(chunks).toString()));
      response.on("error", reject);
    });
  });
}

type TokenRefusal =
  | "expired"
  | "claim"
  | "signature"
  | "algorithm"
  | "unknown signer"
  | "no keys"
  | "malformed";

const REASONS: Readonly<Record<string, TokenRefusal | undefined>> = {
  ERR_JWT_EXPIRED: "expired",
  ERR_JWT_CLAIM_VALIDATION_FAILED: "claim",
  ERR_JWS_SIGNATURE_VERIFICATION_FAILED: "signature",
  ERR_JOSE_ALG_NOT_ALLOWED: "algorithm",
  ERR_JWKS_NO_MATCHING_KEY: "unknown signer",
};

const whyOf = (error: unknown): TokenRefusal =>
  REASONS[(error as { code?: string }).code ?? ""] ?? "malformed";
