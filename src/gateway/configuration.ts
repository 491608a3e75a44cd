// The configuration file as operators see and replace it. It is shown without secrets. A new text is checked against the
// running gateway, and written in one step, which is undone when the gateway refuses the text.
import { createHmac, randomBytes } from "node:crypto";
import { access, constants, open, readFile, realpath, rename, rm, stat } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import type { Actor, AuditTrail } from "../access/audit-trail.ts";
import { type FileReplaced, MOST_TEXT_BYTES, type Reloaded } from "../admin/admin-parts.ts";
import type { CheckedAnswer, ConfigurationAnswer } from "../admin/schemas.ts";
import { withHidden, withRevealed } from "../config/hidden-values.ts";
import type { ParsedConfig } from "../config/parse-config.ts";
import { writeFailure } from "../disk/writable.ts";
import { Mutex } from "../lib/mutex.ts";
import { NO_FILE, type ReadAgain, type Reload } from "./reload.ts";

/** The source of the configuration, and the parser for another text in its place. */
export type ConfigurationSource = {
  /** The file; undefined where only environment variables configure the gateway. */
  readonly path: string | undefined;
  readonly read: ReadAgain;
  /** Parses the text, without asking any node. */
  readonly check: (text: string) => ParsedConfig;
};

export type ConfigurationParts = {
  readonly source: ConfigurationSource | undefined;
  readonly reload: Pick<Reload, "past" | "compare" | "again">;
  readonly audit: Pick<AuditTrail, "note">;
};

export class Configuration {
  /** Keys the HMAC that is a text's version: a plain hash would let a reader guess the secrets in the file. */
  readonly #secret = randomBytes(32);
  readonly #writes = new Mutex();
  readonly #parts: ConfigurationParts;

  constructor(parts: ConfigurationParts) {
    this.#parts = parts;
  }

  /** The file with its secrets hidden, and the changes that a reload would make now. */
  async shown(): Promise<ConfigurationAnswer> {
    const { source, reload } = this.#parts;
    const nothing = { pending: NOTHING, reloads: reload.past };
    const path = source?.path;
    if (path === undefined) return { whyNotWritable: NO_FILE, ...nothing };
    const file = await readText(path);
    if (file.kind === "unreadable")
      return { path, whyNotWritable: file.why, ...nothing, pending: mistaken([file.why]) };
    const hidden = withHidden(file.text);
    const whyNot = await whyNotWritable(path);
    return {
      path,
      ...(hidden.kind === "text" ? { text: hidden.text } : {}),
      version: this.#versionOf(file.text),
      ...(whyNot === undefined ? {} : { whyNotWritable: whyNot }),
      pending: this.#check(file.text),
      reloads: reload.past,
    };
  }

  /** The changes that a text would make, with its hidden values filled in from the file. Changes nothing. */
  async validate(text: string): Promise<CheckedAnswer> {
    const path = this.#parts.source?.path;
    if (path === undefined) return mistaken([NO_FILE]);
    const file = await readText(path);
    if (file.kind === "unreadable") return mistaken([file.why]);
    const revealed = withRevealed(text, file.text);
    return revealed.kind === "mistakes" ? mistaken(revealed.mistakes) : this.#check(revealed.text);
  }

  /**
   * Replaces the file and reloads. When the gateway refuses the configuration, the old file is put back. Never rejects.
   * @param asked.version The version that the operator edited. The file must still have this version.
   */
  apply(
    asked: { readonly text: string; readonly version: string },
    by: Actor,
  ): Promise<FileReplaced> {
    return this.#writes.run(() => this.#apply(asked, by));
  }

  async #apply(
    { text, version }: { readonly text: string; readonly version: string },
    by: Actor,
  ): Promise<FileReplaced> {
    const { source, reload, audit } = this.#parts;
    if (source?.path === undefined) return { kind: "refused", why: NO_FILE };
    const read = await readText(source.path);
    if (read.kind === "unreadable") return { kind: "refused", why: read.why };
    const { text: file } = read;
    if (this.#versionOf(file) !== version) return { kind: "changed meanwhile" };
    const revealed = withRevealed(text, file);
    if (revealed.kind === "mistakes") return revealed;
    const { text: next } = revealed;
    const { mistakes } = this.#check(next);
    if (mistakes.length > 0) return { kind: "mistakes", mistakes };
    const { path } = source;
    const isNew = next !== file;
    const why = isNew ? await replaceFile(path, next) : undefined;
    if (why !== undefined) return { kind: "refused", why };
    if (isNew) await audit.note(by, { what: "the configuration file was replaced" });
    const outcome = await reload.again(source.read, by);
    if (outcome.kind === "reloaded") return { ...outcome, version: this.#versionOf(next) };
    if (!isNew) return outcome;
    return taken(outcome, await this.#putBack(path, { file, next }, by));
  }

  /** Writes the old text again. @returns Why that failed; undefined when the file has the old text. */
  async #putBack(
    path: string,
    { file, next }: { readonly file: string; readonly next: string },
    by: Actor,
  ): Promise<string | undefined> {
    const now = await readText(path);
    if (now.kind === "unreadable" || now.text !== next)
      return "somebody else wrote the file meanwhile";
    const why = await replaceFile(path, file);
    if (why === undefined)
      await this.#parts.audit.note(by, { what: "the configuration file was put back" });
    return why;
  }

  #check(text: string): CheckedAnswer {
    const { source, reload } = this.#parts;
    const parsed = source?.check(text);
    if (parsed?.kind !== "config") return mistaken(parsed?.mistakes ?? [NO_FILE]);
    const { changes, needRestart } = reload.compare(parsed.config);
    return { mistakes: needRestart, changed: changes.map(({ line }) => line) };
  }

  #versionOf(text: string): string {
    return createHmac("sha256", this.#secret).update(text).digest("hex").slice(0, 32);
  }
}

const NOTHING: CheckedAnswer = { mistakes: [], changed: [] };

const mistaken = (found: readonly string[]): CheckedAnswer => ({ mistakes: found, changed: [] });

type NotReloaded = Exclude<Reloaded, { kind: "reloaded" }>;

/** The outcome of a refused reload. @param whyNotBack Why the old file could not be put back; undefined: it was. */
function taken(outcome: NotReloaded, whyNotBack: string | undefined): NotReloaded {
  if (whyNotBack === undefined) return outcome;
  const line = `the file could not be put back: ${whyNotBack}`;
  return outcome.kind === "mistakes"
    ? { ...outcome, mistakes: [...outcome.mistakes, line] }
    : { ...outcome, why: `${outcome.why}; ${line}` };
}

type ReadText =
  | { readonly kind: "text"; readonly text: string }
  | { readonly kind: "unreadable"; readonly why: string };

async function readText(path: string): Promise<ReadText> {
  try {
    const { size } = await stat(path);
    if (size <= MOST_TEXT_BYTES) return { kind: "text", text: await readFile(path, "utf8") };
    return {
      kind: "unreadable",
      why: `${path}: the file has more than ${MOST_TEXT_BYTES} bytes: it is not shown, and can only be changed by hand`,
    };
  } catch (error) {
    return { kind: "unreadable", why: `${path}: cannot be read (${codeOf(error)})` };
  }
}

const codeOf = (error: unknown): string =>
  (error as NodeJS.ErrnoException).code ?? (error as Error).message;

const notReplaced = (path: string, error: unknown): string =>
  `${path}: cannot be replaced by the gateway (${codeOf(error)}): change it where it comes from`;

/** The new file is written beside the old one and renamed, so both the file and its folder must be writable. */
async function whyNotWritable(path: string): Promise<string | undefined> {
  try {
    const file = await realpath(path);
    await access(file, constants.W_OK);
    await access(dirname(file), constants.W_OK);
    return undefined;
  } catch (error) {
    return notReplaced(path, error);
  }
}

/**
 * Replaces the file in one step, with the mode and, where the system allows it, the owner of the old file.
 * @returns Why the file was not replaced; undefined when it was.
 */
async function replaceFile(path: string, text: string): Promise<string | undefined> {
  let beside: string | undefined;
  try {
    const file = await realpath(path);
    const { mode, uid, gid } = await stat(file);
    beside = join(dirname(file), `.${basename(file)}.${randomBytes(6).toString("hex")}`);
    const handle = await open(beside, "wx", 0o600);
    try {
      await handle.writeFile(text);
      await handle.chown(uid, gid).catch(() => undefined);
      await handle.chmod(mode & 0o7777);
      await handle.sync();
    } finally {
      await handle.close();
    }
    await rename(beside, file);
    return undefined;
  } catch (error) {
    if (beside !== undefined) await rm(beside, { force: true }).catch(() => undefined);
    const failure =
      codeOf(error) === "EROFS" ? undefined : await writeFailure(error, dirname(path));
    return failure ? `${path}: cannot be written: ${failure.message}` : notReplaced(path, error);
  }
}
