// The parts of the operators' API, joined: beside the networks in one process, or over several processes.
import type { Logger } from "pino";
import { configuredIn, KeyBook } from "../access/keys/key-book.ts";
import { GUESS_LIMITS, Guesses } from "../access/scope/guesses.ts";
import { type PriceList, priceList } from "../access/usage/usage-report.ts";
import type { AdminServerParts } from "../admin/admin-parts.ts";
import { AdminServer } from "../admin/admin-server.ts";
import type { Config } from "../config/schema.ts";
import type { Clock } from "../lib/clock.ts";
import type { State } from "../state/state.ts";

export type AdminParts = Pick<
  AdminServerParts,
  | "metrics"
  | "networks"
  | "whyNotReady"
  | "calls"
  | "incidents"
  | "drain"
  | "trials"
  | "reload"
  | "configuration"
  | "audit"
> & {
  readonly state: State;
  readonly clock: Clock;
  readonly log: Logger;
};

/** How many refusals of wrong tokens may wait: each one holds one of the few connections. */
const HELD = 20;

export class Admin {
  readonly #keys: KeyBook;
  readonly #admin: AdminServer;
  #prices: PriceList | undefined;
  readonly #log: Logger;

  constructor(config: Config, parts: AdminParts) {
    const { state, clock, log } = parts;
    this.#log = log;
    this.#keys = new KeyBook(
      { ...configuredIn(config), secret: config.keySecret },
      { state, clock },
    );
    this.#prices = pricesOf(config);
    const { listen, token, tokens } = config.admin;
    this.#admin = new AdminServer(
      { ...listen, token, tokens },
      {
        ...parts,
        keys: this.#keys,
        prices: () => this.#prices,
        guesses: new Guesses({ ...GUESS_LIMITS, held: HELD }),
      },
    );
  }

  /** @returns The port, also when the configuration leaves it open. */
  listen(): Promise<number> {
    void this.#warnWithoutKeys();
    return this.#admin.listen();
  }

  /** Reads the code that answers operators. Call it once callers are answered; an earlier request also has it read. */
  prepare(): void {
    void this.#admin.prepare();
  }

  async #warnWithoutKeys(): Promise<void> {
    // Whoever opens the state tells of one that cannot be reached.
    const keys = await this.#keys.list().catch(() => undefined);
    if (keys?.every(({ status }) => status !== "active"))
      this.#log.warn(
        "there are no keys: nobody is let in until one is made (headgate keys create)",
      );
  }

  reconfigure(config: Config): void {
    this.#keys.reconfigure(configuredIn(config));
    this.#prices = pricesOf(config);
    this.#admin.reconfigure(config.admin);
  }

  close(): Promise<void> {
    return this.#admin.close();
  }
}

const pricesOf = ({ prices }: Config): PriceList | undefined => prices && priceList(prices);
