// Checks that a node answers and is of the right chain: before the gateway uses it, after it failed, and now and then.
// Behind a URL may be another node tomorrow.
import type { Logger } from "pino";
import { numberIn } from "../evm/values.ts";
import { parsed } from "../jsonrpc/raw-json.ts";
import type { Signal } from "../lib/cancellation.ts";
import type { Clock } from "../lib/clock.ts";
import { deadline } from "../lib/waiting.ts";
import { type Family, GATEWAY_CALLS } from "../namespaces/known-method.ts";
import type { Reply } from "./reply.ts";

export type IdentityState = "checking" | "usable" | "wrong chain";

export type IdentityOptions = { readonly name: string; readonly chainId: number };

export type IdentityParts = {
  readonly clock: Clock;
  readonly log: Logger;
  /** Asks the node for its chain id; resolves to the id, or to the reason why there is none, in plain words. */
  readonly readChainId: (signal: Signal) => Promise<number | string>;
  /** Is called after each check. */
  readonly onLooked: (state: IdentityState) => void;
};

const FIRST_PAUSE_MS = 250;
/** Short, so that a network with one node is usable within a second after the node is back. */
const LONGEST_PAUSE_MS = 500;
/** The timeout of one check, in milliseconds: the next check asks the node again, which may have come back. */
const TIMEOUT_MS = 2_000;
/** The failed checks before a log line: a single one is no news, and a node that starts with the gateway gets ~10 s. */
const TOLD_AFTER_FAILURES = { atStart: 20, afterwards: 3 };
const WRONG_CHAIN_PAUSE_MS = 30_000;
/** A usable node is asked again after this time, in milliseconds. */
const CONFIRMED_FOR_MS = 60_000;

export class Identity {
  #isChecking = false;
  /** The question to a node that `confirm` asks now. */
  #confirming: Promise<boolean> | undefined;
  #isWatched = false;
  /** The state in the last log line: the log does not tell the recovery from a failure that it never told. */
  #reported: "usable" | "not usable" | undefined;
  readonly #closing = new AbortController();
  readonly #options: IdentityOptions;
  readonly #parts: IdentityParts;

  constructor(options: IdentityOptions, parts: IdentityParts) {
    this.#options = options;
    this.#parts = parts;
  }

  /** Whether the log has told of the node: it answered, or was silent for long. */
  get isReported(): boolean {
    return this.#reported !== undefined;
  }

  /** Checks the node in the background until it has the right chain id. */
  check(): void {
    if (this.#isChecking || this.#closing.signal.aborted) return;
    this.#isChecking = true;
    void this.#checkUntilUsable();
  }

  /**
   * Asks the node once more. A node that tells another chain id is not used from then on; one that tells none stays as
   * it is. @returns Whether the node has just told the right chain id.
   */
  confirm(): Promise<boolean> {
    this.#confirming ??= this.#confirm().finally(() => {
      this.#confirming = undefined;
    });
    return this.#confirming;
  }

  close(): void {
    this.#closing.abort();
  }

  async #confirm(): Promise<boolean> {
    const found = await this.#look();
    const isOther = typeof found === "number" && found !== this.#options.chainId;
    if (isOther && !this.#isChecking && !this.#closing.signal.aborted) {
      this.#isChecking = true;
      void this.#checkUntilUsable(found);
    }
    return found === this.#options.chainId;
  }

  /** Confirms the node now and then while it is usable. */
  async #watch(): Promise<void> {
    if (this.#isWatched) return;
    this.#isWatched = true;
    const { signal } = this.#closing;
    while (!signal.aborted) {
      await this.#parts.clock.sleep(CONFIRMED_FOR_MS, signal).catch(() => undefined);
      if (!signal.aborted && !this.#isChecking) await this.confirm();
    }
  }

  /** @param told The chain id that the node has just told; left out: the node is asked. */
  async #checkUntilUsable(told?: number): Promise<void> {
    const { clock, onLooked } = this.#parts;
    const { signal } = this.#closing;
    const startedAt = clock.now();
    let failures = 0;
    let known: number | undefined = told;
    for (
      let pauseMs = FIRST_PAUSE_MS;
      !signal.aborted;
      pauseMs = Math.min(pauseMs * 2, LONGEST_PAUSE_MS)
    ) {
      const found = known ?? (await this.#look());
      known = undefined;
      if (signal.aborted) return;
      if (found === this.#options.chainId) {
        this.#isChecking = false; // before `onLooked`: a usable node may fail at once, which begins a new check
        onLooked("usable");
        this.#tellUsable(clock.now() - startedAt);
        void this.#watch();
        return;
      }
      failures += 1;
      const failuresToTell = TOLD_AFTER_FAILURES[this.#reported ? "afterwards" : "atStart"];
      if (failures === failuresToTell || typeof found === "number") this.#tellWhyNot(found);
      onLooked(typeof found === "number" ? "wrong chain" : "checking");
      const restMs = typeof found === "number" ? WRONG_CHAIN_PAUSE_MS : pauseMs;
      await clock.sleep(restMs, signal).catch(() => undefined);
    }
  }

  async #look(): Promise<number | string> {
    const { clock } = this.#parts;
    const { signal, done } = deadline(TIMEOUT_MS, this.#closing.signal, clock);
    const found = await this.#parts.readChainId(signal);
    done();
    return found;
  }

  #tellUsable(ms: number): void {
    if (this.#reported === "usable") return;
    this.#reported = "usable";
    const { name: upstream, chainId } = this.#options;
    this.#parts.log.info({ upstream, chainId, ms: Math.round(ms) }, "upstream is usable");
  }

  #tellWhyNot(found: number | string): void {
    this.#reported = "not usable";
    const { log } = this.#parts;
    const { name: upstream, chainId: want } = this.#options;
    if (typeof found === "string")
      log.warn({ upstream, reason: found }, "upstream does not answer");
    else
      log.error(
        { upstream, chainId: found, want },
        "upstream is on another chain, and is not used",
      );
  }
}

/** Asks a node for its chain id. @returns The id, or why there is none and what to do, in plain words. */
export async function readChainId(
  family: Family,
  ask: (method: string) => Promise<Reply>,
): Promise<number | string> {
  const [method] = GATEWAY_CALLS[family].chainId;
  const reply = await ask(method);
  if (reply.kind !== "result") return whyNot(reply, method);
  const value = parsed(reply.json);
  const text = family === "evm" ? value : (value as { chainId?: unknown } | null)?.chainId;
  return numberIn(text) ?? "its answer has no chain id";
}

/** The most characters of a node's own words. */
const SHOWN_CHARACTERS = 120;

function whyNot(reply: Exclude<Reply, { kind: "result" }>, method: string): string {
  switch (reply.kind) {
    case "failed": {
      const { reason } = reply;
      const [, text = "$"] = ADVICE.find(([pattern]) => pattern.test(reason)) ?? [];
      return text.replace("$", () => reason);
    }
    case "refused": {
      const words = reply.message.replace(/[^\x21-\x7e]+/g, " ").slice(0, SHOWN_CHARACTERS);
      return `it refuses ${method}, saying "${words}"`;
    }
    case "missing":
      return `it does not know ${method}: is this the URL of a node's JSON-RPC?`;
    case "busy":
      return "it limits calls, and refuses this one: try again later, or take a key with a larger plan";
    case "occupied":
      return "too many calls wait for it";
    case "timeout":
    case "aborted":
      return "no answer in time: is the host right, and does a firewall let this machine through?";
  }
}

/** Advice for operators by the reason for a missing answer, which stands for $; the first pattern that fits counts. */
const ADVICE: readonly (readonly [RegExp, string])[] = [
  [/^ECONNREFUSED$/, "nothing listens there ($): is the node running, and is the port right?"],
  [/^ENOTFOUND$/, "no host has this name ($): is the name spelled right, and is the network up?"],
  [/^EAI_AGAIN$/, "the host's name cannot be looked up now ($): does DNS work on this machine?"],
  [/^ENOENT$/, "there is no such socket ($): is the node running with IPC, and is the path right?"],
  [
    /^(EACCES|EPERM)$/,
    "this user may not open the socket ($): change its permissions, or run as another user",
  ],
  [
    /TIMEOUT|^ETIMEDOUT$/,
    "no connection in time ($): is the host right, and does a firewall let this machine through?",
  ],
  [
    /^E(HOST|NET)UNREACH$/,
    "there is no route to the host ($): is the host right, and is the network up?",
  ],
  [
    /^(UND_ERR_SOCKET|ECONNRESET|EPIPE|connection failed|HPE_\w+)$/,
    "the connection was ended without an answer ($): is this the port of JSON-RPC, and is http or https right?",
  ],
  [
    /^(ERR_SSL_\w+|EPROTO)$/,
    "the host does not speak TLS ($): use http:// or ws:// in place of https:// or wss://?",
  ],
  [
    /^CERT_|ALTNAME/,
    "its certificate is not valid now, or not for this host ($): renew it, or use the name that it is for",
  ],
  [
    /CERT|UNABLE_TO_/,
    "its certificate is signed by an unknown authority ($): name the authority's file in NODE_EXTRA_CA_CERTS",
  ],
  [/^HTTP 3\d\d$/, "it redirects to another URL ($): use that URL"],
  [
    /^HTTP 40[13]$|refuses our account/,
    "it refuses access ($): is the key in the URL right and paid, and may it be used from here?",
  ],
  [/^HTTP 4\d\d$/, "no JSON-RPC is served at this path ($): is the URL complete?"],
  [/^HTTP 5\d\d$/, "a server in front of the node fails ($): try again later, or ask its operator"],
  [
    /^malformed|^answer without|larger than limits/,
    "the response is not JSON-RPC ($): is the URL complete, with its path?",
  ],
];
