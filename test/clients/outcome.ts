// A client's outcome as plain values for comparison: the answer, or the error without its URL.

export type Outcome = { readonly answer: unknown } | { readonly error: unknown };

export const outcomeOf = async (asked: Promise<unknown> | undefined): Promise<Outcome> => {
  try {
    return { answer: plain(await asked) };
  } catch (thrown) {
    return { error: plainError(thrown) };
  }
};

/** The members that programs read in errors of the three clients. */
const TELLING = ["name", "shortMessage", "details", "reason", "code", "data", "signature"] as const;

function plainError(thrown: unknown): unknown {
  if (!(thrown instanceof Error)) return plain(thrown);
  const fields = Object(thrown) as Readonly<Record<string, unknown>>;
  const told = TELLING.filter((name) => fields[name] !== undefined);
  return {
    ...Object.fromEntries(told.map((name) => [name, plain(fields[name])])),
    message: thrown.message.replace(/http:\S+/g, "<url>"),
    ...(thrown.cause ? { cause: plainError(thrown.cause) } : {}),
  };
}

/** A plain copy without ethers' provider, whose URL differs. */
function plain(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(plain);
  if (typeof value !== "object" || value === null) return value;
  const fields = Object.entries(value).filter(([name]) => name !== "provider");
  return Object.fromEntries(fields.map(([name, one]) => [name, plain(one)]));
}
