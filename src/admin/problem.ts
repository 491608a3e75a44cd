// Errors of the admin API, in the form of RFC 9457 (problem details).
import { STATUS_CODES } from "node:http";

/** Thrown anywhere in the admin API; `admin-app.ts` answers with it. */
export class Problem extends Error {
  override readonly name = "Problem";
  readonly status: number;
  /** The mistakes in the request, one line each, with their paths. */
  readonly mistakes: readonly string[] | undefined;
  readonly headers: Readonly<Record<string, string>>;
  /** Set only for faults of the gateway; the log names the same id. */
  readonly requestId: string | undefined;

  constructor(
    status: number,
    detail: string,
    options: {
      mistakes?: readonly string[] | undefined;
      headers?: Readonly<Record<string, string>>;
      requestId?: string;
      cause?: unknown;
    } = {},
  ) {
    super(detail, { cause: options.cause });
    this.status = status;
    this.mistakes = options.mistakes;
    this.headers = options.headers ?? {};
    this.requestId = options.requestId;
  }
}

export const problems = {
  wrongToken: () =>
    new Problem(401, "this request needs a token of the admin API: Authorization: Bearer …", {
      headers: { "WWW-Authenticate": 'Bearer realm="headgate"' },
    }),
  /** The token is known, but its role does not suffice. */
  notOfRole: (role: string, needed: string) =>
    new Problem(
      403,
      `this request needs a token of the role ${needed}, and yours has the role ${role}`,
    ),
  tooManyGuesses: (retryAfterMs: number) =>
    new Problem(429, "too many requests came without a valid token: try again later", {
      headers: { "Retry-After": String(Math.ceil(retryAfterMs / 1000)) },
    }),
  tooManyWatching: (most: number) =>
    new Problem(503, `${most} event streams are open already`, {
      headers: { "Retry-After": "10" },
    }),
  tooManyTries: (most: { readonly ofToken: number; readonly ofAll: number }) =>
    new Problem(
      429,
      `at most ${most.ofToken} calls of one token, and ${most.ofAll} in all, are tried at once: wait for an answer`,
      { headers: { "Retry-After": "1" } },
    ),
  tooManyReads: (most: number) =>
    new Problem(
      429,
      `at most ${most} reads of usage, audit and calls of one token wait at once: wait for an answer`,
      { headers: { "Retry-After": "1" } },
    ),
  forbidden: (detail: string) => new Problem(403, detail),
  notJson: () => new Problem(415, "send Content-Type: application/json"),
  malformed: (cause: unknown) => new Problem(400, "the body is not a JSON object", { cause }),
  lengthNotTold: () => new Problem(411, "send the body with a Content-Length, not in chunks"),
  bodyTooLarge: (mostBytes: number) =>
    new Problem(413, `a body may have at most ${mostBytes} bytes`),
  mistakes: (mistakes: readonly string[]) =>
    new Problem(422, "there are mistakes; nothing was changed", { mistakes }),
  unknown: (detail: string) => new Problem(404, detail),
  conflict: (detail: string) => new Problem(409, detail),
  changedMeanwhile: () => new Problem(412, "the file was changed after you read it: read it again"),
  broken: (cause: unknown) => new Problem(400, "the request broke off", { cause }),
  internal: (requestId: string, cause: unknown) =>
    new Problem(500, "internal error", { requestId, cause }),
  unknownPath: () => new Problem(404, "there is no such path; GET /openapi.json lists the paths"),
  verbNotAllowed: (verb: string, allowed: readonly string[]) =>
    new Problem(405, `${verb} is not allowed here`, { headers: { Allow: allowed.join(", ") } }),
};

export function problemResponse(problem: Problem): Response {
  const { status, message: detail, mistakes, headers, requestId } = problem;
  const title = STATUS_CODES[status] ?? "Problem";
  const body = { type: "about:blank", title, status, detail, mistakes, requestId };
  return new Response(JSON.stringify(body), {
    status,
    headers: { "Content-Type": "application/problem+json", ...headers },
  });
}
