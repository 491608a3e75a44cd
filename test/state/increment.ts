// A child process of lmdb.test.ts: increments a shared count, takes from a shared limit, adds to shared counters and a
// journal, and prints the count after each acknowledgement. Now and then it stores a large text, so that the store
// grows while other processes use it.
import { LmdbState } from "../../src/state/lmdb-state.ts";

const [path = "", name = "", timesText = ""] = process.argv.slice(2);
const state = new LmdbState({ path });
const bounds = { size: 1_000_000, perSecond: 0 };
const request = { bounds, returned: 0, owed: 0, least: 1, wanted: 1, share: 1 };
const idOf = (number: number) => ({ slot: name, number, keptMs: 60_000 });

/** Starts the other operations in any order: those that one process starts together are one step of the state. */
const doTheRest = (time: number): Promise<unknown> =>
  Promise.all([
    state.take("limits all", request, idOf(time)),
    state.add([{ key: "usage all", counts: { all: { [name]: [1] } } }], {
      ...idOf(time),
      slot: `${name} usage`,
    }),
    append(`${name} ${time}`),
  ]);

async function append(item: string, at = 0): Promise<void> {
  const part = await state.append("pending all", { at, items: [item], kept: 100_000 });
  if (!part.items.includes(item)) await append(item, part.from + part.items.length);
}

async function raise(): Promise<number> {
  const { texts } = await state.update(["count all", `count ${name}`], (counts) =>
    counts.map((count) => String(Number(count ?? 0) + 1)),
  );
  return Number(texts[0]);
}

for (let time = 1; time <= Number(timesText); time += 1) {
  const count = await raise();
  await doTheRest(time);
  if (time % 50 === 0) await state.update([`count ${name} ${time}`], () => ["x".repeat(1e6)]);
  process.stdout.write(`${count}\n`);
}
await state.close();
