// A call that an operator makes as one of the keys, without its text: the same scope, limits, price and bill, and the
// same life, as of the holder's own call (docs/decisions/0058-a-try-is-a-call-of-the-key.md).
import type { Grant, KeyRing } from "../access/keys/key-ring.ts";
import { RequestScope } from "../calls/caller.ts";
import { asVisible, type BodyAnswerer, type LifeParts } from "../calls/life-of-a-call.ts";
import { type RpcResponse, refusal } from "../calls/response.ts";
import { type AnswerJson, heldBytesOf, isSource } from "../jsonrpc/raw-json.ts";
import { errors, ruleOf } from "../jsonrpc/rpc-error.ts";
import type { Clock } from "../lib/clock.ts";
import type { MemoryBudget } from "../lib/memory-budget.ts";
import type { Turns } from "../lib/turns.ts";
import { payForBytes } from "./body.ts";
import type { EndpointNetwork } from "./endpoint.ts";

export type TriedCall = {
  readonly network: string;
  /** The name of the key. */
  readonly key: string;
  readonly method: string;
  readonly params: unknown;
  /** Where it is said to come from: a key that is bound to origins or addresses is held to it. */
  readonly origin?: string | undefined;
  readonly address?: string | undefined;
  readonly requestId: string;
};

export type TrialOutcome =
  | { readonly kind: "unknown"; readonly what: "network" | "key" }
  | {
      readonly kind: "answered";
      /** Of HTTP, as the key's holder would have got it. */
      readonly status: number;
      /** The envelope, from its start. */
      readonly json: string;
      /** Whether that is all of it. */
      readonly isWhole: boolean;
      /** Of the whole envelope. */
      readonly bytes: number;
      /** How it came about, as JSON; undefined when it was refused before it was a call. */
      readonly explanation: string | undefined;
    };

export type CallTrialsParts = {
  readonly networks: Pick<ReadonlyMap<string, EndpointNetwork>, "get">;
  readonly keys: Pick<KeyRing, "named">;
  readonly bodies: Pick<BodyAnswerer, "answer">;
  readonly memory: Pick<MemoryBudget, "hold" | "release" | "admitsRequest">;
  readonly turns: Pick<Turns, "join" | "next">;
  readonly clock: Pick<Clock, "now" | "wallTime" | "after">;
  readonly log: LifeParts["log"];
};

/** Of an envelope, in bytes: a person reads it. */
const MOST_SHOWN = 262_144;
const EXPLAINED = { "x-headgate-explain": "1" };

export class CallTrials {
  #options: { readonly callMs: number };
  readonly #parts: CallTrialsParts;

  /** @param options.callMs For the call to be answered. */
  constructor(options: { readonly callMs: number }, parts: CallTrialsParts) {
    this.#options = options;
    this.#parts = parts;
  }

  reconfigure(options: { readonly callMs: number }): void {
    this.#options = options;
  }

  /** Never rejects for what becomes of the call: that is what is told. */
  async try(asked: TriedCall): Promise<TrialOutcome> {
    const found = this.#find(asked);
    if (found.kind === "unknown") return found;
    const { network, grant } = found;
    const scope = new RequestScope({ deadlineMs: this.#options.callMs }, this.#parts);
    try {
      scope.occupy(network.requests);
      scope.holdFor(grant.meter.memory);
      const response = await this.#answer(asked, { network, grant, scope });
      scope.hold("unsent", heldBytesOf(response.pieces, response.room));
      const { status, bytes, explanation } = response;
      return { kind: "answered", ...shownOf(response.pieces), status, bytes, explanation };
    } finally {
      scope.end(true);
    }
  }

  /** The OpenRPC document with what the key may call; undefined where network or key are unknown. */
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

  /** As the server does: what the key is bound to first, then the life of the call. */
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
      if (!memory.admitsRequest(grant.meter.memory)) throw errors.memoryIsScarce();
      const body = Buffer.from(JSON.stringify({ jsonrpc: "2.0", id: 1, method, params }));
      scope.hold("bodies", body.length);
      await payForBytes(body.length, { grant, network: from.network }, clock);
      const explaining = { ...grant, scope: grant.scope.explaining() };
      const caller = { network, grant: explaining, requestId, scope, client, headers: EXPLAINED };
      return await bodies.answer(body, caller);
    } catch (thrown) {
      const error = asVisible(thrown, { requestId, scope }, log);
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
    // What is cut in the middle of a character is left out.
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
