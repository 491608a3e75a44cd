// A start that follows the end of another gateway waits for it: a restart is not refused for a second's overlap.
import { join } from "node:path";
import type { Logger } from "pino";
import type { Config } from "../config/schema.ts";
import { writerIn } from "../disk/environment-folder.ts";
import type { Clock } from "../lib/clock.ts";

export type FreeStoresParts = {
  readonly clock: Pick<Clock, "now" | "sleep">;
  readonly log: Pick<Logger, "info">;
};

const TIMEOUT_MS = 10_000;
const LOOK_AGAIN_MS = 50;

/**
 * Resolves when nobody keeps the stores of the networks, or the timeout ends: then opening them says who does.
 *
 * @throws StoreUnavailable when a folder cannot be written.
 */
export async function untilStoresAreFree(
  { data, networks }: Pick<Config, "data" | "networks">,
  { clock, log }: FreeStoresParts,
): Promise<void> {
  const folders = Object.entries(networks)
    .filter(([, { window }]) => window.blocks > 0)
    .map(([name]) => join(data, name));
  const giveUpAt = clock.now() + TIMEOUT_MS;
  let toldOf: string | undefined;
  for (const folder of folders) {
    let writer = writerIn(folder);
    while (writer !== undefined && clock.now() < giveUpAt) {
      if (toldOf !== writer)
        log.info({ writer, folder }, "waiting for the gateway before this one to end");
      toldOf = writer;
      await clock.sleep(LOOK_AGAIN_MS);
      writer = writerIn(folder);
    }
  }
}
