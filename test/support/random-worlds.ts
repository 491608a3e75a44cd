// Random schedules: those of one world run one after the other, and several worlds run in parallel, so that some go on
// while others wait for the disk.
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { it } from "vitest";

type RandomWorld = { open(): Promise<void>; close(): Promise<void> };

/**
 * Must be called in a concurrent `describe`.
 *
 * @param parts.make Makes the world of a seed, with its files in the folder. @param parts.run Runs one schedule.
 */
export function itInRandomWorlds<World extends RandomWorld>(
  title: string,
  amount: { readonly worlds: number; readonly schedules: number },
  parts: {
    readonly make: (seed: number, folder: string) => World;
    readonly run: (world: World) => Promise<void>;
  },
): void {
  const inWorld = async (seed: number): Promise<void> => {
    const folder = await mkdtemp(join(tmpdir(), "headgate-world-"));
    const world = parts.make(seed, folder);
    await world.open();
    try {
      for (let schedule = 0; schedule < amount.schedules; schedule += 1)
        await parts.run(world).catch((cause: unknown) => {
          const why = (cause as Error).message;
          throw new Error(`seed ${seed}, schedule ${schedule}: ${why}`, { cause });
        });
    } finally {
      await world.close();
      await rm(folder, { recursive: true, force: true });
    }
  };
  const seeds = Array.from({ length: amount.worlds }, (_, index) => index + 1);
  it.each(seeds)(`${title}, seed %i`, inWorld);
}
