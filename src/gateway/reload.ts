// Applies another configuration to a running gateway: compares it, prepares its networks, and applies it in one step.

import type { Logger } from "pino";
import type { Actor, AuditTrail } from "../access/audit-trail.ts";
import type { Reloaded } from "../admin/admin-parts.ts";
import type { ConfigurationAnswer } from "../admin/schemas.ts";
import { type Comparison, compareConfigs } from "../config/compare-configs.ts";
import type { ParsedConfig } from "../config/parse-config.ts";
import type { Config } from "../config/schema.ts";
import { isoText } from "../lib/calendar.ts";
import type { Clock } from "../lib/clock.ts";
import { Mutex } from "../lib/mutex.ts";
import type { NetworksChange } from "./networks.ts";

export type ReloadParts = {
  readonly networks: { prepare(config: Config): Promise<NetworksChange> };
  /** Gives the configuration to all parts but the networks, in the same turn of the event loop. */
  readonly apply: (config: Config) => void;
  readonly audit: Pick<AuditTrail, "note">;
  readonly clock: Pick<Clock, "wallTime">;
  readonly log: Logger;
};

/** Reads the current configuration. */
export type ReadAgain = () => ParsedConfig | Promise<ParsedConfig>;

/** The number of past reloads that are kept for operators, and of lines of each. */
const MOST_PAST = 20;
const MOST_LINES = 100;

const NOT_RELOADED = "configuration not reloaded: nothing changed";
const STOPPING = "the gateway is stopping";
export const NO_FILE = "there is no configuration file: none was named at the start";

function linesOf(outcome: Reloaded): readonly string[] {
  if (outcome.kind === "refused") return [outcome.why];
  return outcome.kind === "reloaded" ? outcome.changed : outcome.mistakes;
}

export class Reload {
  /** The running configuration. */
  #config: Config;
  /** Runs one reload at a time: each compares its configuration with the result of the reload before. */
  readonly #reloads = new Mutex();
  #isStopping = false;
  #past: ConfigurationAnswer["reloads"] = [];
  readonly #parts: ReloadParts;

  constructor(config: Config, parts: ReloadParts) {
    this.#config = config;
    this.#parts = parts;
  }

  /** The past reloads, newest first. */
  get past(): ConfigurationAnswer["reloads"] {
    return this.#past;
  }

  /** The changes that a configuration would make. */
  compare(config: Config): Comparison {
    return compareConfigs(this.#config, config);
  }

  /** Applies the configuration, or changes nothing. Never rejects. */
  async to(config: Config, by: Actor): Promise<Reloaded> {
    return this.#noted(await this.#reloads.run(() => this.#reload(config, by)), by);
  }

  /** As `to`, with the current file. A file with mistakes changes nothing. @param read undefined where no file exists. */
  async again(read: ReadAgain | undefined, by: Actor): Promise<Reloaded> {
    if (!read) return this.#noted(this.#refuse(NO_FILE), by);
    const parsed = await read();
    if (parsed.kind === "config") return this.to(parsed.config, by);
    return this.#noted(this.#tell(parsed), by);
  }

  /** Refuses all later reloads. Resolves when the reload under way has ended. */
  async close(): Promise<void> {
    this.#isStopping = true;
    await this.#reloads.idle();
  }

  #noted(outcome: Reloaded, { who, from }: Actor): Reloaded {
    const at = isoText(this.#parts.clock.wallTime());
    const lines = linesOf(outcome).slice(0, MOST_LINES);
    const past = { at, who, from, outcome: outcome.kind, lines };
    this.#past = [past, ...this.#past].slice(0, MOST_PAST);
    return outcome;
  }

  async #reload(config: Config, by: Actor): Promise<Reloaded> {
    if (this.#isStopping) return this.#refuse(STOPPING);
    const { log, networks, apply, audit } = this.#parts;
    const { changes, needRestart } = compareConfigs(this.#config, config);
    if (needRestart.length > 0) return this.#tell({ kind: "mistakes", mistakes: needRestart });
    if (changes.length === 0) {
      log.info("configuration reloaded: nothing changed");
      return { kind: "reloaded", changed: [] };
    }
    let prepared: NetworksChange;
    try {
      prepared = await networks.prepare(config);
    } catch (error) {
      const why = error instanceof Error ? error.message : "the networks could not be made ready";
      return this.#refuse(why);
    }
    if (this.#isStopping) {
      await prepared.cancel();
      return this.#refuse(STOPPING);
    }
    const changed = changes.map(({ line }) => line);
    // The changes may include the log's level: they are logged before `apply` if the old level shows them, else after it.
    const isToldBefore = log.isLevelEnabled("info");
    if (isToldBefore) this.#tellChanges(changed);
    // One turn of the event loop changes everything, so no call sees a half-applied configuration.
    const committed = prepared.commit(config.timeouts.drainMs);
    apply(config);
    this.#config = config;
    await committed; // with several processes, the others commit the change too
    if (!isToldBefore) this.#tellChanges(changed);
    await audit.note(by, { what: "the configuration was reloaded", details: changed });
    return { kind: "reloaded", changed };
  }

  #tellChanges(changed: readonly string[]): void {
    const { log } = this.#parts;
    for (const change of changed) log.info({ change }, "configuration changed");
    log.info({ changes: changed.length }, "configuration reloaded");
  }

  /** Logs each mistake on a line of its own. */
  #tell(found: Extract<Reloaded, { kind: "mistakes" }>): Reloaded {
    const { log } = this.#parts;
    for (const mistake of found.mistakes) log.error({ mistake }, "configuration mistake");
    log.error({ mistakes: found.mistakes.length }, NOT_RELOADED);
    return found;
  }

  #refuse(why: string): Reloaded {
    this.#parts.log.warn({ why }, NOT_RELOADED);
    return { kind: "refused", why };
  }
}
