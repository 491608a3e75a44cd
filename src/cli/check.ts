// `headgate check`: reads the configuration, tries each upstream, and says what it found.
import type { Config } from "../config/schema.ts";
import { systemClock } from "../lib/clock.ts";
import { connect } from "../upstream/connection/connect.ts";
import { inspect, renderFindings } from "../upstream/inspect.ts";
import { CommandFailure } from "./read-config.ts";

/** @throws CommandFailure when an upstream cannot be used. */
export async function check(config: Config, print: (line: string) => void): Promise<void> {
  print("The configuration is valid.");
  let unusable = 0;
  for (const [network, settings] of Object.entries(config.networks)) {
    for (const upstream of settings.upstreams) {
      const { responseBytes } = settings.limits;
      const connection = connect({ ...upstream, responseBytes }, { clock: systemClock });
      const findings = await inspect(settings, { connection, clock: systemClock });
      await connection.close();
      for (const line of renderFindings(`${network} / ${upstream.name}`, findings)) print(line);
      if (findings.kind !== "usable") unusable += 1;
    }
  }
  if (unusable > 0) {
    throw new CommandFailure(`${unusable} of the upstreams cannot be used`, { exitCode: 1 });
  }
}
