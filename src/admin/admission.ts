// Admits a request that has one of the tokens. Without any token only this machine is admitted; there the danger is a
// browser, in which a page of another site may send requests here. The same holds for the cookie of a session, which
// browsers send with the requests of every page.

import { hash, timingSafeEqual } from "node:crypto";
import { hashOf } from "../config/key-settings.ts";
import type { Config } from "../config/schema.ts";
import { isLoopback, ROLES, type Role } from "../config/server-settings.ts";
import { type Problem, problems } from "./problem.ts";

/** The part of a request that admission looks at. */
export type AdminRequest = {
  readonly verb: string;
  /** The value of a header, by its lower-case name. */
  readonly header: (name: string) => string | undefined;
  /** The request came over TLS that ends at this server. */
  readonly isEncrypted?: boolean;
};

/** The operator who asks, and its role. */
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
    // All are compared, also after the one that fits.
    const [found] = this.#known.filter((each) => timingSafeEqual(bytes, each.digest));
    return found;
  }
}

/** The hash of a token, in hex. */
export const digestOf = (token: string): string => hash("sha256", token, "hex");

/** @param settings The tokens of the configuration. */
export const tokensOf = ({ token, tokens = [] }: TokenSettings): Tokens =>
  new Tokens([
    ...(token === undefined ? [] : [{ name: "admin", role: "all", hash: hashOf(token) } as const]),
    ...tokens,
  ]);

export type TokenSettings = Partial<Pick<Config["admin"], "token" | "tokens">>;

/** The operator where there are no tokens. */
const LOCAL: Operator = { name: "this machine", role: "all" };

/**
 * The operator of a request, or why it is refused. No page can make a browser send a token, but every page can make it send a cookie.
 *
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

/** Where there are no tokens: why the request is not from this machine. */
export const refusedWithoutToken = (request: AdminRequest): Problem | undefined =>
  otherHost(request) ?? otherSite(request) ?? notAsked(request);

/** Why a request with a cookie may be another page's. Browsers send `Sec-Fetch-Site` over TLS and on this machine. */
export function otherPage({ verb, header, isEncrypted }: AdminRequest): Problem | undefined {
  const site = header("sec-fetch-site");
  const isRead = READING.has(verb);
  const isOwn =
    site === undefined
      ? isOwnOrigin(header, isEncrypted) && (isRead || header("origin") !== undefined)
      : site === "same-origin" || (site === "none" && isRead);
  return isOwn ? undefined : problems.elsewhere("pages of other sites are refused");
}

/** The console sends it with each change. A page of another site needs permission to send it (CORS), and gets none. */
const CONSOLE_HEADER = "x-headgate-console";

const notOfConsole = ({ verb, header }: AdminRequest): Problem | undefined =>
  READING.has(verb) || header(CONSOLE_HEADER) !== undefined
    ? undefined
    : problems.elsewhere(`a change by a session needs the header ${CONSOLE_HEADER}`);

/** Whether a role may do what another role may. */
export const covers = (role: Role, needed: Role): boolean =>
  ROLES.indexOf(role) >= ROLES.indexOf(needed);

/** The host is a stranger's name that was made to resolve to 127.0.0.1 (DNS rebinding). */
function otherHost({ header }: AdminRequest): Problem | undefined {
  const host = (header("host") ?? "").replace(/:\d*$/, "");
  if (isLoopback(host)) return undefined;
  return problems.elsewhere(
    "without admin.token, only localhost, 127.0.0.1 and [::1] are answered as Host",
  );
}

function otherSite({ header, isEncrypted }: AdminRequest): Problem | undefined {
  const site = header("sec-fetch-site") ?? "none";
  if (isOwnOrigin(header, isEncrypted) && (site === "none" || site === "same-origin"))
    return undefined;
  return problems.elsewhere("without admin.token, pages of other sites are refused");
}

/** Whether the page that asks is of this host, or no page is named. */
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
