// What a node is told and given, and how it is asked.

import type { Logger } from "pino";
import type { NetworkSettings, UpstreamSettings } from "../config/schema.ts";
import type { Clock } from "../lib/clock.ts";
import type { MethodTraits } from "../namespaces/known-method.ts";
import type { Metrics } from "../observe/metrics.ts";
import type { State } from "../state/state.ts";
import type { BatchSizes } from "./capabilities/batch-sizes.ts";
import type { CallPosition } from "./capabilities/capabilities.ts";
import type { Connection, ConnectionOptions } from "./connection/connection.ts";
import type { HeadTimes } from "./health/head-times.ts";
import type { OpenCall } from "./health/health.ts";
import type { BeliefParts, Judging, NodeCall, Urgency } from "./node-requests.ts";
import type { HurriedAsker } from "./node-turns.ts";

/** What each method is, as it was declared; of calls that the gateway makes for itself. */
export type TraitsOf = (method: string) => MethodTraits;

export type AskOptions = Urgency &
  Pick<Judging, "isFalse" | "onFalse"> &
  Pick<NodeCall, "reader" | "maxBytes" | "headers"> & {
    /** Of the method; left out: they are looked for. */
    readonly traits?: MethodTraits | undefined;
    /** What the node lacks when it says that it does not have the method: one of several ways to call it. */
    readonly way?: string | undefined;
    /** Gets the call when it is sent. */
    readonly attempt?: { call: OpenCall | undefined } | undefined;
    /** On whose behalf; left out: it does not wait for its turn. */
    readonly asker?: HurriedAsker | undefined;
    /** What the call speaks of, where that is known. */
    readonly position?: CallPosition | undefined;
  };

export type UpstreamOptions = ConnectionOptions &
  Pick<UpstreamSettings, "name" | "vendor" | "weight" | "price" | "isPrivate" | "probe" | "rate"> &
  Pick<NetworkSettings, "family" | "chainId"> & { readonly network: string };

export type UpstreamParts = BeliefParts & {
  readonly traitsOf: TraitsOf;
  readonly clock: Clock;
  readonly log: Logger;
  /** Of all nodes of the network. */
  readonly heads: Pick<HeadTimes, "saw">;
  /** There are other nodes of this network. */
  readonly hasOthers: () => boolean;
  readonly metrics: Pick<Metrics, "upstreamAnswered" | "upstreamLied" | "upstreamUsable">;
  /** Keeps what was learned and used over restarts. */
  readonly state: Pick<State, "get" | "update">;
  readonly connect: (
    options: ConnectionOptions,
    parts: { clock: Clock; sizes: BatchSizes },
  ) => Connection;
};
