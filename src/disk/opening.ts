// A store is opened only after a look at its file: what is damaged is set aside, and built anew. A mark in
// the folder tells whether the process before ended in order, or died while it opened the store.
import { readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Clock } from "../lib/clock.ts";
import { checkEnvironment } from "./check-environment.ts";
import { makeLockFile } from "./lock-file.ts";
import { makePrivateFolder } from "./private-folder.ts";
import { setAside } from "./set-aside.ts";

/** What was found, and what is to be said when the store is open, and when it is closed. */
export type Opening = {
  /** What was wrong with the file that was there, and its name now; undefined of one that was sound. */
  readonly damage: { readonly why: string; readonly keptAs: string | undefined } | undefined;
  opened(): void;
  /** It was of use for a while: a death from now on is the first one. */
  confirmUse(): void;
  closed(): void;
};

/** Which file it is: a name may be given to another one. */
export function fileIdOf(folder: string): string {
  const { ino, birthtimeMs } = statSync(join(folder, "data.mdb"));
  return `${ino} ${birthtimeMs}`;
}

/**
 * Above the leaves all pages are looked at always; at leaves for so long, in milliseconds. Who looks for longer
 * than its supervisor waits for a sign of life is killed over it.
 */
const LOOKED_AT_MS = { usually: 100, afterDeath: 1_000, afterDeaths: 3_000 };
/** Who died so often while it opened the file, though nothing seems wrong with it, does not open it again. */
const MOST_DEATHS_OPENING = 2;

type Mark = {
  readonly phase: "opening" | "open";
  /** So many processes in a row did not end in order. */
  readonly deaths: number;
};

/** @throws What the file system says. */
export function beginOpening(
  folder: string,
  { clock }: { readonly clock: Pick<Clock, "now" | "wallTime"> },
): Opening {
  makePrivateFolder(folder);
  const left = readMark(folder);
  const deaths = left ? left.deaths + 1 : 0;
  const why = whyNotOpened(folder, { left, deaths }, clock);
  const keptAs = why === undefined ? undefined : setAside(folder, clock.wallTime());
  makeLockFile(folder);
  writeMark(folder, { phase: "opening", deaths: why === undefined ? deaths : 0 });
  return {
    damage: why === undefined ? undefined : { why, keptAs },
    opened: () => {
      makePrivateFolder(folder); // what was made in it just now, too
      writeMark(folder, { phase: "open", deaths: why === undefined ? deaths : 0 });
    },
    confirmUse: () => writeMark(folder, { phase: "open", deaths: 0 }),
    closed: () => rmSync(markIn(folder), { force: true }),
  };
}

function whyNotOpened(
  folder: string,
  { left, deaths }: { readonly left: Mark | undefined; readonly deaths: number },
  clock: Pick<Clock, "now">,
): string | undefined {
  const isSuspect = left?.phase === "opening" || deaths > 1;
  const until =
    clock.now() +
    LOOKED_AT_MS[isSuspect ? "afterDeaths" : left === undefined ? "usually" : "afterDeath"];
  const check = checkEnvironment(folder, { mayGoOn: () => clock.now() < until });
  if (check.kind === "damaged") return check.why;
  const diesOpening = left?.phase === "opening" && deaths > MOST_DEATHS_OPENING;
  return diesOpening && check.kind === "sound" ? "processes died while they opened it" : undefined;
}

const markIn = (folder: string): string => join(folder, "in-use");

function readMark(folder: string): Mark | undefined {
  try {
    const [phase, deaths] = readFileSync(markIn(folder), "utf8").split(" ");
    return { phase: phase === "opening" ? phase : "open", deaths: Number(deaths) || 0 };
  } catch {
    return undefined;
  }
}

/** On a full disk there is none: then less is known after a death. */
function writeMark(folder: string, { phase, deaths }: Mark): void {
  try {
    writeFileSync(markIn(folder), `${phase} ${deaths}`, { mode: 0o600 });
  } catch {
    // It is of use only after a death.
  }
}
