// Admits a request that has one of the tokens. Where no tokens are configured, only requests from this machine are
// admitted. The danger there is a browser in which a page of another site sends requests to this port. Requests with the
// cookie of a session have the same danger, since browsers send cookies with the requests of every page.

import { hash, timingSafeEqual } from "node:crypto";
import { hashOf } from "../config/key-settings.ts";
import type { Config } from "../config/schema.ts";
import { isLoopback, ROLES, type Role } from "../config/server-settings.ts";
import { type Problem, problems } from "./problem.ts";

/** The part of a request that admission reads. */
export type AdminRequest = {
  readonly verb: string;
  /** The value of a header. @param name In lower case. */
  readonly header: (name: string) => string | undefined;
  /** Whether the request came over TLS that ends at this server. */
  readonly isEncrypted?: boolean;
};

/** The operator who sent a request: the name and the role of its token. */
export type Operator = { readonly name: string; readonly role: Role };

/** @param hash `sha256:` and hex digits. */
export type OperatorToken = Operator & { readonly hash: string };

/** The hashes of all tokens. A comparison takes the same time whether it succeeds or not. */
export class Tokens {
  readonly #known: readonly (Operator & { readonly digest: Buffer })[];

  constructor(known: readonly OperatorToken[]) {
    this.#known = known.map(({ name, role, hash: text }) => ({
      ...{ name, role },
      digest: Buffer.from(text.slice("sha256:".length), "hex"),
    }));
  }

  get isEmpty(): boolean {
    return this.#known.length === 0;
  }

  /** @param authorization The header `Authorization`. */
  holderOf(authorization: string | undefined): Operator | undefined {
    const [, presented] = /^Bearer +([\x21-\x7e]+) *$/i.exec(authorization ?? "") ?? [];
    return presented === undefined ? undefined : this.holderOfDigest(digestOf(presented));
  }

  /** @param digest As `digestOf` makes it. */
  holderOfDigest(digest: string): Operator | undefined {
    const bytes = Buffer.from(digest, "hex");
    // Every digest is compared, also after a match.
    const [found] = this.#known.filter((each) => timingSafeEqual(bytes, each.digest));
    return found;
  }
}

/** The hash of a token, in hex. */
export const digestOf = (token: string): string => hash("sha256", token, "hex");

/** The tokens of the configuration; `admin.token` has the name `admin` and the role `all`. */
export const tokensOf = ({ token, tokens = [] }: TokenSettings): Tokens =>
  new Tokens([
    ...(token === undefined ? [] : [{ name: "admin", role: "all", hash: hashOf(token) } as const]),
    ...tokens,
  ]);

export type TokenSettings = Partial<Pick<Config["admin"], "token" | "tokens">>;

/** The operator where no tokens are configured. */
const LOCAL: Operator = { name: "this machine", role: "all" };

/**
 * The operator of a request, or the reason of its refusal. No page can make a browser send a token, but every page can
 * make it send a cookie.
 * @param sessionDigest The hash of the token that the request's cookie stands for.
 */
export function admitted(
  request: AdminRequest,
  tokens: Tokens,
  sessionDigest?: string,
): Operator | Problem {
  if (tokens.isEmpty) return refusedWithoutToken(request) ?? LOCAL;
  const holder = tokens.holderOf(request.header("authorization"));
  if (holder || sessionDigest === undefined) return holder ?? problems.wrongToken();
  const operator = tokens.holderOfDigest(sessionDigest); // a reload may have removed the token
  if (!operator) return problems.wrongToken();
  return otherPage(request) ?? notOfConsole(request) ?? operator;
}

/** Where no tokens are configured: the reason why a request may come from elsewhere than this machine. */
export const refusedWithoutToken = (request: AdminRequest): Problem | undefined =>
  otherHost(request) ?? otherSite(request) ?? notAsked(request);

/**
 * The reason why another page may have sent a request with a cookie. Browsers send `Sec-Fetch-Site` over TLS and on this
 * machine; elsewhere `Origin` decides.
 */
export function otherPage({ verb, header, isEncrypted }: AdminRequest): Problem | undefined {
  const site = header("sec-fetch-site");
  const isRead = READING.has(verb);
  const isOwn =
    site === undefined
      ? isOwnOrigin(header, isEncrypted) && (isRead || header("origin") !== undefined)
      : site === "same-origin" || (site === "none" && isRead);
  return isOwn ? undefined : problems.forbidden("pages of other sites are refused");
}

/** The console sends this header with changes. A page of another site needs permission for it (CORS), and gets none. */
const CONSOLE_HEADER = "x-headgate-console";

const notOfConsole = ({ verb, header }: AdminRequest): Problem | undefined =>
  READING.has(verb) || header(CONSOLE_HEADER) !== undefined
    ? undefined
    : problems.forbidden(`a change by a session needs the header ${CONSOLE_HEADER}`);

/** Whether a role includes the rights of the needed role. */
export const covers = (role: Role, needed: Role): boolean =>
  ROLES.indexOf(role) >= ROLES.indexOf(needed);

/** Refuses a `Host` that is not this machine: another name may have been made to resolve to 127.0.0.1 (DNS rebinding). */
function otherHost({ header }: AdminRequest): Problem | undefined {
  const host = (header("host") ?? "").replace(/:\d*$/, "");
  if (isLoopback(host)) return undefined;
  return problems.forbidden(
    "without admin.token, the header Host must be localhost, 127.0.0.1 or [::1]",
  );
}

function otherSite({ header, isEncrypted }: AdminRequest): Problem | undefined {
  const site = header("sec-fetch-site") ?? "none";
  if (isOwnOrigin(header, isEncrypted) && (site === "none" || site === "same-origin"))
    return undefined;
  return problems.forbidden("without admin.token, pages of other sites are refused");
}

/** Whether the request's `Origin` is this host, or left out. */
function isOwnOrigin(header: AdminRequest["header"], isEncrypted = false): boolean {
  const origin = header("origin")?.toLowerCase();
  const own = `${isEncrypted ? "https" : "http"}://${header("host")?.toLowerCase()}`;
  return origin === undefined || origin === own;
}

const READING: ReadonlySet<string> = new Set(["GET", "HEAD"]);

/** A page may send JSON to another site only with that site's permission (CORS), which admin never gives. */
function notAsked({ verb, header }: AdminRequest): Problem | undefined {
  return READING.has(verb) || isJson(header("content-type")) ? undefined : problems.notJson();
}

export const isJson = (contentType: string | undefined): boolean =>
  /^application\/json *(;.*)?$/i.test(contentType ?? "");
