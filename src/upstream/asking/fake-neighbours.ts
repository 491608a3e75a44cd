// For tests: a call to the nodes that a test makes itself; whoever else is asked allows it all.
import type { Clock } from "../../lib/clock.ts";
import { fakeTraits } from "../fake-pool.ts";
import { type AskedUpstream, Asking } from "./asking.ts";
import type { Said } from "./call-options.ts";
import { DELAY_MS } from "./fake-asking.ts";

const nothing = (): void => undefined;
const always = (): boolean => true;

export const outcomeOf = (nodes: readonly AskedUpstream[], clock: Clock): Promise<Said> =>
  new Asking(
    { method: "eth_call", paramsJson: "[]", traits: fakeTraits("eth_call"), options: {} },
    {
      ...{ clock, nodes, headNumber: undefined, hedgeDelayMs: DELAY_MS },
      ...{ mayHedge: always, onWaiting: always, onAnswered: nothing, onAskedAgain: nothing },
      onOccupied: nothing,
    },
  ).outcome(new AbortController().signal);
