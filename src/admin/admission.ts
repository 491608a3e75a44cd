// A request is admitted to admin when it has one of its tokens. Without any admin listens to this machine alone,
// and then a browser on it is the danger: a page of another site may lead it here. So it is with a session's cookie,
// which browsers send with whatever page asks.
import { hash, timingSafeEqual } from "node:crypto";
import { hashOf } from "../config/key-settings.ts";
import { isLoopback, ROLES, type Role } from "../config/server-settings.ts";
import { type Problem, problems } from "./problem.ts";

/** What is looked at of a request. */
export type AdminRequest = {
  readonly verb: string;
  /** The value of a header, by its lower-case name. */
  readonly header: (name: string) => string | undefined;
  /** It came over TLS that ends here. */
  readonly isEncrypted?: boolean;
};

/** Who asks, and what it may do. */
export type Operator = { readonly name: string; readonly role: Role };

/** @param hash `sha256:` and hex. */
export type OperatorToken = Operator & { readonly hash: string };

/** The tokens of all operators, as their hashes: compared in a time that tells nothing of any. */
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

  /** @param authorization The header of this name. */
  holderOf(authorization: string | undefined): Operator | undefined {
    const [, presented] = /^Bearer +([\x21-\x7e]+) *$/i.exec(authorization ?? "") ?? [];
    return presented === undefined ? undefined : this.holderOfDigest(digestOf(presented));
  }

  /** @param digest As `digestOf` makes it. */
  holderOfDigest(digest: string): Operator | undefined {
    const bytes = Buffer.from(digest, "hex");
    // All of them, also behind the one that fits.
    const [found] = this.#known.filter((each) => timingSafeEqual(bytes, each.digest));
    return found;
  }
}

/** Of a token, by which it is known: hex. */
export const digestOf = (token: string): string => hash("sha256", token, "hex");

/** As the configuration has them. */
export const tokensOf = ({ token, tokens = [] }: TokenSettings): Tokens =>
  new Tokens([
    ...(token === undefined ? [] : [{ name: "admin", role: "all", hash: hashOf(token) } as const]),
    ...tokens,
  ]);

export type TokenSettings = {
  readonly token?: string | undefined;
  readonly tokens?: readonly OperatorToken[];
};

/** Whoever is on this machine, where there are no tokens. */
const LOCAL: Operator = { name: "this machine", role: "all" };

/**
 * Whose the request is, or why it is refused. No page can make a browser send a token; a cookie it can.
 * @param sessionDigest Of the token that the request's cookie stands for.
 */
export function admitted(
  request: AdminRequest,
  tokens: Tokens,
  sessionDigest?: string,
): Operator | Problem {
  if (tokens.isEmpty) return refusedWithoutToken(request) ?? LOCAL;
  const holder = tokens.holderOf(request.header("authorization"));
  if (holder || sessionDigest === undefined) return holder ?? problems.wrongToken();
  const operator = tokens.holderOfDigest(sessionDigest); // a reload may have taken its token away
  if (!operator) return problems.wrongToken();
  return otherPage(request) ?? notOfConsole(request) ?? operator;
}

/** Where there are no tokens: why a request is not of this machine. */
export const refusedWithoutToken = (request: AdminRequest): Problem | undefined =>
  otherHost(request) ?? otherSite(request) ?? notAsked(request);

/** Of a request with a cookie: why it may be another page's. Browsers tell `Sec-Fetch-Site` over TLS and on this machine. */
export function otherPage({ verb, header, isEncrypted }: AdminRequest): Problem | undefined {
  const site = header("sec-fetch-site");
  const isRead = READING.has(verb);
  const isOwn =
    site === undefined
      ? isOwnOrigin(header, isEncrypted) && (isRead || header("origin") !== undefined)
      : site === "same-origin" || (site === "none" && isRead);
  return isOwn ? undefined : problems.elsewhere("pages of other sites are refused");
}

/** What the console says with each change; another site's page would have to ask for it, and is refused. */
const CONSOLE_HEADER = "x-headgate-console";

const notOfConsole = ({ verb, header }: AdminRequest): Problem | undefined =>
  READING.has(verb) || header(CONSOLE_HEADER) !== undefined
    ? undefined
    : problems.elsewhere(`a change by a session needs the header ${CONSOLE_HEADER}`);

/** Whether a role has what another one needs. */
export const covers = (role: Role, needed: Role): boolean =>
  ROLES.indexOf(role) >= ROLES.indexOf(needed);

/** A name of a stranger that was made to mean 127.0.0.1 (DNS rebinding). */
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

/** Whether the page is of this host, or the request names no page. */
function isOwnOrigin(header: AdminRequest["header"], isEncrypted = false): boolean {
  const origin = header("origin")?.toLowerCase();
  const own = `${isEncrypted ? "https" : "http"}://${header("host")?.toLowerCase()}`;
  return origin === undefined || origin === own;
}

const READING: ReadonlySet<string> = new Set(["GET", "HEAD"]);

/** A page may send JSON to another site only after the browser has asked that site (CORS); admin never agrees. */
function notAsked({ verb, header }: AdminRequest): Problem | undefined {
  return READING.has(verb) || isJson(header("content-type")) ? undefined : problems.notJson();
}

export const isJson = (contentType: string | undefined): boolean =>
  /^application\/json *(;.*)?$/i.test(contentType ?? "");
