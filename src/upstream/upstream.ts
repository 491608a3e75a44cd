// One node: whether it may be asked, what it lacks, and the asking.
import type { Logger } from "pino";
import { parsed } from "../jsonrpc/parsed.ts";
import type { Clock } from "../lib/clock.ts";
import type { Metrics, UpstreamRecord } from "../observe/metrics.ts";
import { readChainId } from "./chain-id.ts";
import type {
  BodyReader,
  Connection,
  ConnectionOptions,
  Exchange,
  SubscriptionListener,
} from "./connection/connection.ts";
import { MissingMethods } from "./missing-methods.ts";
import { secretsOf, withoutSecrets } from "./redact.ts";
import { type Reply, readReply } from "./reply.ts";
import { requestJson } from "./request-json.ts";
import { subscriptionIdIn } from "./subscription-id.ts";

export type UpstreamState = "checking" | "usable" | "wrong chain";

export type AskOptions = {
  /** For the count of calls: a caller's, one to follow the chain, or to check the node. */
  readonly purpose?: UpstreamRecord["purpose"] | undefined;
  /** What the node lacks when it says that it does not have the method: one of several ways to call it. */
  readonly way?: string | undefined;
  /** See `Connection.send`. */
  readonly reader?: BodyReader | undefined;
};

export type UpstreamOptions = ConnectionOptions & {
  readonly name: string;
  readonly network: string;
  readonly family: "evm" | "conflux";
  readonly chainId: number;
};

export type UpstreamParts = {
  readonly clock: Clock;
  readonly log: Logger;
  readonly metrics: Pick<Metrics, "upstreamAnswered" | "upstreamUsable">;
  readonly connect: (options: ConnectionOptions, parts: { clock: Clock }) => Connection;
};

type SentRequest = { readonly id: number; readonly json: string; readonly sentAt: number };

const NEW_HEADS = '["newHeads"]';
const NEW_PENDING = '["newPendingTransactions"]';
const FIRST_PAUSE_MS = 250;
/** Short, so that a network with one node is back within a second after the node is. */
const LONGEST_PAUSE_MS = 500;
/** One slip is no news, and a node that starts together with us gets about ten seconds. */
const TOLD_AFTER_FAILURES = { atStart: 20, afterwards: 3 };
const WRONG_CHAIN_PAUSE_MS = 30_000;

export class Upstream {
  readonly name: string;
  #state: UpstreamState = "checking";
  #nextId = 0;
  #isChecking = false;
  /** What the log said last: a slip that it never mentioned is not followed by good news either. */
  #told: "usable" | "not usable" | undefined;
  readonly #missing: MissingMethods;
  readonly #closing = new AbortController();
  readonly #secrets: readonly string[];
  readonly #connection: Connection;
  readonly #onChange: () => void;
  readonly #options: UpstreamOptions;
  readonly #parts: UpstreamParts;

  /** @param onChange Called when the node becomes usable, or no longer is. */
  constructor(options: UpstreamOptions, parts: UpstreamParts, onChange: () => void) {
    this.name = options.name;
    this.#options = options;
    this.#parts = parts;
    this.#onChange = onChange;
    this.#missing = new MissingMethods(parts);
    this.#secrets = secretsOf(options);
    this.#connection = parts.connect(options, parts);
  }

  get state(): UpstreamState {
    return this.#state;
  }

  /** It is known whether the node can be used: it answered, or was silent long enough to be told of. */
  get isSettled(): boolean {
    return this.#state !== "checking" || this.#told !== undefined;
  }

  isMissing(method: string): boolean {
    return this.#missing.has(method);
  }

  /** @param name A method, or a way to call one. */
  rememberMissing(name: string): void {
    this.#missing.remember(name);
  }

  /** One call to this node. What it says of itself in an error is left out. */
  async ask(
    method: string,
    paramsJson: string,
    signal: AbortSignal,
    { purpose = "call", reader, way = method }: AskOptions = {},
  ): Promise<Reply> {
    const request = this.#request(method, paramsJson);
    const exchange = await this.#connection.send(request, signal, reader);
    const reply = this.#read(exchange, request, purpose);
    // A node whose answer is too long for us is well.
    if (exchange.kind !== "too large") this.#learn(way, reply);
    return withoutSecrets(reply, this.#secrets);
  }

  /** Whether its connection can push, and it has not refused to announce new heads. */
  get canSubscribe(): boolean {
    if (this.#options.family !== "evm" || !this.#connection.subscribe) return false;
    return !this.#missing.has(subscribing(NEW_HEADS));
  }

  /**
   * The node's new heads as it announces them, until its socket is lost (`onEnd`) or the signal aborts.
   *
   * @returns false when the node does not announce any; then nothing is called.
   */
  watchHeads(
    listener: { onHead(head: { number: number; hash: string }): void; onEnd(): void },
    signal: AbortSignal,
  ): Promise<boolean> {
    const onEvent = (event: Buffer): void => {
      const head = headIn(event);
      if (head) listener.onHead(head);
    };
    return this.#subscribe(NEW_HEADS, { onEvent, onEnd: () => listener.onEnd() }, signal);
  }

  /**
   * The hashes of pending transactions as the node announces them; as `watchHeads`.
   *
   * @returns false when the node does not announce any.
   */
  async watchPending(
    listener: { onHash(hash: string): void; onEnd(): void },
    signal: AbortSignal,
  ): Promise<boolean> {
    if (this.#options.family !== "evm" || this.#missing.has(subscribing(NEW_PENDING))) return false;
    const onEvent = (event: Buffer): void => {
      const hash = parsed(event);
      if (isHash(hash)) listener.onHash(hash.toLowerCase());
    };
    return this.#subscribe(NEW_PENDING, { onEvent, onEnd: () => listener.onEnd() }, signal);
  }

  /** @returns false when no subscription was opened; a node that says no is remembered to lack this one. */
  async #subscribe(
    paramsJson: string,
    listener: SubscriptionListener,
    signal: AbortSignal,
  ): Promise<boolean> {
    const request = this.#request("eth_subscribe", paramsJson);
    const exchange = await this.#connection.subscribe?.(request, listener, signal);
    if (!exchange) return false;
    const reply = this.#read(exchange, request, "follow");
    if (subscriptionIdIn(exchange, request.id) !== undefined) return true;
    // A "result" that is no id is a no as well: nothing would come.
    if (reply.kind === "missing" || reply.kind === "refused" || reply.kind === "result")
      this.#missing.remember(subscribing(paramsJson));
    return false;
  }

  /** Makes sure that the node is there and of the right chain, in the background, until it is. */
  check(): void {
    if (this.#isChecking || this.#closing.signal.aborted) return;
    this.#isChecking = true;
    void this.#checkUntilUsable();
  }

  async close(): Promise<void> {
    this.#closing.abort();
    await this.#connection.close();
  }

  #request(method: string, paramsJson: string): SentRequest {
    this.#nextId += 1;
    const id = this.#nextId;
    return { id, json: requestJson(id, method, paramsJson), sentAt: this.#parts.clock.now() };
  }

  /** What the exchange means; it is counted. */
  #read(
    exchange: Exchange,
    { id, sentAt }: SentRequest,
    purpose: UpstreamRecord["purpose"],
  ): Reply {
    const { clock, metrics } = this.#parts;
    const reply = readReply(exchange, id);
    metrics.upstreamAnswered({
      network: this.#options.network,
      upstream: this.name,
      kind: reply.kind,
      purpose,
      seconds: (clock.now() - sentAt) / 1000,
      bytes: exchange.kind === "answered" ? exchange.body.length : 0,
    });
    return reply;
  }

  #learn(way: string, reply: Reply): void {
    if (reply.kind === "missing") this.#missing.remember(way);
    // A node that fails is asked who it is before it is trusted again: at once, so a slip costs nothing.
    if ((reply.kind === "failed" || reply.kind === "timeout") && this.#state === "usable") {
      this.#become("checking");
      this.check();
    }
  }

  async #checkUntilUsable(): Promise<void> {
    const { clock } = this.#parts;
    const { signal } = this.#closing;
    const startedAt = clock.now();
    let failures = 0;
    for (
      let pauseMs = FIRST_PAUSE_MS;
      !signal.aborted;
      pauseMs = Math.min(pauseMs * 2, LONGEST_PAUSE_MS)
    ) {
      const found = await this.#readChainId(signal);
      if (signal.aborted) return;
      if (found === this.#options.chainId) {
        this.#isChecking = false; // before anybody can find it usable and failing
        this.#become("usable");
        this.#tellUsable(clock.now() - startedAt);
        return;
      }
      failures += 1;
      const patience = TOLD_AFTER_FAILURES[this.#told ? "afterwards" : "atStart"];
      if (failures === patience || typeof found === "number") this.#tellWhyNot(found);
      this.#become(typeof found === "number" ? "wrong chain" : "checking");
      const restMs = typeof found === "number" ? WRONG_CHAIN_PAUSE_MS : pauseMs;
      await clock.sleep(restMs, signal).catch(() => undefined);
    }
  }

  /** The chain id, or why there is none. */
  #readChainId(signal: AbortSignal): Promise<number | string> {
    return readChainId(this.#options.family, (method) =>
      this.ask(method, "[]", signal, { purpose: "check" }),
    );
  }

  #tellUsable(ms: number): void {
    if (this.#told === "usable") return;
    this.#told = "usable";
    const { chainId } = this.#options;
    this.#parts.log.info(
      { upstream: this.name, chainId, ms: Math.round(ms) },
      "upstream is usable",
    );
  }

  #tellWhyNot(found: number | string): void {
    this.#told = "not usable";
    const { log } = this.#parts;
    const upstream = this.name;
    if (typeof found === "string")
      log.warn({ upstream, reason: found }, "upstream does not answer");
    else {
      const want = this.#options.chainId;
      log.error({ upstream, chainId: found, want }, "upstream is of another chain: kept out");
    }
  }

  #become(state: UpstreamState): void {
    const wasUsable = this.#state === "usable";
    this.#state = state;
    const { network } = this.#options;
    this.#parts.metrics.upstreamUsable(network, this.name, state === "usable");
    if (wasUsable !== (state === "usable")) this.#onChange();
  }
}

const isHash = (value: unknown): value is string =>
  typeof value === "string" && /^0x[0-9a-f]{64}$/i.test(value);

/** What is announced may be anything. */
function headIn(event: Buffer): { number: number; hash: string } | undefined {
  const header = parsed(event) as { number?: unknown; hash?: unknown } | null | undefined;
  const { number, hash } = header ?? {};
  if (typeof number !== "string" || !/^0x[0-9a-f]{1,13}$/i.test(number)) return undefined;
  if (!isHash(hash)) return undefined;
  return { number: Number(number), hash: hash.toLowerCase() };
}

/** The name under which a node is remembered to lack this subscription, not all of them. */
const subscribing = (paramsJson: string): string => `eth_subscribe ${paramsJson}`;
