// What was done with one key: counted here with every call, told to its holder.

import {
  type DayRange,
  dayOf,
  HOUR_MS,
  hourOf,
  type ReadRange,
  readRange,
} from "../../lib/calendar.ts";
import type { Clock } from "../../lib/clock.ts";
import type { Addition, CounterTree } from "../../state/state.ts";

/** What was done with a key on a day, by network and method. */
export type UsageRow = Readonly<Counts> & {
  readonly day: string;
  readonly key: string;
  readonly network: string;
  readonly method: string;
};

export type CountedCall = {
  readonly network: string;
  /** Of a bounded set: the caller of a call may invent names. */
  readonly method: string;
  /** What was charged. */
  readonly computeUnits: number;
  /** Of the answer, before compression. */
  readonly bytes: number;
  readonly requestBytes: number;
  /** refused: turned away by the key's scope or limits. */
  readonly outcome: "ok" | "error" | "refused";
  /** Which of the key's settings refused it. */
  readonly refusedBy?: string | undefined;
  readonly saved: Saving | undefined;
  /** How often nodes were asked for it. */
  readonly upstreamCalls: number;
};

/** Why no node was asked for a call: stored, shared with an equal call in flight, or computed here. */
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

/** As methods that are on no list. */
const BESIDE_CALLS = "other";

/** Of one question by a key's holder. */
const MOST_DAYS = 92;

export class KeyUsage {
  readonly #name: string;
  readonly #parts: KeyUsageParts;
  #today: DayUsage | undefined;
  #hourBeganAtMs = 0;

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

  /** A request was turned away before a call in it was read. @param rule Others than a key's or its callers' are not counted. */
  recordRefusal(network: string, rule: string | undefined): void {
    if (rule === undefined || !(rule in REFUSED_AS)) return;
    countRefusal(this.#dayNow().countsOf(network, BESIDE_CALLS), rule);
  }

  /** What was charged beside calls: for the bytes of large requests. */
  recordUnits(network: string, computeUnits: number): void {
    this.#dayNow().countsOf(network, BESIDE_CALLS).computeUnits += computeUnits;
  }

  /** The days of a question, the current month where it names none. */
  range(wanted: {
    readonly from?: string | undefined;
    readonly to?: string | undefined;
  }): ReadRange {
    const wallTimeMs = this.#parts.clock.wallTime();
    return readRange(wanted, { wallTimeMs, mostDays: MOST_DAYS });
  }

  /** What was done with this key and no other, until now. @throws stateUnavailable. */
  read(range: DayRange): Promise<readonly UsageRow[]> {
    return this.#parts.read(this.#name, range);
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
  readonly read: (name: string, range: DayRange) => Promise<readonly UsageRow[]>;
};

/** What is counted. The order of the numbers in the text: new ones are appended, and missing ones are 0. */
export const FIELDS = [
  /** Answered with a result or an error, and charged. Refused ones are not among them. */
  "calls",
  "computeUnits",
  /** Of the answers, before compression. */
  "bytes",
  "requestBytes",
  /** Of the calls, those that were answered with an error. */
  "errors",
  /** Turned away by the key's scope or limits; they cost little. */
  "refused",
  "savedByStore",
  /** They shared the answer to an equal call. */
  "savedByMerging",
  /** Computed here, where a node would have been asked otherwise. */
  "savedHere",
  /** The compute units of all saved calls. */
  "savedComputeUnits",
  /** How often nodes were asked for these calls, refused ones included. */
  "upstreamCalls",
  /** Of the refused ones, by what refused them: methods that the key does not have, transactions of a key that only reads, … */
  "refusedMethods",
  "refusedWrites",
  "refusedContracts",
  "refusedRate",
  /** Of a day or a month. */
  "refusedQuota",
  /** Too many at once. */
  "refusedConcurrent",
  /** Before a call was read, from here on: of other networks, origins and addresses than the key's. */
  "refusedNetworks",
  "refusedOrigins",
  "refusedAddresses",
  /** Larger than the key may send. */
  "refusedBatches",
  /** Too many of them, or too many messages. */
  "refusedWebSockets",
  /** Unread, since so much before was refused. */
  "refusedAgain",
] as const;

/** Of one key's calls on one day, by network and method. */
export type Counts = Record<(typeof FIELDS)[number], number>;

function countRefusal(counts: Counts, rule: string | undefined): void {
  counts.refused += 1;
  const field = REFUSED_AS[rule ?? ""];
  if (field) counts[field] += 1;
}

/** By network, then by method. */
export type Totals = Map<string, Map<string, Counts>>;

export const noCounts = (): Counts =>
  Object.fromEntries(FIELDS.map((field) => [field, 0])) as Counts;

/** The counts of one network and method; made with the first call. */
function countsIn(totals: Totals, network: string, method: string): Counts {
  return totals.get(network)?.get(method) ?? begin(totals, network, method);
}

function begin(totals: Totals, network: string, method: string): Counts {
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

/** `{"<network>":{"<method>":[…]}}`, as the state adds it up. */
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

/** Whose counts of which day. Each member has entries of its own, so that each entry has one writer. */
export type UsageOf = { readonly day: string; readonly key: string; readonly member: string };

/** Under which key its counters by network and method are in the state. */
export const usageEntryKey = ({ day, key, member }: UsageOf): string =>
  `usage ${day} ${key} ${member}`;

/** How all entries of a key's counters by hour begin: a member's name follows. */
export const hoursPrefix = ({ day, key }: Omit<UsageOf, "member">): string =>
  `usage hours ${day} ${key} `;

/** In counters by hour: in the place of a network, with hours in that of methods. */
export const ALL_NETWORKS = "all";

/** One key's counts of one day that were not sent to the state yet. */
export class DayUsage {
  readonly #of: UsageOf;
  /** Of the hour that runs. */
  #counted: Totals = new Map();
  #hour = "";
  /** What was counted before, by network and method, and the same by hour. */
  #unsent: Totals = new Map();
  #hours: Totals = new Map();
  #hoursSentAtMs = Number.NEGATIVE_INFINITY;
  /** false once it was sent and put away: another one is opened for calls that still come. */
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

  /** What is counted from now on is of this hour. */
  beginHour(hour: string): void {
    this.#endHour();
    this.#hour = hour;
  }

  /** To be counted up by whoever asks for it, at once. */
  countsOf(network: string, method: string): Counts {
    return countsIn(this.#counted, network, method);
  }

  /** Takes out what was counted since the last time: by hour less often, or all that is left. */
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
  }
}

type TakingOut = {
  readonly nowMs: number;
  /** Nothing is taken out after it. */
  readonly isLast: boolean;
};

/** Each time the state adds to a day's hours it reads and writes all 24. */
const HOURS_EVERY_MS = 10_000;
