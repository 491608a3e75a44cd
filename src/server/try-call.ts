// Makes a call for an operator as one of the keys, without the key's text. Scope, limits, price and usage are those of
// the key holder's own call (docs/decisions/0058-operators-make-calls-as-a-key.md).
import type { z } from "zod";
import type { Grant, KeyRing } from "../access/keys/key-ring.ts";
import type { tryRequest } from "../admin/schemas.ts";
import { RequestScope } from "../calls/caller.ts";
import { type BodyAnswerer, type LifeParts, visibleError } from "../calls/life-of-a-call.ts";
import { type RpcResponse, refusal } from "../calls/response.ts";
import { type AnswerJson, heldBytesOf, isSource } from "../jsonrpc/raw-json.ts";
import { errors, ruleOf } from "../jsonrpc/rpc-error.ts";
import type { Clock } from "../lib/clock.ts";
import type { MemoryBudget } from "../lib/memory-budget.ts";
import type { Turns } from "../lib/turns.ts";
import { payForBytes } from "./body.ts";
import type { EndpointNetwork } from "./endpoint.ts";

/** The operator's request, with the id by which operators find it in the log. */
export type TriedCall = z.output<typeof tryRequest> & { readonly requestId: string };

export type TrialOutcome =
  | { readonly kind: "unknown"; readonly what: "network" | "key" }
  | {
      readonly kind: "answered";
      /** The HTTP status that the key's holder would get. */
      readonly status: number;
      /** The beginning of the envelope. */
      readonly json: string;
      /** Whether `json` is the whole envelope. */
      readonly isWhole: boolean;
      /** The length of the whole envelope. */
      readonly bytes: number;
      /** The call's story as JSON; undefined when the gateway refused the request before the call began. */
      readonly explanation: string | undefined;
    };

export type CallTrialsParts = {
  readonly networks: Pick<ReadonlyMap<string, EndpointNetwork>, "get">;
  readonly keys: Pick<KeyRing, "named">;
  readonly bodies: Pick<BodyAnswerer, "answer">;
  readonly memory: Pick<MemoryBudget, "hold" | "release" | "admitRequest">;
  readonly turns: Pick<Turns, "join" | "next">;
  readonly clock: Pick<Clock, "now" | "wallTime" | "after">;
  readonly log: LifeParts["log"];
};

/** In bytes: the longest answer that is shown, since a person reads it. */
const MOST_SHOWN = 262_144;
const EXPLAINED = { "x-headgate-explain": "1" };

export class CallTrials {
  #options: { readonly callMs: number };
  readonly #parts: CallTrialsParts;

  /** @param options.callMs How long the answer may take. */
  constructor(options: { readonly callMs: number }, parts: CallTrialsParts) {
    this.#options = options;
    this.#parts = parts;
  }

  reconfigure(options: { readonly callMs: number }): void {
    this.#options = options;
  }

  /** Makes the call. Never rejects: an error becomes the outcome. */
  async try(asked: TriedCall): Promise<TrialOutcome> {
    const found = this.#find(asked);
    if (found.kind === "unknown") return found;
    const { network, grant } = found;
    const scope = new RequestScope({ deadlineMs: this.#options.callMs }, this.#parts);
    try {
      scope.occupy(network.requests);
      scope.holdFor(grant.meter.memory);
      const response = await this.#answer(asked, { network, grant, scope });
      scope.hold("unsent", heldBytesOf(response.pieces, response.buffer));
      const { status, bytes, explanation } = response;
      return { kind: "answered", ...shownOf(response.pieces), status, bytes, explanation };
    } finally {
      scope.end(true);
    }
  }

  /** The OpenRPC document of the methods that the key may call; undefined for an unknown network or key. */
  async describe(asked: Pick<TriedCall, "network" | "key">): Promise<string | undefined> {
    const found = this.#find(asked);
    return found.kind === "unknown" ? undefined : found.network.describe(found.grant);
  }

  #find({ network: name, key }: Pick<TriedCall, "network" | "key">) {
    const { networks, keys, clock } = this.#parts;
    const network = networks.get(name);
    if (!network) return { kind: "unknown", what: "network" } as const;
    const grant = keys.named(key, clock.wallTime());
    if (!grant) return { kind: "unknown", what: "key" } as const;
    return { kind: "found", network, grant } as const;
  }

  /** Takes the steps of a caller's request: the key's scope and the memory, then the life of the call. */
  async #answer(
    { method, params, origin, address, requestId }: TriedCall,
    to: { readonly network: EndpointNetwork; readonly grant: Grant; readonly scope: RequestScope },
  ): Promise<RpcResponse> {
    const { network, grant, scope } = to;
    const { memory, bodies, clock, log } = this.#parts;
    const client = (): string | undefined => address;
    const from = { network: network.facts.name, origin, address: client };
    try {
      const rule = grant.scope.forbidsRequest(from);
      if (rule) throw errors.rejectedByKey(rule);
      if (!memory.admitRequest(grant.meter.memory)) throw errors.memoryIsScarce();
      const body = Buffer.from(JSON.stringify({ jsonrpc: "2.0", id: 1, method, params }));
      scope.hold("bodies", body.length);
      await payForBytes(body.length, { grant, network: from.network }, clock);
      const explaining = { ...grant, scope: grant.scope.explaining() };
      const caller = { network, grant: explaining, requestId, scope, client, headers: EXPLAINED };
      return await bodies.answer(body, caller);
    } catch (thrown) {
      const error = visibleError(thrown, { requestId, scope }, log);
      grant.usage.recordRefusal(from.network, ruleOf(error));
      return refusal("1", error);
    }
  }
}

function shownOf(pieces: readonly AnswerJson[]): {
  readonly json: string;
  readonly isWhole: boolean;
} {
  const decoder = new TextDecoder();
  let json = "";
  let left = MOST_SHOWN;
  for (const chunk of chunksOf(pieces)) {
    const shown = chunk.subarray(0, left);
    // The decoder leaves out a character that is cut in the middle.
    json += decoder.decode(shown, { stream: true });
    left -= shown.length;
    if (shown.length < chunk.length) return { json, isWhole: false };
  }
  return { json, isWhole: true };
}

function* chunksOf(pieces: readonly AnswerJson[]): Generator<Buffer> {
  for (const piece of pieces)
    if (isSource(piece)) yield* piece.chunks();
    else yield typeof piece === "string" ? Buffer.from(piece) : piece;
}
