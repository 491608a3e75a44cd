// The usage of one key: each call is counted here, and the key's holder can read the counts.

import {
  type DayRange,
  dayOf,
  HOUR_MS,
  hourOf,
  type ReadRange,
  readRange,
} from "../../lib/calendar.ts";
import type { Clock } from "../../lib/clock.ts";
import { Mutex } from "../../lib/mutex.ts";
import type { Addition, CounterTree } from "../../state/state.ts";

/** The usage of a key on one day, on one network, with one method. */
export type UsageRow = Readonly<Counts> & {
  readonly day: string;
  readonly key: string;
  readonly network: string;
  readonly method: string;
};

export type CountedCall = {
  readonly network: string;
  /** A name from a bounded set, since callers may invent names of methods. */
  readonly method: string;
  /** The compute units that were charged. */
  readonly computeUnits: number;
  /** The size of the response before compression. */
  readonly bytes: number;
  readonly requestBytes: number;
  /** `refused`: the key's scope or limits refused the call. */
  readonly outcome: "ok" | "error" | "refused";
  /** The key's setting that refused the call. */
  readonly refusedBy?: string | undefined;
  readonly saved: Saving | undefined;
  /** How many calls to upstreams this call took. */
  readonly upstreamCalls: number;
};

/** The reason why no upstream was asked: the result is stored, shared with an equal call in flight, or computed here. */
export type Saving = "store" | "merging" | "here";

const COUNTED_AS = {
  store: "savedByStore",
  merging: "savedByMerging",
  here: "savedHere",
} as const satisfies Record<Saving, keyof Counts>;

const REFUSED_AS: Readonly<Record<string, keyof Counts>> = {
  methods: "refusedMethods",
  readOnly: "refusedWrites",
  contracts: "refusedContracts",
  rate: "refusedRate",
  day: "refusedQuota",
  month: "refusedQuota",
  concurrent: "refusedConcurrent",
  networks: "refusedNetworks",
  origins: "refusedOrigins",
  addresses: "refusedAddresses",
  batch: "refusedBatches",
  webSockets: "refusedWebSockets",
  messages: "refusedWebSockets",
  refusals: "refusedAgain",
};

/** Stands in the place of a method for charges and refusals without a call; unknown methods have the same name. */
const BESIDE_CALLS = "other";

/** How many days one report for a key's holder may cover. */
const MOST_DAYS = 92;

export class KeyUsage {
  readonly #name: string;
  readonly #parts: KeyUsageParts;
  #today: DayUsage | undefined;
  #hourBeganAtMs = 0;
  readonly #reading = new Mutex();

  constructor(name: string, parts: KeyUsageParts) {
    this.#name = name;
    this.#parts = parts;
  }

  record(call: CountedCall): void {
    const counts = this.#dayNow().countsOf(call.network, call.method);
    const { computeUnits, outcome, saved } = call;
    counts.bytes += call.bytes;
    counts.requestBytes += call.requestBytes;
    counts.computeUnits += computeUnits;
    counts.upstreamCalls += call.upstreamCalls;
    if (outcome === "refused") {
      countRefusal(counts, call.refusedBy);
      return;
    }
    counts.calls += 1;
    if (outcome === "error") counts.errors += 1;
    if (saved === undefined) return;
    counts[COUNTED_AS[saved]] += 1;
    counts.savedComputeUnits += computeUnits;
  }

  /**
   * To be called when a request was refused before a call in it was read.
   * @param rule The rule that refused it; other reasons than those in `REFUSED_AS` are not counted.
   */
  recordRefusal(network: string, rule: string | undefined): void {
    if (rule === undefined || !(rule in REFUSED_AS)) return;
    countRefusal(this.#dayNow().countsOf(network, BESIDE_CALLS), rule);
  }

  /** Counts compute units that belong to no call: those for the bytes of large requests. */
  recordUnits(network: string, computeUnits: number): void {
    this.#dayNow().countsOf(network, BESIDE_CALLS).computeUnits += computeUnits;
  }

  /** Reads a range of days; the default is the current month until today. */
  range(wanted: {
    readonly from?: string | undefined;
    readonly to?: string | undefined;
  }): ReadRange {
    const wallTimeMs = this.#parts.clock.wallTime();
    return readRange(wanted, { wallTimeMs, mostDays: MOST_DAYS });
  }

  /**
   * The usage of this key until now, a few rows at a time. One reader reads; further ones wait until it has ended.
   * @throws stateUnavailable
   */
  async *rows(range: DayRange): AsyncGenerator<readonly UsageRow[], void, undefined> {
    const leave = await this.#reading.enter();
    try {
      yield* this.#parts.read(this.#name, range);
    } finally {
      leave();
    }
  }

  #dayNow(): DayUsage {
    const nowMs = this.#parts.clock.wallTime();
    const sinceHourMs = nowMs - this.#hourBeganAtMs;
    if (this.#today?.isOpen && sinceHourMs >= 0 && sinceHourMs < HOUR_MS) return this.#today;
    this.#hourBeganAtMs = nowMs - (nowMs % HOUR_MS);
    this.#today = this.#parts.open(dayOf(nowMs), this.#name);
    this.#today.beginHour(hourOf(nowMs));
    return this.#today;
  }
}

export type KeyUsageParts = {
  readonly clock: Pick<Clock, "wallTime">;
  readonly open: (day: string, name: string) => DayUsage;
  readonly read: (
    name: string,
    range: DayRange,
  ) => AsyncGenerator<readonly UsageRow[], void, undefined>;
};

/**
 * The counted numbers, each with its description in the document of the admin API. The texts in the state have them in
 * this order: new numbers are appended, and missing numbers are 0.
 */
export const COUNTS = {
  calls: "Calls that were answered with a result or an error, and charged.",
  computeUnits: "Compute units charged for all calls.",
  bytes: "Bytes of the answers, before compression.",
  requestBytes: "Bytes of the calls.",
  errors: "Calls that were answered with an error.",
  refused: "Calls refused by the key's scope or limits; they cost little.",
  savedByStore: "Calls answered from the store.",
  savedByMerging: "Calls that got the answer to an equal call.",
  savedHere:
    "Calls that the gateway computed itself, where a node would have been asked otherwise.",
  savedComputeUnits: "Compute units of all saved calls.",
  upstreamCalls: "Calls made to nodes for these calls, the refused ones included.",
  refusedMethods: "Calls refused because the key does not have the method.",
  refusedWrites: "Calls refused because the key only reads.",
  refusedContracts: "Calls refused because the key is bound to other contracts.",
  refusedRate: "Calls refused because the key's rate was used up.",
  refusedQuota: "Calls refused because the key's quota of a day or a month was used up.",
  refusedConcurrent: "Calls refused because too many calls of the key ran at once.",
  refusedNetworks: "Whole requests refused because the key does not have the network.",
  refusedOrigins:
    "Whole requests refused because they came from an origin that the key does not have.",
  refusedAddresses:
    "Whole requests refused because they came from an address that the key does not have.",
  refusedBatches: "Whole requests refused because the batch was larger than the key may send.",
  refusedWebSockets:
    "WebSockets, event streams, and messages over them, refused because there were too many.",
  refusedAgain: "Whole requests refused unread, because too many had been refused before.",
} as const;

export const FIELDS = Object.keys(COUNTS) as readonly (keyof typeof COUNTS)[];

/** The numbers of one key on one day, for one network and method. */
export type Counts = Record<keyof typeof COUNTS, number>;

function countRefusal(counts: Counts, rule: string | undefined): void {
  counts.refused += 1;
  const field = REFUSED_AS[rule ?? ""];
  if (field) counts[field] += 1;
}

/** Counts by network, then by method. */
export type Totals = Map<string, Map<string, Counts>>;

export const noCounts = (): Counts =>
  Object.fromEntries(FIELDS.map((field) => [field, 0])) as Counts;

/** The counts of one network and method, which the first access creates. */
function countsIn(totals: Totals, network: string, method: string): Counts {
  const present = totals.get(network)?.get(method);
  if (present) return present;
  const methods = totals.get(network) ?? new Map<string, Counts>();
  const counts = noCounts();
  methods.set(method, counts);
  totals.set(network, methods);
  return counts;
}

export function addTotals(totals: Totals, other: Totals): void {
  for (const [network, methods] of other)
    for (const [method, counts] of methods) addCounts(countsIn(totals, network, method), counts);
}

export function addCounts(counts: Counts, other: Counts): void {
  for (const field of FIELDS) counts[field] += other[field];
}

/** The counts as `{"<network>":{"<method>":[…]}}`, the form in which the state adds counters up. */
const treeOf = (totals: Totals): CounterTree =>
  Object.fromEntries(
    [...totals].map(([network, methods]) => [
      network,
      Object.fromEntries(
        [...methods].map(([method, counts]) => [method, FIELDS.map((field) => counts[field])]),
      ),
    ]),
  );

export function totalsOfText(text: string): Totals {
  const totals: Totals = new Map();
  const parsed: Readonly<Record<string, Readonly<Record<string, readonly number[]>>>> =
    JSON.parse(text);
  for (const [network, methods] of Object.entries(parsed))
    for (const [method, numbers] of Object.entries(methods)) {
      const counts = countsIn(totals, network, method);
      for (const [index, field] of FIELDS.entries()) counts[field] = numbers[index] ?? 0;
    }
  return totals;
}

/** The day, key and member of an entry. Each member has its own entries, so each entry has one writer. */
export type UsageOf = { readonly day: string; readonly key: string; readonly member: string };

/** The state's key for the counters by network and method. */
export const usageEntryKey = ({ day, key, member }: UsageOf): string =>
  `usage ${day} ${key} ${member}`;

/** The prefix of the state's keys for the counters by hour; a member's id follows. */
export const hoursPrefix = ({ day, key }: Omit<UsageOf, "member">): string =>
  `usage hours ${day} ${key} `;

/** Stands in the place of the network in the counters by hour, where hours stand in the place of methods. */
export const ALL_NETWORKS = "all";

/** The counts of one key on one day that were not sent to the state yet. */
export class DayUsage {
  readonly #of: UsageOf;
  /** The counts of the running hour. */
  #counted: Totals = new Map();
  /** The counts that `countsOf` returned last: the next call often has the same network and method. */
  #last: { readonly network: string; readonly method: string; readonly counts: Counts } | undefined;
  #hour = "";
  /** The counts of ended hours that were not sent yet: here by network and method, in `#hours` by hour. */
  #unsent: Totals = new Map();
  #hours: Totals = new Map();
  #hoursSentAtMs = Number.NEGATIVE_INFINITY;
  /** false once the usage book has dropped this object: later calls are counted in a new one. */
  isOpen = true;

  constructor(of: UsageOf) {
    this.#of = of;
  }

  get day(): string {
    return this.#of.day;
  }

  get isEmpty(): boolean {
    return this.#counted.size === 0 && this.#unsent.size === 0 && this.#hours.size === 0;
  }

  /** To be called when an hour begins: later calls are counted for that hour. */
  beginHour(hour: string): void {
    this.#endHour();
    this.#hour = hour;
  }

  /** The counts of a network and method. The caller raises them at once: `takeOut` and `beginHour` end their use. */
  countsOf(network: string, method: string): Counts {
    if (this.#last?.network !== network || this.#last.method !== method)
      this.#last = { network, method, counts: countsIn(this.#counted, network, method) };
    return this.#last.counts;
  }

  /** Removes and returns the counts since the last call; counts by hour less often, except with `isLast`. */
  takeOut({ nowMs, isLast }: TakingOut): readonly Addition[] {
    this.#endHour();
    const additions: Addition[] = [];
    if (this.#unsent.size > 0) {
      additions.push({ key: usageEntryKey(this.#of), counts: treeOf(this.#unsent) });
      this.#unsent = new Map();
    }
    const isTimeForHours = isLast || nowMs - this.#hoursSentAtMs >= HOURS_EVERY_MS;
    if (this.#hours.size > 0 && isTimeForHours) {
      const key = `${hoursPrefix(this.#of)}${this.#of.member}`;
      additions.push({ key, counts: treeOf(this.#hours) });
      this.#hours = new Map();
      this.#hoursSentAtMs = nowMs;
    }
    return additions;
  }

  #endHour(): void {
    addTotals(this.#unsent, this.#counted);
    for (const methods of this.#counted.values())
      for (const counts of methods.values())
        addCounts(countsIn(this.#hours, ALL_NETWORKS, this.#hour), counts);
    this.#counted = new Map();
    this.#last = undefined;
  }
}

type TakingOut = {
  readonly nowMs: number;
  /** Whether this is the last call of `takeOut`. */
  readonly isLast: boolean;
};

/** How often `takeOut` returns counts by hour: for each addition, the state reads and writes all 24 hours of a day. */
const HOURS_EVERY_MS = 10_000;
