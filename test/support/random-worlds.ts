// Schedules by chance, each after the other in one world, and several worlds side by side: while one waits for the disk,
// others go on.
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { it } from "vitest";

type RandomWorld = { open(): Promise<void>; close(): Promise<void> };

/**
 * To be called in a concurrent `describe`.
 *
 * @param parts.make The world of a seed, which keeps its files in the folder. @param parts.run One schedule.
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
