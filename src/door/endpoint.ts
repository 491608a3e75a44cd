// From an HTTP request on the endpoint to a reply: network, key, origin, body, then the calls.
import type { IncomingMessage } from "node:http";
import type { Grant } from "../access/keys/grant.ts";
import type { KeyRing } from "../access/keys/key-ring.ts";
import { type AnswerBody, asVisible } from "../calls/answer-body.ts";
import type { CallableNetwork } from "../calls/caller.ts";
import type { LifeParts } from "../calls/life-of-a-call.ts";
import { type Reply, refusal } from "../calls/reply.ts";
import type { RequestScope } from "../calls/request-scope.ts";
import { errors, type RpcError } from "../jsonrpc/rpc-error.ts";
import type { Clock } from "../lib/clock.ts";
import type { MemoryBudget } from "../lib/memory-budget.ts";
import type { Occupancy } from "../lib/occupancy.ts";
import { CALLER_GONE, readBody } from "./body.ts";
import { type RefuseKeyParts, refuseKey } from "./refuse-key.ts";
import type { Route } from "./route.ts";

export type EndpointParts = {
  readonly networks: { get(name: string): VisitedNetwork | undefined };
  readonly networkOfHost: (host: string | undefined) => string | undefined;
  readonly keys: Pick<KeyRing, "find">;
  readonly answerBody: AnswerBody;
  /** Where a request comes from, as far as proxies are believed. */
  readonly clientAddress: (request: IncomingMessage) => string | undefined;
  readonly guesses: RefuseKeyParts["guesses"];
  readonly metrics: RefuseKeyParts["metrics"];
  readonly memory: Pick<MemoryBudget, "admitsRequest">;
  readonly clock: Pick<Clock, "wallTime" | "now" | "sleep">;
  readonly log: LifeParts["log"];
};

/** A network that is told who is inside: it may be taken away. */
type VisitedNetwork = CallableNetwork & { readonly visitors: Pick<Occupancy, "enter" | "leave"> };

export type Visit = {
  readonly request: IncomingMessage;
  readonly route: Route & { kind: "endpoint" };
  readonly requestId: string;
  readonly scope: RequestScope;
};

/** The reply, and what the door needs to know to send it. undefined when the caller went away. */
export type Answered = { reply: Reply; allowOrigin: string | undefined; bytesIn: number };

const JSON_TYPES = /^application\/(json|json-rpc|jsonrequest)\s*(;|$)/i;

export class Endpoint {
  #bodyBytes: number;
  readonly #parts: EndpointParts;

  constructor(options: { bodyBytes: number }, parts: EndpointParts) {
    this.#bodyBytes = options.bodyBytes;
    this.#parts = parts;
  }

  reconfigure({ bodyBytes }: { bodyBytes: number }): void {
    this.#bodyBytes = bodyBytes;
  }

  /** Never throws: what goes wrong is in the reply. */
  async answer(visit: Visit): Promise<Answered | undefined> {
    let allowOrigin: string | undefined = "*";
    try {
      const network = this.#networkOf(visit);
      if (!visit.route.key) throw errors.missingKey();
      const grant = this.#grantOf(visit.route);
      if (!grant) throw await this.#refuseKey(visit);
      allowOrigin = grant.scope.allowedOrigin(visit.request.headers.origin);
      this.#checkVisit(grant, network, visit.request);
      checkContentType(visit.request);
      if (!this.#parts.memory.admitsRequest()) throw errors.memoryIsScarce();
      const body = await readBody(visit, { bytes: this.#bodyBytes }, this.#parts);
      if (body === CALLER_GONE) return undefined;
      const { requestId, scope } = visit;
      const reply = this.#parts.answerBody(body, { network, grant, requestId, scope });
      return {
        reply: reply instanceof Promise ? await reply : reply,
        allowOrigin,
        bytesIn: body.length,
      };
    } catch (thrown) {
      const error = asVisible(thrown, visit, this.#parts.log);
      return { reply: refusal("null", error), allowOrigin, bytesIn: 0 };
    }
  }

  /**
   * What Access-Control-Allow-Origin says before a page calls; undefined when the key's origins exclude
   * the page. It tells keys that have origins from unknown ones, so that these are refused as slowly here.
   */
  async originForPreflight(visit: Omit<Visit, "requestId">): Promise<string | undefined> {
    const { route, request } = visit;
    const grant = this.#grantOf(route);
    if (route.key && !grant) await this.#refuseKey(visit);
    return grant ? grant.scope.allowedOrigin(request.headers.origin) : "*";
  }

  #networkOf({ route, request, scope }: Visit): CallableNetwork {
    const { networks, networkOfHost } = this.#parts;
    const name = route.network ?? networkOfHost(request.headers.host);
    const network = name === undefined ? undefined : networks.get(name);
    if (!network) throw errors.unknownNetwork();
    network.visitors.enter();
    scope.onSent(() => network.visitors.leave());
    return network;
  }

  /** undefined for a key that is missing, unknown or expired. */
  #grantOf({ key }: Visit["route"]): Grant | undefined {
    return key ? this.#parts.keys.find(key, this.#parts.clock.wallTime()) : undefined;
  }

  #refuseKey({ request, scope }: Omit<Visit, "requestId">): Promise<RpcError> {
    request.resume(); // it is noticed that the caller leaves only while its body is taken
    return refuseKey({ address: this.#parts.clientAddress(request), scope }, this.#parts);
  }

  #checkVisit(grant: Grant, network: CallableNetwork, request: IncomingMessage): void {
    const rule = grant.scope.forbidsVisit({
      network: network.facts.name,
      origin: request.headers.origin,
      address: () => this.#parts.clientAddress(request),
    });
    if (rule) throw errors.rejectedByKey(rule);
  }
}

function checkContentType(request: IncomingMessage): void {
  const type = request.headers["content-type"];
  if (type === "application/json") return;
  if (type === undefined || !JSON_TYPES.test(type)) {
    throw errors.unsupportedMediaType("content type must be application/json");
  }
}
