// The service describes itself: rpc.discover, as the OpenRPC specification wants it.
import { z } from "zod";
import { defineMethod, type Method } from "./method.ts";

export const discoveryMethods: readonly Method[] = [
  defineMethod({
    name: "rpc.discover",
    group: "other",
    isSpecified: true,
    isOwn: true,
    family: "any",
    summary: "The OpenRPC document of this network, with the methods that the key may call.",
    cost: 1,
    params: {},
    result: z.looseObject({ openrpc: z.string() }),
    freshness: "unknown",
    answer: (_, context) => context.describe(),
  }),
];
