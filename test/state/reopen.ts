// A child process of lmdb.test.ts: opens the state, reads it and closes it, again and again, as commands do.
import { LmdbState } from "../../src/state/lmdb-state.ts";

const [path = "", timesText = ""] = process.argv.slice(2);
for (let time = 0; time < Number(timesText); time += 1) {
  const state = new LmdbState({ path });
  await state.get("count all");
  await state.close();
}
