// `headgate top`: shows the status of a running gateway and its upstreams each second, from the events of the admin API.
import { once as eventOf } from "node:events";
import { get, type IncomingMessage } from "node:http";
import { get as getOverTls } from "node:https";
import { Readable } from "node:stream";
import { text } from "node:stream/consumers";
import { EventSourceParserStream } from "eventsource-parser/stream";
import type { LiveStatus } from "../admin/schemas.ts";
import { urlOf } from "../config/server-settings.ts";
import type { Environment } from "../config/setting-names.ts";
import { systemClock as clock } from "../lib/clock.ts";
import { CommandFailure, configOf, optionsIn, readKnownConfig, WrongUsage } from "./read-config.ts";
import { topLines } from "./top-text.ts";

const OPTIONS = {
  config: { type: "string", short: "c" },
  url: { type: "string" },
  once: { type: "boolean" },
} as const;

type Admin = { readonly url: string; readonly token: string | undefined };

/** @param argv The words after `top`. @throws CommandFailure */
export async function top(argv: readonly string[], environment: Environment): Promise<void> {
  const { config, url, once } = optionsIn(argv, OPTIONS);
  const admin = await adminOf({ config, url }, environment);
  if (once || !process.stdout.isTTY) return showOnce(admin);
  const screen = new Screen(admin.url);
  const ending = new AbortController();
  const end = (): void => ending.abort();
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.once(signal, end);
  process.stdout.on("resize", () => screen.draw());
  screen.open();
  try {
    while (!ending.signal.aborted) {
      await follow(admin, ending.signal, (status) => screen.show(status)).catch((error: unknown) =>
        screen.complain(whyOf(error)),
      );
      await clock.sleep(RETRY_MS, ending.signal).catch(() => undefined);
    }
  } finally {
    screen.close();
  }
}

const RETRY_MS = 1_000;

async function adminOf(
  { config: given, url }: { readonly config: string | undefined; readonly url: string | undefined },
  environment: Environment,
): Promise<Admin> {
  const { HEADGATE_ADMIN__TOKEN: token } = environment;
  if (url !== undefined) {
    if (!/^https?:$/.test(URL.parse(url)?.protocol ?? ""))
      throw new WrongUsage("--url: expected http://host:port of the admin port");
    return { url: url.replace(/\/$/, ""), token };
  }
  const { admin } = await readKnownConfig(configOf("top", given, environment));
  return { url: urlOf(admin.listen, admin.listen.port), token: token ?? admin.token };
}

async function showOnce(admin: Admin): Promise<void> {
  const enough = new AbortController();
  let last: LiveStatus | undefined;
  let told = 0;
  const show = (status: LiveStatus | undefined): void => {
    last = status;
    told += 1;
    if (told === ENOUGH) enough.abort();
  };
  await follow(admin, enough.signal, show).catch((error: unknown) => {
    if (!enough.signal.aborted)
      throw new CommandFailure(whyOf(error), { exitCode: 1, cause: error });
  });
  const shown = { url: admin.url, columns: 1_000, rows: 1_000, isColoured: false };
  for (const line of topLines(last, last ? undefined : UNKNOWN, shown))
    process.stdout.write(`${line}\n`);
}

/** How many events `--once` waits for: the first events have no rates yet. */
const ENOUGH = 3;
const UNKNOWN = "the gateway cannot report the state of its networks: its log has the reason";

/** @param onStatus Called with each status; undefined: the gateway cannot tell it. @throws Error when the stream ends. */
async function follow(
  { url, token }: Admin,
  signal: AbortSignal,
  onStatus: (status: LiveStatus | undefined) => void,
): Promise<void> {
  const headers = token === undefined ? {} : { authorization: `Bearer ${token}` };
  const ask = url.startsWith("https:") ? getOverTls : get;
  const request = ask(`${url}/events`, { headers, signal });
  const [response] = (await eventOf(request, "response").catch((cause: unknown) => {
    const why = `no gateway answers at ${url} (${whyOf(cause)}): is it running? Use --url to name another address`;
    throw new Error(why, { cause });
  })) as [IncomingMessage];
  if (response.statusCode !== 200) throw new Error(await refusalIn(response));
  const events = (Readable.toWeb(response) as ReadableStream<Uint8Array<ArrayBuffer>>)
    .pipeThrough(new TextDecoderStream())
    .pipeThrough(new EventSourceParserStream());
  for await (const { event, data } of events)
    if (event === "status") onStatus(JSON.parse(data) as LiveStatus);
    else if (event === "unknown") onStatus(undefined);
  throw new Error("the gateway ended the stream");
}

async function refusalIn(response: IncomingMessage): Promise<string> {
  const body = await text(response);
  const { detail } = (body.startsWith("{") ? JSON.parse(body) : {}) as { detail?: unknown };
  return `${response.statusCode}: ${typeof detail === "string" ? detail : "there is no admin API of a gateway"}`;
}

/** The message of an error; if several addresses were tried, the message for the first one. */
function whyOf(error: unknown): string {
  const { message, errors } = error as AggregateError;
  return message || whyOf(errors[0]);
}

/** How many slow and failed calls are shown. */
const CALLS = 20;

/** Draws on the terminal's alternate screen, so that the main screen stays as it was. */
class Screen {
  #status: LiveStatus | undefined;
  #problem: string | undefined;
  readonly #url: string;

  constructor(url: string) {
    this.#url = url;
  }

  open(): void {
    process.stdout.write("\u001b[?1049h\u001b[?25l");
    this.draw();
  }

  close(): void {
    process.stdout.write("\u001b[?25h\u001b[?1049l");
  }

  show(status: LiveStatus | undefined): void {
    this.#problem = status ? undefined : UNKNOWN;
    const { calls = [] } = this.#status ?? {};
    if (status) this.#status = { ...status, calls: [...status.calls, ...calls].slice(0, CALLS) };
    this.draw();
  }

  complain(why: string): void {
    this.#problem = this.#status ? `${why}; the figures are older` : why;
    this.draw();
  }

  draw(): void {
    const { columns, rows } = process.stdout;
    const lines = topLines(this.#status, this.#problem, {
      url: this.#url,
      // some terminals report 0 columns and rows
      columns: columns || 80,
      rows: rows || 24,
      isColoured: process.stdout.hasColors(),
    });
    process.stdout.write(`\u001b[H${lines.join("\u001b[K\r\n")}\u001b[K\u001b[J`);
  }
}
