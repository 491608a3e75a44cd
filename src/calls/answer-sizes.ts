// How large answers are, by method: what is about to come is guessed from what came.

/** Of a method that nothing came of yet, in bytes, by what it costs. */
const GUESSES: readonly { readonly below: number; readonly bytes: number }[] = [
  { below: 4, bytes: 16_384 },
  { below: 10, bytes: 65_536 },
  { below: Number.POSITIVE_INFINITY, bytes: 262_144 },
];
const guessFor = (computeUnits: number): number =>
  GUESSES.find(({ below }) => computeUnits < below)?.bytes ?? 0;

/** Each answer moves the mean by so much of the difference. */
const WEIGHT = 1 / 8;
/** Callers may invent names where patterns are open: more are not remembered. */
const MOST_METHODS = 500;

export class AnswerSizes {
  readonly #meanByMethod = new Map<string, number>();

  /**
   * In bytes.
   *
   * @param computeUnits What a call of it costs: asked for only where nothing came yet.
   */
  expected(method: string, computeUnits: () => number): number {
    return this.#meanByMethod.get(method) ?? guessFor(computeUnits());
  }

  saw(method: string, bytes: number): void {
    const mean = this.#meanByMethod.get(method);
    if (mean !== undefined) this.#meanByMethod.set(method, mean + (bytes - mean) * WEIGHT);
    else if (this.#meanByMethod.size < MOST_METHODS) this.#meanByMethod.set(method, bytes);
  }
}
