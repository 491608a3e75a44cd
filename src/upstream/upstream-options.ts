// The options and parts of an upstream, and the options of a call to it.

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
import type { NodeCallOptions, ResultCheckerParts } from "./node-requests.ts";
import type { AskerWithDeadline } from "./node-turns.ts";

/** The declared traits of a method, for calls whose options have none. */
export type TraitsOf = (method: string) => MethodTraits;

export type AskOptions = NodeCallOptions & {
  /** The traits of the method; left out: `traitsOf` gives them. */
  readonly traits?: MethodTraits | undefined;
  /** The name that is missing when the node replies `missing`: a variant of the method; left out: the method. */
  readonly variant?: string | undefined;
  /** The attempt that gets the open call once it is sent. */
  readonly attempt?: { call: OpenCall | undefined } | undefined;
  /** The key and the caller of the call; left out: the call does not wait for a turn. */
  readonly asker?: AskerWithDeadline | undefined;
  /** The block of the call, and the head; left out where the call is about no known block. */
  readonly position?: CallPosition | undefined;
};

export type UpstreamOptions = ConnectionOptions &
  Pick<UpstreamSettings, "name" | "vendor" | "weight" | "price" | "isPrivate" | "probe" | "rate"> &
  Pick<NetworkSettings, "family" | "chainId"> & { readonly network: string };

export type UpstreamParts = ResultCheckerParts & {
  readonly traitsOf: TraitsOf;
  readonly clock: Clock;
  readonly log: Logger;
  /** The times at which the nodes of the network reached their heads. */
  readonly heads: Pick<HeadTimes, "saw">;
  /** Whether the network has other upstreams. */
  readonly hasOthers: () => boolean;
  readonly metrics: Pick<Metrics, "upstreamAnswered" | "upstreamLied" | "upstreamUsable">;
  /** Keeps learned capabilities and the used budget over restarts. */
  readonly state: Pick<State, "get" | "update">;
  readonly connect: (
    options: ConnectionOptions,
    parts: { clock: Clock; sizes: BatchSizes; onReopened: () => void },
  ) => Connection;
};
