// A client of the gateway's admin API, in JSON. The browser sends the session's cookie by itself.
import type { Platform } from "./platform.ts";

/** A failed request, in the gateway's words (RFC 9457). */
export class ApiProblem extends Error {
  override readonly name = "ApiProblem";
  /** The HTTP status; 0: the gateway did not answer. */
  readonly status: number;
  /** The mistakes in the request's body, one line each with its path. */
  readonly mistakes: readonly string[];

  constructor(
    status: number,
    detail: string,
    { mistakes = [], cause }: { mistakes?: readonly string[]; cause?: unknown } = {},
  ) {
    super(detail, { cause });
    this.status = status;
    this.mistakes = mistakes;
  }
}

type Verb = "GET" | "POST" | "PATCH" | "DELETE";
export type AskOptions = {
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal;
};

export class Api {
  readonly #platform: Pick<Platform, "fetch">;
  readonly #hasEnded: () => boolean;
  readonly #onLoggedOut: () => void;

  /**
   * @param parts.hasEnded Whether the session has ended. Then only a login is sent: the gateway delays a caller that
   * keeps asking without a token.
   * @param parts.onLoggedOut Called when the gateway answers 401.
   */
  constructor(parts: {
    platform: Pick<Platform, "fetch">;
    hasEnded: () => boolean;
    onLoggedOut: () => void;
  }) {
    this.#platform = parts.platform;
    this.#hasEnded = parts.hasEnded;
    this.#onLoggedOut = parts.onLoggedOut;
  }

  /** @throws ApiProblem when the gateway refuses, or does not answer. */
  async ask<Answer>(verb: Verb, path: string, options: AskOptions = {}): Promise<Answer> {
    if (path !== "session" && this.#hasEnded())
      throw new ApiProblem(401, "the session has ended: log in again");
    const response = await this.#send(verb, path, options);
    const isJson = /json/.test(response.headers.get("content-type") ?? "");
    const value: unknown = isJson ? await response.json().catch(() => undefined) : undefined;
    if (response.ok) return value as Answer;
    // A 401 of the login itself means a wrong token: the login shows that.
    if (response.status === 401 && path !== "session") this.#onLoggedOut();
    throw problemOf(response.status, value);
  }

  async #send(
    verb: Verb,
    path: string,
    { body, signal, ...options }: AskOptions,
  ): Promise<Response> {
    const isRead = verb === "GET";
    const headers: Record<string, string> = isRead
      ? { accept: "application/json" }
      : // The gateway requires this header for a session's changes: a form of another site cannot send it.
        { "content-type": "application/json", "x-headgate-console": "1" };
    try {
      return await this.#platform.fetch(path, {
        method: verb,
        headers: { ...headers, ...options.headers },
        ...(isRead ? {} : { body: JSON.stringify(body ?? {}) }),
        ...(signal && { signal }),
        credentials: "same-origin",
        cache: "no-store",
      });
    } catch (error) {
      throw unanswered(error);
    }
  }
}

const unanswered = (cause: unknown): ApiProblem =>
  new ApiProblem(0, "the gateway does not answer", { cause });

function problemOf(status: number, value: unknown): ApiProblem {
  const { detail, mistakes } = (value ?? {}) as { detail?: unknown; mistakes?: unknown };
  return new ApiProblem(
    status,
    typeof detail === "string" ? detail : `the gateway answered ${status}`,
    { mistakes: Array.isArray(mistakes) ? mistakes.map(String) : [] },
  );
}
