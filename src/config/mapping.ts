// What a YAML mapping is once it is a value, and how checks of a whole mapping are run.

export const isMapping = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** Runs a check also beside mistakes within: otherwise one mistake would hide the next. */
export const besideOtherMistakes = {
  when: ({ value }: { value: unknown }): boolean => isMapping(value),
};
