// Lists of settings with names (keys, upstreams) compared by name, wherever they stand.

type Named = { readonly name: string };

/** `at`: the place in the list that it is in, and before that it was in. */
type ListChange = { readonly at: readonly number[]; readonly what: string };

/**
 * @param inside Tells the differences of two entries that are one; by the place of the newer.
 * @returns "plain" for a list of anything else.
 */
export function listChanges<Change>(
  before: readonly unknown[],
  after: readonly unknown[],
  inside: (at: number, before: unknown, after: unknown) => readonly Change[],
): "plain" | readonly (Change | ListChange)[] {
  if (!areNamed(before) || !areNamed(after)) return "plain";
  const partners = partnersOf(before, after);
  const kept = after.flatMap<Change | ListChange>((entry, at) => {
    const partner = partners.get(entry);
    return partner ? inside(at, partner, entry) : [{ at: [at], what: `added (${entry.name})` }];
  });
  const stay = new Set(partners.values());
  const removed = before.flatMap((entry, at) =>
    stay.has(entry) ? [] : [{ at: [at], what: `removed (${entry.name})` }],
  );
  const found: readonly (Change | ListChange)[] = [...removed, ...kept];
  return found.length === 0 && !isSameOrder(before, after)
    ? [{ at: [], what: "another order" }]
    : found;
}

/** By name; of those left, by place: a node is named after its URL, and may have another one now. */
function partnersOf(before: readonly Named[], after: readonly Named[]): Map<Named, Named> {
  const byName = new Map(before.map((entry) => [entry.name, entry]));
  const names = new Set(after.map(({ name }) => name));
  const partners = new Map<Named, Named>();
  after.forEach((entry, at) => {
    const inPlace = before[at];
    const partner =
      byName.get(entry.name) ?? (inPlace && !names.has(inPlace.name) ? inPlace : undefined);
    if (partner) partners.set(entry, partner);
  });
  return partners;
}

const isSameOrder = (before: readonly Named[], after: readonly Named[]): boolean =>
  after.every(({ name }, at) => before[at]?.name === name);

const areNamed = (list: readonly unknown[]): list is readonly Named[] =>
  list.every((entry) => typeof entry === "object" && entry !== null && "name" in entry);
