// From an HTTP request to its response: finds the network by path or host, and the grant by the key; checks the origin
// and the body; then has the calls answered.
import type { IncomingMessage } from "node:http";
import type { IdentityTokens } from "../access/keys/identity-tokens.ts";
import type { Grant, KeyRing } from "../access/keys/key-ring.ts";
import type { RequestRule } from "../access/scope/scope.ts";
import type { CallableNetwork, RequestScope } from "../calls/caller.ts";
import { type BodyAnswerer, type LifeParts, visibleError } from "../calls/life-of-a-call.ts";
import { type RpcResponse, refusal } from "../calls/response.ts";
import type { NetworkSettings } from "../config/schema.ts";
import type { PushChannel } from "../filters/subscription.ts";
import { errors, type RpcError, ruleOf } from "../jsonrpc/rpc-error.ts";
import type { Clock } from "../lib/clock.ts";
import type { MemoryBudget } from "../lib/memory-budget.ts";
import type { UseCount } from "../lib/mutex.ts";
import { announcedBytes, CALLER_GONE, type PaidBodyParts, paidBody, payForBytes } from "./body.ts";
import type { Connections } from "./connections.ts";
import { Decompression } from "./decompression.ts";
import { type CallerRequest, PlainRequest } from "./plain-request.ts";
import type { Payer } from "./push-channel.ts";
import { type Refusals, type RefuseKeyParts, refuseKey } from "./refusals.ts";

/** The network and the key that the path or the headers name. */
export type EndpointRoute = {
  readonly network: string | undefined;
  readonly key: string | undefined;
};

type Route =
  | ({ kind: "endpoint" | "events" } & EndpointRoute)
  | { kind: "health" }
  | { kind: "readiness" }
  | { kind: "two keys" }
  | { kind: "unknown" };

export type EndpointParts = {
  readonly networks: Pick<ReadonlyMap<string, EndpointNetwork>, "get">;
  readonly networkOfHost: (host: string | undefined) => string | undefined;
  /** Whether the network is configured but cannot be served yet. */
  readonly isUnidentified?: (name: string | undefined) => boolean;
  readonly keys: Pick<KeyRing, "find">;
  /** Verifies tokens of an identity provider, which count as keys; left out: no provider is configured. */
  readonly tokens?: Pick<IdentityTokens, "isOne" | "verify"> | undefined;
  readonly bodies: Pick<BodyAnswerer, "answer">;
  /** The caller's address, by the headers of trusted proxies; undefined when the caller has left. */
  readonly clientAddress: (request: CallerRequest) => string | undefined;
  readonly guesses: RefuseKeyParts["guesses"];
  readonly refusals: Pick<
    Refusals,
    "exhausted" | "refusalFor" | "count" | "countGuess" | "countRequest"
  >;
  readonly connections: Pick<Connections, "markAdmitted">;
  readonly metrics: RefuseKeyParts["metrics"];
  readonly memory: Pick<MemoryBudget, "admitRequest">;
  readonly clock: Pick<Clock, "wallTime" | "now" | "sleep">;
  readonly log: LifeParts["log"];
};

/** A network that counts its requests, so that a reload that removes it can wait for them. */
export type EndpointNetwork = CallableNetwork & {
  readonly requests: Pick<UseCount, "enter" | "leave">;
};

export type EndpointRequest = {
  /** Pushes to the caller's WebSocket. */
  readonly channel?: PushChannel | undefined;
  readonly request: CallerRequest;
  readonly route: EndpointRoute;
  readonly requestId: string;
  readonly scope: RequestScope;
};

type Asked = Pick<EndpointRequest, "route" | "request">;

export type EndpointAnswer = {
  response: RpcResponse;
  allowOrigin: string | undefined;
  bytesIn: number;
  /** The connection ends with this response, even if the caller sends more. */
  isLast: boolean;
};

/** The grant of a WebSocket or event stream, and the origin that may read it. */
export type AdmittedSocket = Pick<EndpointAnswer, "allowOrigin"> & { readonly grant: Grant };

export type EndpointOptions = { readonly bodyBytes: number };

/** The body as far as it was read, and the origin that may read the answer, for a refusal. */
type Read = { body: Buffer | undefined; allowOrigin: string | undefined };

const NOTHING_READ = { allowOrigin: "*", bytesIn: 0 } as const;

const JSON_TYPES = /^application\/(json|json-rpc|jsonrequest)\s*(;|$)/i;

export class Endpoint {
  #options: EndpointOptions;
  readonly #bodyParts: PaidBodyParts;
  readonly #parts: EndpointParts;

  constructor(options: EndpointOptions, parts: EndpointParts) {
    this.#options = options;
    this.#parts = parts;
    this.#bodyParts = { ...parts, decompression: new Decompression() };
  }

  reconfigure(options: EndpointOptions): void {
    this.#options = options;
  }

  /** Answers a POST with calls. Never throws: an error becomes the response. @returns undefined when the caller left. */
  async answer(incoming: EndpointRequest): Promise<EndpointAnswer | undefined> {
    const { request, scope } = incoming;
    const { refusals } = this.#parts;
    let grant = this.#grantOf(incoming.route);
    const turnedAway = this.#turnedAway(incoming, grant);
    if (turnedAway) return turnedAway;
    const read: Read = { body: undefined, allowOrigin: "*" };
    try {
      const network = this.#networkOf(incoming);
      if (!incoming.route.key) throw errors.missingKey();
      if (!grant) {
        grant = await this.#verifiedGrant(incoming);
        if (request.destroyed) return undefined;
      }
      const holder = grant.meter.memory;
      scope.holdFor(holder);
      read.allowOrigin = grant.scope.allowedOrigin(request.headers.origin);
      this.#admit(request, grant, network);
      checkContentType(request);
      const paying = { bytes: this.#options.bodyBytes, holder, grant, network: network.facts.name };
      const body =
        request instanceof PlainRequest
          ? this.#bodyOf(request, scope)
          : await paidBody({ request, scope }, paying, this.#bodyParts);
      if (body === CALLER_GONE) return undefined;
      read.body = body;
      const answer = this.#answerBody(body, { incoming, network, grant });
      const response = answer instanceof Promise ? await answer : answer;
      const bytesIn = body.length;
      if (scope.refused > 0) refusals.count({ request, grant }, scope.refused, bytesIn);
      return { response, allowOrigin: read.allowOrigin, bytesIn, isLast: false };
    } catch (thrown) {
      return this.#refused(incoming, { thrown, grant, read });
    }
  }

  /** Admits a request to open a WebSocket or event stream. Never throws. @returns The grant, or the refusal. */
  async admitSocket(incoming: EndpointRequest): Promise<AdmittedSocket | EndpointAnswer> {
    const { request, route } = incoming;
    let grant = this.#grantOf(route);
    const turnedAway = this.#turnedAway(incoming, grant);
    if (turnedAway) return turnedAway;
    const read: Read = { body: undefined, allowOrigin: "*" };
    try {
      const network = this.#networkOf(incoming);
      if (!route.key) throw errors.missingKey();
      grant ??= await this.#verifiedGrant(incoming);
      read.allowOrigin = grant.scope.allowedOrigin(request.headers.origin);
      this.#admit(request, grant, network);
      return { grant, allowOrigin: read.allowOrigin };
    } catch (thrown) {
      return this.#refused(incoming, { thrown, grant, read });
    }
  }

  /**
   * Answers a message of a WebSocket. Never throws. Checks key and network again: since the socket was opened, the key
   * may have been revoked or restricted, and the network removed.
   *
   * @param incoming The request that opened the socket, and the scope of this message.
   */
  async answerMessage(incoming: EndpointRequest, body: Buffer): Promise<RpcResponse | "revoked"> {
    const { request, scope, route } = incoming;
    const { refusals, clock } = this.#parts;
    const grant = this.#grantOf(route);
    if (!grant) return "revoked";
    const turnedAway = this.#turnedAway(incoming, grant);
    if (turnedAway) return turnedAway.response;
    const read: Read = { body, allowOrigin: undefined };
    try {
      const network = this.#networkOf(incoming);
      scope.holdFor(grant.meter.memory);
      scope.hold("bodies", body.length);
      this.#admit(request, grant, network);
      await payForBytes(body.length, { grant, network: network.facts.name }, clock);
      const response = await this.#answerBody(body, { incoming, network, grant });
      if (scope.refused > 0) refusals.count({ request, grant }, scope.refused, body.length);
      return response;
    } catch (thrown) {
      return this.#refused(incoming, { thrown, grant, read }).response;
    }
  }

  /** The body of a plain request, which was read already. It is small enough to cost nothing. */
  #bodyOf({ body }: PlainRequest, scope: RequestScope): Buffer {
    if (body.length > this.#options.bodyBytes) throw errors.bodyTooLarge();
    scope.hold("bodies", body.length);
    return body;
  }

  #turnedAway(incoming: EndpointRequest, grant: Grant | undefined): EndpointAnswer | undefined {
    const { refusals } = this.#parts;
    if (refusals.exhausted.size === 0) return undefined;
    const error = refusals.refusalFor(incoming.request, grant);
    if (!error) return undefined;
    this.countRefusal(incoming, grant, error);
    return { ...NOTHING_READ, response: refusal("null", error), isLast: true };
  }

  #answerBody(
    body: Buffer,
    {
      incoming,
      network,
      grant,
    }: { incoming: EndpointRequest; network: CallableNetwork; grant: Grant },
  ): RpcResponse | Promise<RpcResponse> {
    const { request, requestId, scope, channel } = incoming;
    const client = (): string | undefined => this.#parts.clientAddress(request);
    const { headers } = request;
    const caller = { network, grant, requestId, scope, client, channel, headers };
    return this.#parts.bodies.answer(body, caller);
  }

  #refused(
    incoming: EndpointRequest,
    { thrown, grant, read }: { thrown: unknown; grant: Grant | undefined; read: Read },
  ): EndpointAnswer {
    const { request } = incoming;
    const { refusals, log } = this.#parts;
    const error = visibleError(thrown, incoming, log);
    refusals.countRequest({ request, grant }, error, this.#bytesReadFor(error, request, read));
    this.countRefusal(incoming, grant, error);
    const response = refusal("null", error);
    return { ...NOTHING_READ, response, allowOrigin: read.allowOrigin, isLast: false };
  }

  /** Counts a request that was refused before its calls were read as usage of its key. */
  countRefusal(asked: Asked, grant: Grant | undefined, error: RpcError): void {
    const network = grant && this.#findNetwork(asked);
    if (network) grant.usage.recordRefusal(network.facts.name, ruleOf(error));
  }

  /** Notes the valid key. @throws RpcError when the key's scope forbids the request, or memory is scarce. */
  #admit(request: CallerRequest, grant: Grant, network: CallableNetwork): void {
    const { connections, memory } = this.#parts;
    connections.markAdmitted(request.socket);
    const rule = this.#ruleAgainst(request, grant, network);
    if (rule) throw errors.rejectedByKey(rule);
    if (!memory.admitRequest(grant.meter.memory)) throw errors.memoryIsScarce();
  }

  /** The rule of the key's scope that forbids the request, for calls, polls and pushes alike; undefined when none does. */
  #ruleAgainst(
    request: CallerRequest,
    { scope }: Grant,
    network: CallableNetwork,
  ): RequestRule | undefined {
    return scope.forbidsRequest({
      network: network.facts.name,
      origin: request.headers.origin,
      address: () => this.#parts.clientAddress(request),
    });
  }

  /** The bytes read of a refused request: none of a body announced as too large, the limit of a body found too large. */
  #bytesReadFor({ status }: RpcError, request: CallerRequest, { body }: Read): number {
    if (body) return body.length;
    const { bodyBytes } = this.#options;
    const announced = announcedBytes(request);
    if (announced > bodyBytes) return 0;
    return status === 413 ? bodyBytes : announced;
  }

  /**
   * The value of Access-Control-Allow-Origin in the answer to a preflight; undefined when the key's origins exclude the
   * page. The value reveals whether a key exists, so guesses of keys are delayed as in a call.
   */
  async originForPreflight(
    incoming: Omit<EndpointRequest, "requestId">,
  ): Promise<string | undefined> {
    const { route, request } = incoming;
    const known = this.#grantOf(route);
    const grant =
      route.key && !known ? await this.#verifiedGrant(incoming).catch(() => undefined) : known;
    return grant ? grant.scope.allowedOrigin(request.headers.origin) : "*";
  }

  #findNetwork({ route, request }: Asked) {
    const { networks, networkOfHost } = this.#parts;
    const name = route.network ?? networkOfHost(request.headers.host);
    return name === undefined ? undefined : networks.get(name);
  }

  #networkOf(incoming: EndpointRequest): CallableNetwork {
    const network = this.#findNetwork(incoming);
    if (!network) {
      const { networkOfHost, isUnidentified } = this.#parts;
      const name = incoming.route.network ?? networkOfHost(incoming.request.headers.host);
      throw isUnidentified?.(name) ? errors.unidentifiedNetwork() : errors.unknownNetwork();
    }
    incoming.scope.occupy(network.requests);
    return network;
  }

  /**
   * The current grant and network of a WebSocket, each undefined where it does not exist any more, and the rule that
   * forbids its pushes by now, since the key may have been bound to less.
   */
  payerOf(asked: Asked): Payer {
    const [grant, network] = [this.#grantOf(asked.route), this.#findNetwork(asked)];
    const rule = grant && network && this.#ruleAgainst(asked.request, grant, network);
    return { grant, network, rule };
  }

  /** The grant of a key; undefined for a key that is missing, unknown or expired. */
  #grantOf({ key }: EndpointRequest["route"]): Grant | undefined {
    return key ? this.#parts.keys.find(key, this.#parts.clock.wallTime()) : undefined;
  }

  /** Verifies a token that was not seen before. @throws RpcError for an unknown key; repeated guesses are delayed. */
  async #verifiedGrant(incoming: Omit<EndpointRequest, "requestId">): Promise<Grant> {
    const { tokens, refusals } = this.#parts;
    const { request, route, scope } = incoming;
    const { key = "" } = route;
    if (tokens?.isOne(key)) {
      const outcome = await tokens.verify(key);
      if (outcome === "unavailable") throw errors.tokensUnavailable();
      const grant = outcome === "verified" ? this.#grantOf(route) : undefined;
      if (grant) return grant;
    }
    request.resume(); // Node notices that the caller left only while it reads the body
    refusals.countGuess(request);
    throw await refuseKey({ address: this.#parts.clientAddress(request), scope }, this.#parts);
  }
}

function checkContentType(request: CallerRequest): void {
  const type = request.headers["content-type"];
  if (type === "application/json") return;
  if (type === undefined || !JSON_TYPES.test(type)) {
    throw errors.unsupportedMediaType("content type must be application/json");
  }
}

const UNKNOWN: Route = { kind: "unknown" };
const TWO_KEYS: Route = { kind: "two keys" };

/** The route of a request. The path or the headers name the key; if they name two, the route is `two keys`. */
export function requestRoute({
  url = "",
  headers,
  rawHeaders,
}: Pick<IncomingMessage, "url" | "headers" | "rawHeaders">): Route {
  const route = routeOf(url);
  const { authorization, "x-api-key": apiKey } = headers;
  if (authorization === undefined && apiKey === undefined) return route;
  if (route.kind !== "endpoint" && route.kind !== "events") return route;
  if (authorization !== undefined && isAuthorizedTwice(rawHeaders)) return TWO_KEYS;
  const named = [bearerOf(authorization), apiKey && String(apiKey)].filter(Boolean);
  const [key] = named;
  if (key === undefined) return route;
  // The path is `/v1/events`, which `routeOf` reads as the key `events`, while the key is in a header.
  const isBare = route.key === EVENTS.slice(1) && key !== route.key;
  const kind = isBare ? "events" : route.kind;
  const isOne = [...named, isBare ? undefined : route.key].every((each = key) => each === key);
  return isOne ? { ...route, kind, key } : TWO_KEYS;
}

/** Whether a request has several Authorization headers. Node keeps the first; a proxy may have read another one. */
const isAuthorizedTwice = (rawHeaders: readonly string[]): boolean =>
  rawHeaders.filter((name, at) => at % 2 === 0 && /^authorization$/i.test(name)).length > 1;

/** The token of a Bearer header. Other schemes are meant for proxies, and ignored. */
const bearerOf = (authorization = ""): string | undefined =>
  /^bearer +([^ ]+) *$/i.exec(authorization)?.[1];

/**
 * Reads the path: `/v1/<key>`, where the host names the network, or `/<network>/v1/<key>`; and `/events` after either.
 *
 * @param url The request target; its query is ignored.
 */
export function routeOf(url: string): Route {
  const query = url.indexOf("?");
  const whole = query < 0 ? url : url.slice(0, query);
  if (whole === "/healthz") return { kind: "health" };
  if (whole === "/readyz") return { kind: "readiness" };
  const path = whole.endsWith("/") ? whole.slice(0, -1) : whole;
  const route = endpointAt(path, "endpoint");
  return route.kind === "unknown" && path.endsWith(EVENTS)
    ? endpointAt(path.slice(0, -EVENTS.length), "events")
    : route;
}

function endpointAt(path: string, kind: "endpoint" | "events"): Route {
  const start = path.indexOf("/");
  if (start < 0) return UNKNOWN;
  const own = keyBehind(path, start);
  if (own !== "none") return { kind, network: undefined, key: own.key };
  const second = path.indexOf("/", start + 1);
  const named = second < 0 ? "none" : keyBehind(path, second);
  if (named === "none") return UNKNOWN;
  const network = decoded(path.slice(start + 1, second)).toLowerCase();
  return { kind, network, key: named.key };
}

const EVENTS = "/events";

const VERSION = "/v1";

/** The key behind `/v1`, if `/v1` stands at the offset and at most one segment follows. */
function keyBehind(path: string, at: number): { readonly key: string | undefined } | "none" {
  if (!path.startsWith(VERSION, at)) return "none";
  const end = at + VERSION.length;
  if (end === path.length) return { key: undefined };
  if (path[end] !== "/" || path.includes("/", end + 1)) return "none";
  return { key: decoded(path.slice(end + 1)) };
}

/** The decoded segment. A segment with broken percent-encoding stays as it is. */
function decoded(segment: string): string {
  if (!segment.includes("%")) return segment;
  try {
    return decodeURIComponent(segment);
  } catch {
    return segment;
  }
}

/**
 * Finds the name of a network by the Host header: the header is one of the network's configured hosts, or its first label
 * is the name of a network without configured hosts. Ports and case do not matter.
 */
export function hostResolver(
  networks: Readonly<Record<string, Pick<NetworkSettings, "hosts">>>,
): (host: string | undefined) => string | undefined {
  const byHost = new Map<string, string>();
  const byLabel = new Map<string, string>();
  for (const [name, { hosts }] of Object.entries(networks)) {
    if (hosts) for (const host of hosts) byHost.set(host, name);
    else byLabel.set(name, name);
  }
  return (header) => {
    if (header === undefined) return undefined;
    const host = header.replace(/:\d*$/, "").replace(/\.$/, "").toLowerCase();
    const dot = host.indexOf(".");
    return byHost.get(host) ?? byLabel.get(dot < 0 ? host : host.slice(0, dot));
  };
}
