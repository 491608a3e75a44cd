// Finds the oldest block that a node has: halves what is between one that it has and one that it lacks.

import type { Family } from "../../namespaces/known-method.ts";
import type { Reply } from "../reply.ts";
import type { Capabilities } from "./capabilities.ts";
import type { Reach } from "./history.ts";
import { learnFromProbe, probeAt } from "./probes.ts";

type FindReachParts = {
  readonly ask: (method: string, paramsJson: string) => Promise<Reply>;
  readonly capabilities: Capabilities;
};

/** More than the halves of any chain: a node that contradicts itself is left alone. */
const MOST_QUESTIONS = 40;

/** Nothing is asked where it is not known that something is lacking, and no more when an answer says nothing. */
export async function findReach(
  { family, head, reach }: { family: Family; head: number; reach: Reach },
  { ask, capabilities }: FindReachParts,
): Promise<void> {
  for (let questions = 0; questions < MOST_QUESTIONS; questions += 1) {
    const known = capabilities.history.known()[reach];
    if (known.kind !== "part") return;
    const { notAt, since = head } = known;
    const block = Math.floor((notAt + since) / 2);
    const probe = probeAt(family, { reach, block });
    if (since - notAt <= 1 || !probe) return;
    learnFromProbe(probe, await ask(probe.method, probe.paramsJson), { head, capabilities });
    const now = capabilities.history.known()[reach];
    if (now.kind === "part" && now.notAt === notAt && (now.since ?? head) === since) return;
  }
}
