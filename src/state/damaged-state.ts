// A state whose file is damaged is not opened: nobody but a person can say what is to become of the keys in it.
import { checkEnvironment } from "../disk/check-environment.ts";

/** The message says what is wrong, and what can be done. */
export class DamagedState extends Error {
  override readonly name = "DamagedState";
}

/** @throws DamagedState, or what the file system says. */
export function refuseDamagedState(folder: string): void {
  const check = checkEnvironment(folder, { mayGoOn: () => true });
  if (check.kind !== "damaged") return;
  throw new DamagedState(
    `data: the state in ${folder} is damaged (${check.why}). It has the keys that were made, the filters, and what was counted: ` +
      "put a copy of the folder in its place, or move it away to begin without these",
  );
}
