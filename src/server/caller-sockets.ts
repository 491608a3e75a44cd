// The WebSockets of callers: their admission, the limits of each key, pings, and their end.

import { ServerResponse } from "node:http";
import type { Socket } from "node:net";
import type { Duplex } from "node:stream";
import { type WebSocket, WebSocketServer } from "ws";
import type { Grant } from "../access/keys/key-ring.ts";
import { RequestScope } from "../calls/caller.ts";
import type { BodyAnswerer } from "../calls/life-of-a-call.ts";
import { type RpcResponse, refusal } from "../calls/response.ts";
import type { Config } from "../config/schema.ts";
import { errors, type RpcError } from "../jsonrpc/rpc-error.ts";
import type { Clock } from "../lib/clock.ts";
import type { MemoryBudget } from "../lib/memory-budget.ts";
import { TokenBucket } from "../lib/token-bucket.ts";
import type { Turns } from "../lib/turns.ts";
import { PeriodicTimer } from "../lib/waiting.ts";
import type { Metrics } from "../observe/metrics.ts";
import { ArrivingMessage } from "./arriving-message.ts";
import type { CallbackGuard } from "./callback-guard.ts";
import { CallerSocket } from "./caller-socket.ts";
import type { Connections } from "./connections.ts";
import type { Endpoint, EndpointAnswer, EndpointRequest } from "./endpoint.ts";
import { type HttpUpgrade, requestIds } from "./listener.ts";
import { SocketChannel, type SocketChannelParts } from "./push-channel.ts";
import { REFUSED, respond } from "./respond.ts";

export type CallerSocketsOptions = {
  readonly limits: Pick<Config["limits"], "bodyBytes" | "webSocket">;
  readonly timeouts: Pick<Config["timeouts"], "bodyMs" | "callMs" | "pingMs" | "webSocketIdleMs">;
};

export type CallerSocketsParts = {
  readonly endpoint: Pick<Endpoint, "admitSocket" | "answerMessage" | "payerOf" | "countRefusal">;
  readonly connections: Pick<Connections, "requestsOn">;
  readonly bodies: Pick<BodyAnswerer, "refuse">;
  readonly memory: Pick<MemoryBudget, "hold" | "release" | "admitRequest" | "mayPush">;
  readonly turns: Pick<Turns, "join" | "next">;
  readonly metrics: Pick<Metrics, "webSocketClosed" | "webSocketsCounted" | "webSocketMessage">;
  readonly guard: Pick<CallbackGuard, "failed">;
  readonly clock: Clock;
};

type RoutedUpgrade = HttpUpgrade & Pick<EndpointRequest, "route">;

/** The members that a WebSocket and an event stream have in common. */
type HeldSocket = Pick<CallerSocket, keyof CallerSocket>;

type OpenSocket = {
  readonly socket: HeldSocket;
  readonly channel: SocketChannel;
  readonly payer: SocketChannelParts["payer"];
};

/** The counts and the rate that all sockets of one key share. */
type KeyShare = {
  sockets: number;
  readonly messages: TokenBucket;
  /** The messages that were refused since the last round. */
  refused: number;
};

const LOOKED_AT_EVERY_MS = 1_000;
/** The size of the token bucket for messages, in seconds of its rate. */
const BURST_SECONDS = 10;

export class CallerSockets {
  #handshake: WebSocketServer;
  /** The open sockets and event streams, by their connections. */
  readonly #open = new Map<Duplex, OpenSocket>();
  /** The shares by key name. A share is kept until its bucket is full again and no socket is open. */
  readonly #shares = new Map<string, KeyShare>();
  readonly #timer: PeriodicTimer;
  #isDraining = false;
  #options: CallerSocketsOptions;
  readonly #nextRequestId = requestIds();
  readonly #parts: CallerSocketsParts;

  constructor(options: CallerSocketsOptions, parts: CallerSocketsParts) {
    this.#options = options;
    this.#parts = parts;
    this.#handshake = this.#handshakeFor(options);
    const round = (): boolean => this.#look();
    this.#timer = new PeriodicTimer({
      clock: parts.clock,
      everyMs: () => LOOKED_AT_EVERY_MS,
      round,
    });
    parts.metrics.webSocketsCounted(() => this.#open.size);
  }

  /** Changes the limits of new sockets, and the message rates and pings of all sockets. */
  reconfigure(options: CallerSocketsOptions): void {
    this.#options = options;
    const now = this.#parts.clock.now();
    for (const { messages } of this.#shares.values()) messages.resize(this.#bounds, now);
    this.#handshake = this.#handshakeFor(options);
  }

  /** Opens a socket, or answers with an HTTP error. No earlier request on the connection may be unanswered. */
  async upgrade(upgrade: RoutedUpgrade): Promise<void> {
    const { request, socket, head } = upgrade;
    socket.on("error", () => socket.destroy());
    const scope = this.newScope();
    const asked = { ...upgrade, scope };
    const admitted = await this.#parts.endpoint.admitSocket(asked);
    scope.end(true);
    if (socket.destroyed) return;
    if ("response" in admitted) return this.#refuse(upgrade, admitted);
    const { grant, allowOrigin } = admitted;
    const short = this.shortage(grant);
    if (short) {
      this.#parts.endpoint.countRefusal(asked, grant, short);
      return this.#refuse(upgrade, { response: refusal("null", short), allowOrigin });
    }
    this.#handshake.handleUpgrade(request, socket, head, (webSocket) =>
      this.#serve(webSocket, upgrade, grant),
    );
  }

  /** Answers with an HTTP error, and ends the connection, as `upgrade`. */
  refuse(upgrade: HttpUpgrade, error: RpcError): void {
    this.#refuse(upgrade, { response: refusal("null", error), allowOrigin: "*" });
  }

  /** Stops reading, and closes each socket when its calls are answered. Cuts off the rest after `withinMs`. */
  async drain(withinMs: number): Promise<void> {
    this.#isDraining = true;
    const cancel = this.#parts.clock.after(withinMs, () => {
      for (const { socket } of this.#open.values()) socket.terminate();
    });
    await Promise.all(
      [...this.#open.values()].map(async ({ socket }) => {
        await socket.finish();
        socket.close("restarting");
        await socket.closed;
      }),
    );
    cancel();
    this.#timer.stop();
  }

  get isDraining(): boolean {
    return this.#isDraining;
  }

  /** Whether only notifications wait for this caller. The store holds later ones, so a slow reader takes no memory. */
  isOnlyPushed(connection: Duplex): boolean {
    const open = this.#open.get(connection);
    return open !== undefined && open.socket.running === 0 && open.channel.subscriptions > 0;
  }

  #handshakeFor({ limits }: CallerSocketsOptions): WebSocketServer {
    const handshake = new WebSocketServer({
      noServer: true,
      maxPayload: limits.bodyBytes,
      // A compression context would take 300 KB for each socket and direction, so each message is compressed by itself.
      perMessageDeflate: limits.webSocket.isCompressed && {
        serverNoContextTakeover: true,
        clientNoContextTakeover: true,
        threshold: 4_096,
      },
    });
    handshake.on("wsClientError", ({ message }, socket, request) => {
      const upgrade = { request, socket, head: Buffer.alloc(0), requestId: this.#nextRequestId() };
      this.refuse(upgrade, errors.notWebSocket(message));
    });
    return handshake;
  }

  /** Why the key may not open another socket now; undefined when it may. */
  shortage({ name }: Grant): RpcError | undefined {
    if (this.#isDraining) return errors.draining();
    const { perKey: limit } = this.#options.limits.webSocket;
    if ((this.#shares.get(name)?.sockets ?? 0) < limit) return undefined;
    return errors.rateLimited({ limit, remaining: 0, retryAfter: 1, rule: "webSockets" });
  }

  #serve(webSocket: WebSocket, upgrade: RoutedUpgrade, grant: Grant): void {
    const { clock, turns, metrics, guard } = this.#parts;
    const connection = upgrade.socket as Socket;
    const arriving = this.#arrivingOn(webSocket, grant);
    const socket = new CallerSocket({
      socket: webSocket,
      answer: (body, scope) =>
        this.#isNoisy(share)
          ? Promise.resolve("noisy" as const)
          : this.answer({ ...upgrade, scope, channel }, body, share),
      scope: () => this.newScope(),
      onClosing: (why) => metrics.webSocketClosed(why),
      onFailed: (error) => guard.failed("message", connection, error),
      ...{ connection, arriving, clock, turns },
    });
    const { channel, share } = this.hold(socket, upgrade, grant);
  }

  /** Counts the socket for its key, and pings it until it is closed. @returns Its channel, and the share of its key. */
  hold(
    socket: HeldSocket,
    asked: Pick<EndpointRequest, "request" | "route">,
    grant: Grant,
  ): { readonly channel: SocketChannel; readonly share: KeyShare } {
    const { connections, endpoint, clock, memory } = this.#parts;
    const connection = asked.request.socket;
    const share = this.#shareOf(grant.name);
    share.sockets += 1;
    const payer = () => endpoint.payerOf(asked);
    const channel = new SocketChannel(grant, { socket, payer, memory, clock });
    this.#open.set(connection, { socket, channel, payer });
    // An open socket counts as a running request, since only idle connections make room for others.
    connections.requestsOn(connection)?.add({ end: () => socket.terminate() });
    void socket.closed.then(() => {
      this.#open.delete(connection);
      share.sockets -= 1;
    });
    this.#timer.begin();
    return { channel, share };
  }

  #arrivingOn(socket: WebSocket, { meter }: Grant): ArrivingMessage {
    const { clock, memory } = this.#parts;
    const scope = this.newScope();
    scope.holdFor(meter.memory);
    const hasRoom = () => memory.admitRequest(meter.memory);
    return new ArrivingMessage({ socket, scope, hasRoom, clock });
  }

  #shareOf(name: string): KeyShare {
    const known = this.#shares.get(name);
    if (known) return known;
    const messages = new TokenBucket(this.#bounds, this.#parts.clock.now());
    const share = { sockets: 0, messages, refused: 0 };
    this.#shares.set(name, share);
    return share;
  }

  get #bounds(): { size: number; perSecond: number } {
    const { messagesPerSecond: perSecond } = this.#options.limits.webSocket;
    return { size: perSecond * BURST_SECONDS, perSecond };
  }

  /** Whether the next message of the key is one too many, after as many refused ones as the token bucket holds. */
  #isNoisy({ messages, refused }: KeyShare): boolean {
    return refused >= this.#bounds.size && !messages.has(1, this.#parts.clock.now());
  }

  /** Answers a message, within the rate and the concurrency of its key. Never throws. */
  async answer(
    asked: Omit<EndpointRequest, "requestId">,
    body: Buffer,
    share: KeyShare,
  ): Promise<RpcResponse | "revoked"> {
    const { endpoint, bodies, clock, metrics } = this.#parts;
    metrics.webSocketMessage(body.length);
    const incoming = { ...asked, requestId: this.#nextRequestId() };
    if (share.messages.take(1, clock.now())) return endpoint.answerMessage(incoming, body);
    share.refused += 1;
    const { perSecond: limit } = this.#bounds;
    const short = { limit, remaining: 0, retryAfter: 1, rule: "messages" } as const;
    const error = errors.rateLimited(short);
    endpoint.countRefusal(asked, endpoint.payerOf(asked).grant, error);
    return bodies.refuse(body, error);
  }

  #look(): boolean {
    const { pingMs, bodyMs: messageMs, webSocketIdleMs } = this.#options.timeouts;
    const now = this.#parts.clock.now();
    for (const { socket, channel, payer } of this.#open.values()) {
      const isIdle = socket.running === 0 && channel.subscriptions === 0;
      if (isIdle && now - socket.usedAtMs >= webSocketIdleMs) socket.close("idle");
      else this.#check({ socket, channel, payer }, { pingMs, messageMs });
    }
    for (const [name, share] of this.#shares) {
      share.refused = 0;
      const isAsNew = share.messages.has(this.#bounds.size, now);
      if (share.sockets === 0 && isAsNew) this.#shares.delete(name);
    }
    return this.#shares.size > 0;
  }

  /** Closes a socket whose key or network is gone, or whose pushes the key may not get any more. */
  #check(
    { socket, channel, payer }: OpenSocket,
    times: Parameters<HeldSocket["checkLiveness"]>[0],
  ): void {
    const { grant, network, rule } = payer();
    if (!grant) socket.close("revoked");
    else if (!network) socket.close("unserved");
    else if (rule && channel.subscriptions > 0) socket.close("forbidden");
    else socket.checkLiveness(times);
  }

  /** The request scope of one message. */
  newScope(): RequestScope {
    return new RequestScope({ deadlineMs: this.#options.timeouts.callMs }, this.#parts);
  }

  #refuse(
    { request, socket, requestId }: HttpUpgrade,
    { response: answer, allowOrigin }: Pick<EndpointAnswer, "response" | "allowOrigin">,
  ): void {
    const response = new ServerResponse(request);
    response.assignSocket(socket as Socket);
    // Node's HTTP server does not end upgraded connections: a half-open one would keep the process from ending.
    response.on("finish", () => socket.end(() => socket.destroy()));
    const options = { requestId, allowOrigin, ...REFUSED };
    const { turns } = this.#parts;
    void respond(response, answer, options, { turns, onBroken: () => undefined });
  }
}
