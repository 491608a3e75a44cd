// A request is admitted to admin when it has one of its tokens. Without any admin listens to this machine alone,
// and then a browser on it is the danger: a page of another site may lead it here.
import { hash, timingSafeEqual } from "node:crypto";
import { hashOf } from "../config/key-settings.ts";
import { isLoopback, ROLES, type Role } from "../config/server-settings.ts";
import { type Problem, problems } from "./problem.ts";

/** What is looked at of a request. */
export type AdminRequest = {
  readonly verb: string;
  /** The value of a header, by its lower-case name. */
  readonly header: (name: string) => string | undefined;
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
    if (presented === undefined) return undefined;
    const digest = hash("sha256", presented, "buffer");
    // All of them, also behind the one that fits.
    const [found] = this.#known.filter((each) => timingSafeEqual(digest, each.digest));
    return found;
  }
}

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

/** Whose the request is, or why it is refused. No page can make a browser send a token. */
export function admitted(request: AdminRequest, tokens: Tokens): Operator | Problem {
  if (tokens.isEmpty) return otherHost(request) ?? otherSite(request) ?? notAsked(request) ?? LOCAL;
  return tokens.holderOf(request.header("authorization")) ?? problems.wrongToken();
}

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

function otherSite({ header }: AdminRequest): Problem | undefined {
  const origin = header("origin");
  const site = header("sec-fetch-site") ?? "none";
  const isOwn = origin === undefined || origin.toLowerCase() === ownOrigin(header("host"));
  if (isOwn && (site === "none" || site === "same-origin")) return undefined;
  return problems.elsewhere("without admin.token, pages of other sites are refused");
}

const ownOrigin = (host: string | undefined): string => `http://${host?.toLowerCase()}`;

const READING = new Set(["GET", "HEAD"]);

/** Of all types of content, a page may send this one to another site only after asking, and nobody here agrees. */
function notAsked({ verb, header }: AdminRequest): Problem | undefined {
  return READING.has(verb) || isJson(header("content-type")) ? undefined : problems.notJson();
}

export const isJson = (contentType: string | undefined): boolean =>
  /^application\/json *(;.*)?$/i.test(contentType ?? "");
