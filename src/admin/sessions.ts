// Sessions of the console: a cookie stands for a token, so that no page has to keep the token. Sessions are in memory, so
// operators log in again after a restart.
import { hash, randomBytes } from "node:crypto";
import { isoText } from "../lib/calendar.ts";
import type { Clock } from "../lib/clock.ts";
import { type AdminApp, type AdminContext, readBodyAs, requestOf } from "./admin-parts.ts";
import {
  type AdminRequest,
  digestOf,
  type Operator,
  otherPage,
  refusedWithoutToken,
  type Tokens,
} from "./admission.ts";
import { Problem, problems } from "./problem.ts";
import { sessionRoutes } from "./routes.ts";
import { login } from "./schemas.ts";

/** In milliseconds: a session ends after this time, used or not. */
const LASTS_MS = 12 * 3_600_000;
/** How many sessions one token may have; a further session ends the oldest one. */
const MOST_OF_A_TOKEN = 20;

type Session = { readonly tokenDigest: string; readonly endsAtMs: number };

export class Sessions {
  /** The open sessions by the hash of the cookie's text, oldest first. */
  readonly #open = new Map<string, Session>();

  /** @param tokenDigest The hash of the token. @returns The cookie's text, and its lifetime in milliseconds. */
  begin(tokenDigest: string, nowMs: number): { readonly text: string; readonly lastsMs: number } {
    for (const [digest, { endsAtMs }] of this.#open)
      if (endsAtMs <= nowMs) this.#open.delete(digest);
    const own = [...this.#open].filter(([, session]) => session.tokenDigest === tokenDigest);
    for (const [digest] of own.slice(0, Math.max(0, own.length + 1 - MOST_OF_A_TOKEN)))
      this.#open.delete(digest);
    const text = randomBytes(32).toString("base64url");
    this.#open.set(textDigest(text), { tokenDigest, endsAtMs: nowMs + LASTS_MS });
    return { text, lastsMs: LASTS_MS };
  }

  /** The hash of the token that a cookie's text stands for; undefined when the session has ended. */
  tokenDigestOf(text: string, nowMs: number): string | undefined {
    const session = this.#open.get(textDigest(text));
    return session && session.endsAtMs > nowMs ? session.tokenDigest : undefined;
  }

  end(text: string): void {
    this.#open.delete(textDigest(text));
  }
}

const textDigest = (text: string): string => hash("sha256", text, "base64url");

export type SessionAnswerParts = {
  readonly tokens: () => Tokens;
  readonly sessions: Pick<Sessions, "begin" | "end">;
  readonly admit: (request: AdminRequest) => Operator | Problem;
  /** Counts the refusal, delays it for an address that guesses, and throws the problem. */
  readonly refuse: (context: AdminContext, problem: Problem) => Promise<never>;
  readonly clock: Pick<Clock, "now" | "wallTime">;
};

/** The text of a request's session cookie; undefined when there is none. */
export function sessionTextOf(request: Pick<AdminRequest, "header">): string | undefined {
  const cookies = (request.header("cookie") ?? "").split(/; */);
  // `__Host-` comes first: neither another host nor a page without TLS can set a cookie of that name.
  const names = [cookieName(request, true), cookieName(request, false)];
  const own = names.flatMap((name) => cookies.find((each) => each.startsWith(`${name}=`)) ?? []);
  return own[0]?.slice(own[0].indexOf("=") + 1);
}

/** Browsers do not separate cookies by port, so the port is in the name: a host may have several gateways. */
function cookieName({ header }: Pick<AdminRequest, "header">, isHostOnly: boolean): string {
  const [, port = ""] = /:(\d+)$/.exec(header("host") ?? "") ?? [];
  return `${isHostOnly ? "__Host-" : ""}headgate-session${port && `-${port}`}`;
}

/** Whether the page came over TLS to this server, or by its `Origin` to a proxy that ends TLS. */
const isSecure = ({ isEncrypted, header }: AdminRequest): boolean =>
  isEncrypted === true || (header("origin") ?? "").startsWith("https://");

function cookie(request: AdminRequest, text: string, lastsMs: number): string {
  const name = cookieName(request, isSecure(request));
  const seconds = Math.floor(lastsMs / 1000);
  const secure = isSecure(request) ? "; Secure" : "";
  return `${name}=${text}; Max-Age=${seconds}; Path=/; HttpOnly; SameSite=Strict${secure}`;
}

export function addSessionAnswers(app: AdminApp, parts: SessionAnswerParts): void {
  const { tokens, sessions, admit, refuse, clock } = parts;
  app.openapi(sessionRoutes.show, async (context) => {
    const request = requestOf(context);
    const operator = admit(request);
    if (!(operator instanceof Problem)) return context.json({ operator: told(operator) }, 200);
    const isQuestion = operator.status === 401 && !request.header("authorization");
    return isQuestion ? context.json({}, 200) : refuse(context, operator);
  });
  app.openapi(sessionRoutes.begin, async (context) => {
    const request = requestOf(context);
    const problem = tokens().isEmpty ? refusedWithoutToken(request) : otherPage(request);
    // A request without `Origin` and `Sec-Fetch-Site` comes from a program, not from a page.
    if (problem && isOfPage(request)) return refuse(context, problem);
    const { token } = await readBodyAs(context, login);
    if (tokens().isEmpty) throw problems.conflict("no token is configured, and none is needed");
    const digest = digestOf(token);
    const operator = tokens().holderOfDigest(digest);
    if (!operator) return refuse(context, problems.wrongToken());
    const { text, lastsMs } = sessions.begin(digest, clock.now());
    context.header("Set-Cookie", cookie(request, text, lastsMs));
    const endsAt = isoText(clock.wallTime() + lastsMs);
    return context.json({ operator: told(operator), endsAt }, 200);
  });
  app.openapi(sessionRoutes.end, async (context) => {
    const request = requestOf(context);
    const problem = otherPage(request);
    if (problem && isOfPage(request)) return refuse(context, problem);
    const text = sessionTextOf(request);
    if (text !== undefined) sessions.end(text);
    context.header("Set-Cookie", cookie(request, "", 0));
    return context.json({}, 200);
  });
}

const isOfPage = ({ header }: AdminRequest): boolean =>
  header("origin") !== undefined || header("sec-fetch-site") !== undefined;

const told = ({ name, role }: Operator) => ({ name, role });
