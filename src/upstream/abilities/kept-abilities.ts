// Keeps what was learned of a node over restarts. It is no loss when it cannot: then it is learned again.
import { createHash } from "node:crypto";
import type { Clock } from "../../lib/clock.ts";
import type { State } from "../../state/state.ts";
import type { Abilities } from "./abilities.ts";
import { type AbilityRecord, decodeAbilities, encodeAbilities } from "./ability-record.ts";

export type KeptAbilitiesOptions = {
  readonly network: string;
  readonly upstream: string;
  /** A name may be given to another node: what is kept is of this one alone. */
  readonly url: string;
};

export type KeptAbilitiesParts = {
  readonly clock: Pick<Clock, "after">;
  readonly state: Pick<State, "get" | "update">;
  readonly abilities: Pick<Abilities, "onChange" | "toRecord" | "restore">;
};

/** A crash loses no more than what was learned in so long. */
const WRITTEN_EVERY_MS = 5_000;

export class KeptAbilities {
  #cancelWrite: (() => void) | undefined;
  #writing: Promise<void> = Promise.resolve();
  #isClosed = false;
  readonly #options: KeptAbilitiesOptions;
  readonly #parts: KeptAbilitiesParts;

  constructor(options: KeptAbilitiesOptions, parts: KeptAbilitiesParts) {
    this.#options = options;
    this.#parts = parts;
  }

  /** Takes up what is kept, and keeps what is learned from now on. */
  async start(): Promise<void> {
    const { state, abilities } = this.#parts;
    const record = await readAbilities(this.#options, state).catch(() => undefined);
    if (record) abilities.restore(record);
    abilities.onChange(() => this.#writeLater());
  }

  /** Writes what is not written yet. */
  async close(): Promise<void> {
    this.#isClosed = true;
    const isUnwritten = this.#cancelWrite !== undefined;
    this.#cancelWrite?.();
    await this.#writing;
    if (isUnwritten) await this.#write();
  }

  #writeLater(): void {
    if (this.#cancelWrite || this.#isClosed) return;
    this.#cancelWrite = this.#parts.clock.after(WRITTEN_EVERY_MS, () => {
      this.#cancelWrite = undefined;
      this.#writing = this.#writing.then(() => this.#write());
    });
  }

  /** Never rejects. */
  async #write(): Promise<void> {
    const { state, abilities } = this.#parts;
    const key = keyOf(this.#options);
    const next = `${nodeOf(this.#options)} ${encodeAbilities(abilities.toRecord())}`;
    try {
      // Others may write too, and the last one's word counts.
      await state.update([key], ([text]) => (text === next ? undefined : [next]));
    } catch {
      // A full disk is told of by those who cannot do without it.
    }
  }
}

/** What is kept of a node; undefined when there is nothing, or nothing that can be read. */
export async function readAbilities(
  options: KeptAbilitiesOptions,
  state: Pick<State, "get">,
): Promise<AbilityRecord | undefined> {
  const text = (await state.get(keyOf(options))) ?? "";
  const node = `${nodeOf(options)} `;
  return text.startsWith(node) ? decodeAbilities(text.slice(node.length)) : undefined;
}

const keyOf = ({ network, upstream }: KeptAbilitiesOptions): string =>
  `abilities ${network} ${upstream}`;

/** Not the URL itself, which may hold secrets. */
const nodeOf = ({ url }: KeptAbilitiesOptions): string =>
  createHash("sha256").update(url).digest("hex").slice(0, 16);
