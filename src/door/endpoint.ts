// From an HTTP request on the endpoint to a reply: network, key, origin, body, then the calls.
import type { IncomingMessage } from "node:http";
import type { Grant, KeyRing } from "../access/key-ring.ts";
import { type AnswerBody, asVisible, type Reply, refusal } from "../calls/answer-body.ts";
import type { CallableNetwork } from "../calls/call.ts";
import type { LifeParts } from "../calls/life-of-a-call.ts";
import type { RequestScope } from "../calls/request-scope.ts";
import { errors } from "../jsonrpc/rpc-error.ts";
import type { Clock } from "../lib/clock.ts";
import { CALLER_GONE, readBody } from "./body.ts";
import type { Route } from "./route.ts";

export type EndpointParts = {
  readonly networks: ReadonlyMap<string, CallableNetwork>;
  readonly networkOfHost: (host: string | undefined) => string | undefined;
  readonly keys: Pick<KeyRing, "find">;
  readonly answerBody: AnswerBody;
  readonly clock: Pick<Clock, "wallTime">;
  readonly log: LifeParts["log"];
};

export type Visit = {
  readonly request: IncomingMessage;
  readonly route: Route & { kind: "endpoint" };
  readonly requestId: string;
  readonly scope: RequestScope;
};

/** The reply, and what the door needs to know to send it. undefined when the caller went away. */
export type Answered = { reply: Reply; allowOrigin: string; bytesIn: number };

const JSON_TYPES = /^application\/(json|json-rpc|jsonrequest)\s*(;|$)/i;

export class Endpoint {
  readonly #bodyBytes: number;
  readonly #parts: EndpointParts;

  constructor(options: { bodyBytes: number }, parts: EndpointParts) {
    this.#bodyBytes = options.bodyBytes;
    this.#parts = parts;
  }

  /** Never throws: what goes wrong is in the reply. */
  async answer(visit: Visit): Promise<Answered | undefined> {
    let allowOrigin = "*";
    try {
      const network = this.#networkOf(visit);
      const grant = this.#grantOf(visit.route);
      allowOrigin = this.allowedOrigin(grant, visit.request) ?? "*";
      checkScope(grant, network, visit.request);
      checkContentType(visit.request);
      const body = await readBody(visit.request, this.#bodyBytes);
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

  /** What Access-Control-Allow-Origin says; undefined when the key's origins exclude the page. */
  allowedOrigin(grant: Grant | undefined, request: IncomingMessage): string | undefined {
    if (!grant?.allowsOrigin) return "*";
    const { origin } = request.headers;
    return grant.allowsOrigin(origin) ? origin : undefined;
  }

  /** The key's grant, or undefined for one that is missing, unknown or expired. */
  grantOf({ key }: Visit["route"]): Grant | undefined {
    return key ? this.#parts.keys.find(key, this.#parts.clock.wallTime()) : undefined;
  }

  #networkOf({ route, request }: Visit): CallableNetwork {
    const { networks, networkOfHost } = this.#parts;
    const name = route.network ?? networkOfHost(request.headers.host);
    const network = name === undefined ? undefined : networks.get(name);
    if (!network) throw errors.unknownNetwork();
    return network;
  }

  #grantOf(route: Visit["route"]): Grant {
    if (!route.key) throw errors.missingKey();
    const grant = this.grantOf(route);
    if (!grant) throw errors.invalidKey();
    return grant;
  }
}

function checkScope(grant: Grant, network: CallableNetwork, request: IncomingMessage): void {
  if (!grant.allowsNetwork(network.facts.name)) throw errors.rejectedByKey();
  if (grant.allowsOrigin && !grant.allowsOrigin(request.headers.origin))
    throw errors.rejectedByKey();
}

function checkContentType(request: IncomingMessage): void {
  const type = request.headers["content-type"];
  if (type === "application/json") return;
  if (type === undefined || !JSON_TYPES.test(type)) {
    throw errors.unsupportedMediaType("content type must be application/json");
  }
}
