// Keeps what was learned of a node over restarts. It is no loss when it cannot: then it is learned again.

import { createHash } from "node:crypto";
import type { Clock } from "../../lib/clock.ts";
import { Mutex } from "../../lib/mutex.ts";
import type { State } from "../../state/state.ts";
import type { Capabilities } from "./capabilities.ts";
import {
  type CapabilityRecord,
  decodeCapabilities,
  encodeCapabilities,
} from "./capability-record.ts";

export type KeptCapabilitiesOptions = {
  readonly network: string;
  readonly upstream: string;
  /** A name may be given to another node: what is kept is of this one alone. */
  readonly url: string;
};

export type KeptCapabilitiesParts = {
  readonly clock: Pick<Clock, "after">;
  readonly state: Pick<State, "get" | "update">;
  readonly capabilities: Pick<Capabilities, "onChange" | "toRecord" | "restore">;
};

/** A crash loses no more than what was learned in so long. */
const WRITTEN_EVERY_MS = 5_000;

export class KeptCapabilities {
  #cancelWrite: (() => void) | undefined;
  readonly #writing = new Mutex();
  #isClosed = false;
  readonly #options: KeptCapabilitiesOptions;
  readonly #parts: KeptCapabilitiesParts;

  constructor(options: KeptCapabilitiesOptions, parts: KeptCapabilitiesParts) {
    this.#options = options;
    this.#parts = parts;
  }

  /** Takes up what is kept, and keeps what is learned from now on. */
  async start(): Promise<void> {
    const { state, capabilities } = this.#parts;
    const record = await readCapabilities(this.#options, state).catch(() => undefined);
    if (record) capabilities.restore(record);
    capabilities.onChange(() => this.#writeLater());
  }

  /** Writes what is not written yet. */
  async close(): Promise<void> {
    this.#isClosed = true;
    const isUnwritten = this.#cancelWrite !== undefined;
    this.#cancelWrite?.();
    await this.#writing.idle();
    if (isUnwritten) await this.#write();
  }

  #writeLater(): void {
    if (this.#cancelWrite || this.#isClosed) return;
    this.#cancelWrite = this.#parts.clock.after(WRITTEN_EVERY_MS, () => {
      this.#cancelWrite = undefined;
      void this.#writing.run(() => this.#write());
    });
  }

  /** Never rejects. */
  async #write(): Promise<void> {
    const { state, capabilities } = this.#parts;
    const key = keyOf(this.#options);
    const next = `${nodeOf(this.#options)} ${encodeCapabilities(capabilities.toRecord())}`;
    try {
      // Others may write too, and the last one's word counts.
      await state.update([key], ([text]) => (text === next ? undefined : [next]));
    } catch {
      // A full disk is told of by those who cannot do without it.
    }
  }
}

/** What is kept of a node; undefined when there is nothing, or nothing that can be read. */
export async function readCapabilities(
  options: KeptCapabilitiesOptions,
  state: Pick<State, "get">,
): Promise<CapabilityRecord | undefined> {
  const text = (await state.get(keyOf(options))) ?? "";
  const node = `${nodeOf(options)} `;
  return text.startsWith(node) ? decodeCapabilities(text.slice(node.length)) : undefined;
}

const keyOf = ({ network, upstream }: KeptCapabilitiesOptions): string =>
  `abilities ${network} ${upstream}`;

/** Not the URL itself, which may hold secrets. */
const nodeOf = ({ url }: KeptCapabilitiesOptions): string =>
  createHash("sha256").update(url).digest("hex").slice(0, 16);
