// `headgate audit`: prints the audit trail from the shared state. The command works while a gateway runs.

import { userInfo } from "node:os";
import { type Actor, AuditTrail, actorHere, MOST_ENTRIES } from "../access/audit-trail.ts";
import type { Environment } from "../config/setting-names.ts";
import { systemClock } from "../lib/clock.ts";
import type { State } from "../state/state.ts";
import { configOf, optionsIn, readConfig, WrongUsage, withStateOf } from "./read-config.ts";
import { table } from "./table.ts";

const OPTIONS = {
  config: { type: "string", short: "c" },
  limit: { type: "string", default: "100" },
  json: { type: "boolean" },
} as const;

/** @param argv The words after `audit`. @throws CommandFailure */
export async function audit(
  argv: readonly string[],
  environment: Environment,
  print: (text: string) => void,
): Promise<void> {
  const { config, limit, json } = optionsIn(argv, OPTIONS);
  if (!/^([1-9]\d{0,2}|1000)$/.test(limit))
    throw new WrongUsage(`--limit: expected a number from 1 to ${MOST_ENTRIES}`);
  const found = configOf("audit", config, environment);
  const { entries } = await withStateOf(readConfig(found.path, found.environment), (state) =>
    auditTrailOf(state).read({ limit: Number(limit) }),
  );
  if (json) return print(JSON.stringify(entries, null, 2));
  const rows = entries.map(({ at, who, from, what, key = "", details = [] }) => [
    at.slice(0, "2026-11-21T10:00:00".length),
    ...[who, from, key, details.length > 0 ? `${what}: ${details.join(", ")}` : what],
  ]);
  print(table([["WHEN (UTC)", "WHO", "FROM", "KEY", "WHAT"], ...rows]));
}

/** The audit trail for commands. Entries that the state does not take go to stderr; their changes were made. */
export const auditTrailOf = (state: State): AuditTrail =>
  new AuditTrail({
    ...{ state, clock: systemClock },
    log: {
      error: (about: object) =>
        void process.stderr.write(
          `could not be added to the audit trail: ${JSON.stringify(about)}\n`,
        ),
    },
  });

/** The actor for a command: the user of the operating system, and this machine. */
export function commandLine(): Actor {
  try {
    return actorHere(`command line (${userInfo().username})`);
  } catch {
    return actorHere(`command line (user ${process.getuid?.() ?? "unknown"})`); // the user has no name
  }
}
