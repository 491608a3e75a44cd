// A child process of lmdb.test.ts: raises a shared count by compare-and-set, and tells of each time
// that it was acknowledged. Now and then it holds a large text, so that the store grows under others.
import { LmdbState } from "../../src/state/lmdb-state.ts";

const [path = "", name = "", timesText = ""] = process.argv.slice(2);
const state = new LmdbState({ path });

async function raise(): Promise<number> {
  for (;;) {
    const before = await state.get("count all");
    const next = Number(before ?? 0) + 1;
    const own = await state.get(`count ${name}`);
    const isDone = await state.change([
      { key: "count all", expected: before, next: String(next) },
      { key: `count ${name}`, expected: own, next: String(Number(own ?? 0) + 1) },
    ]);
    if (isDone) return next;
  }
}

for (let time = 1; time <= Number(timesText); time += 1) {
  const count = await raise();
  if (time % 50 === 0) await state.replace(`count ${name} ${time}`, undefined, "x".repeat(1e6));
  process.stdout.write(`${count}\n`);
}
await state.close();
