// A call's span in a trace, in the headers of W3C Trace Context, received from callers and sent to upstreams.
import { randomFillSync } from "node:crypto";

export type TraceHeaders = Readonly<Record<string, string | readonly string[] | undefined>>;

/** A span that another program began. */
export type RemoteContext = {
  /** 32 hex digits. */
  readonly traceId: string;
  /** 16 hex digits. */
  readonly spanId: string;
  readonly isSampled: boolean;
  /** The header `tracestate`, unchanged. */
  readonly state: string | undefined;
};

const TRACEPARENT = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/;
const NOTHING = /^0+$/;
const SAMPLED = 1;

/** Characters. A longer `tracestate` need not be passed on (W3C Trace Context, 3.3.1.5). */
const LONGEST_STATE = 512;
const STATE = /^[\x20-\x7e]+$/;

/** @returns undefined when the header is missing or malformed: then the gateway begins a new trace. */
export function readTraceContext(headers: TraceHeaders): RemoteContext | undefined {
  const { traceparent, tracestate } = headers;
  if (typeof traceparent !== "string" || traceparent.length > LONGEST_STATE) return undefined;
  const [, version, traceId = "", spanId = "", flags = "", more] =
    TRACEPARENT.exec(traceparent) ?? [];
  const isKnown = version === "00" ? more === undefined : version !== undefined && version !== "ff";
  if (!isKnown || NOTHING.test(traceId) || NOTHING.test(spanId)) return undefined;
  const hasState = typeof tracestate === "string" && tracestate.length <= LONGEST_STATE;
  const state = hasState && STATE.test(tracestate) ? tracestate : undefined;
  return { traceId, spanId, isSampled: (Number.parseInt(flags, 16) & SAMPLED) === SAMPLED, state };
}

/** A span of the gateway. */
export class TraceContext implements RemoteContext {
  readonly traceId: string;
  readonly spanId: string;
  /** undefined: this span begins the trace. */
  readonly parent: RemoteContext | undefined;
  readonly isSampled: boolean;
  readonly state: string | undefined;
  readonly #ids: TraceIds;

  /** @param options.parent undefined: the span begins a trace. */
  constructor(
    options: { readonly parent: RemoteContext | undefined; readonly isSampled: boolean },
    ids: TraceIds,
  ) {
    const { parent, isSampled } = options;
    this.traceId = parent?.traceId ?? ids.ofTrace();
    this.spanId = ids.ofSpan();
    this.parent = parent;
    this.isSampled = isSampled;
    this.state = parent?.state;
    this.#ids = ids;
  }

  within(): TraceContext {
    return new TraceContext({ parent: this, isSampled: this.isSampled }, this.#ids);
  }

  /** The headers for a request that the gateway makes within this span. */
  headers(): Readonly<Record<string, string>> {
    const traceparent = `00-${this.traceId}-${this.spanId}-${this.isSampled ? "01" : "00"}`;
    return this.state === undefined ? { traceparent } : { traceparent, tracestate: this.state };
  }
}

const TRACE_BYTES = 16;
const SPAN_BYTES = 8;
const DRAWN_AT_ONCE = 4_096;

/** Random ids. Many bytes are drawn at once, because each draw costs a microsecond. */
export class TraceIds {
  readonly #drawn = Buffer.alloc(DRAWN_AT_ONCE);
  #at = DRAWN_AT_ONCE;

  ofTrace(): string {
    return this.#next(TRACE_BYTES);
  }

  ofSpan(): string {
    return this.#next(SPAN_BYTES);
  }

  #next(bytes: number): string {
    if (this.#at + bytes > DRAWN_AT_ONCE) {
      randomFillSync(this.#drawn);
      this.#at = 0;
    }
    const id = this.#drawn.toString("hex", this.#at, this.#at + bytes);
    this.#at += bytes;
    return id;
  }
}
