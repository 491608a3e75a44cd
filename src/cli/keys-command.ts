// One command of `headgate keys`, and what it works with.
import type { KeyBook } from "../access/keys/key-book.ts";
import type { Config } from "../config/schema.ts";
import type { Clock } from "../lib/clock.ts";
import type { State } from "../state/state.ts";
import type { OptionValues } from "./keys-options.ts";

type KeysParts = {
  readonly book: KeyBook;
  readonly state: State;
  readonly config: Config;
  readonly clock: Pick<Clock, "wallTime" | "yield">;
  readonly print: (text: string) => void;
};

export type KeysCommand = {
  readonly summary: string;
  readonly takesName: "always" | "perhaps" | "never";
  /** By the names under which they are declared. */
  readonly options: readonly string[];
  run(
    asked: { readonly name: string; readonly values: OptionValues },
    parts: KeysParts,
  ): Promise<void>;
};
