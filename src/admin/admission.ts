// A request is admitted to admin when it has its token. Without a token admin listens to this machine alone,
// and then a browser on it is the danger: a page of another site may lead it here.
import { hash, timingSafeEqual } from "node:crypto";
import { isLoopback } from "../config/server-settings.ts";
import { type Problem, problems } from "./problem.ts";

/** What is looked at of a request. */
export type AdminRequest = {
  readonly verb: string;
  /** The value of a header, by its lower-case name. */
  readonly header: (name: string) => string | undefined;
};

/** The token, as its hash: compared in a time that tells nothing of it. */
export class Token {
  readonly #digest: Buffer;

  constructor(text: string) {
    this.#digest = digestOf(text);
  }

  /** @param authorization The header of this name. */
  isIn(authorization: string | undefined): boolean {
    const [, presented] = /^Bearer +([\x21-\x7e]+) *$/i.exec(authorization ?? "") ?? [];
    return presented !== undefined && timingSafeEqual(digestOf(presented), this.#digest);
  }
}

const digestOf = (text: string): Buffer => hash("sha256", text, "buffer");

/** Why the request is refused, or undefined. No page can make a browser send a token. */
export function refusalOf(request: AdminRequest, token: Token | undefined): Problem | undefined {
  if (token) return token.isIn(request.header("authorization")) ? undefined : problems.wrongToken();
  return otherHost(request) ?? otherSite(request) ?? notAsked(request);
}

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
