// How a process that nobody starts again is replaced by itself after an error that nobody expected.

import type { Environment } from "../config/environment.ts";
import type { Clock } from "../lib/clock.ts";
import type { UnexpectedKind } from "../observe/metrics.ts";
import { endProcess } from "../processes/end-process.ts";
import { type Replaced, replacedIn, replaceProcess } from "../processes/replace-process.ts";
import { whatNext } from "../processes/unexpected-errors.ts";
import type { Served } from "./start.ts";

export class Replacing {
  readonly #earlier: Replaced;
  /** All that there were, of processes before this one too. */
  #rejections: number;
  #exceptions: number;
  #next: "stay away" | "replace" | "fail" = "stay away";
  readonly #startedAt: number;
  readonly #environment: Environment;
  readonly #clock: Pick<Clock, "now">;

  constructor(environment: Environment, { clock }: { clock: Pick<Clock, "now"> }) {
    this.#environment = environment;
    this.#earlier = replacedIn(environment);
    this.#rejections = this.#earlier.rejections;
    this.#exceptions = this.#earlier.exceptions;
    this.#clock = clock;
    this.#startedAt = clock.now();
  }

  /** The count goes on where the process before left it. */
  tellOfEarlier(served: Pick<Served, "unexpected">): void {
    served.unexpected("rejection", this.#earlier.rejections);
    served.unexpected("exception", this.#earlier.exceptions);
  }

  /** Counts an error that nobody expected. @returns Whether this process is to end now. */
  count(kind: UnexpectedKind): boolean {
    if (kind === "rejection") this.#rejections += 1;
    else this.#exceptions += 1;
    const aliveMs = this.#clock.now() - this.#startedAt;
    const next = whatNext(kind, { aliveMs, wasReplaced: this.#earlier.isReplaced });
    if (next === "go on") return false;
    this.#next = next === "replace" ? "replace" : "fail";
    return true;
  }

  /** Somebody wants it to end. @returns Whether it was about to be replaced, and is not any more. */
  callOff(): boolean {
    const wasReplacing = this.#next === "replace";
    this.#next = "stay away";
    return wasReplacing;
  }

  /** All is closed. */
  end(code: number): never {
    if (this.#next === "fail") return endProcess(1);
    if (this.#next === "stay away") return endProcess(code);
    return replaceProcess(this.#environment, {
      rejections: this.#rejections,
      exceptions: this.#exceptions,
    });
  }
}
