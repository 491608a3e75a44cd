// Logs of epoch networks.
import { z } from "zod";
import { epochLog, epochLogFilter } from "../conflux/values.ts";
import { passedOn } from "./passing-on.ts";

export const epochLogMethods = [
  passedOn({
    name: "cfx_getLogs",
    family: "conflux",
    summary: "The logs that match a filter, of a range of epochs or of some blocks.",
    cost: 10,
    params: { filter: epochLogFilter },
    result: z.array(epochLog),
    freshness: "until next block",
  }),
];
