// Prints what was measured, as Markdown: docs/performance.md takes it as it is.
import { ratios } from "./cases.ts";
import type { Measured } from "./measure.ts";

/** A process that takes this much of a core is taken to have no more to give. */
const BUSY = 0.9;

export function printFigures(figures: ReadonlyMap<string, Measured>): void {
  print("| case | requests/s | p50 ms | p99 ms | CPU µs a request | core: server | core: load |");
  print("|---|---:|---:|---:|---:|---:|---:|");
  for (const [name, figure] of figures) print(figureRow(name, figure));
  print("");
  print("| ratio | by requests/s | by CPU | aim |");
  print("|---|---:|---:|---:|");
  for (const { name, gateway, yardstick, aim } of ratios) {
    const one = figures.get(gateway);
    const other = figures.get(yardstick);
    if (!one || !other) continue;
    const byRequests = (one.perSecond / other.perSecond).toFixed(2);
    print(`| ${name} | ${byRequests} | ${ratioByCpu(one, other)} | ${aim?.toFixed(2) ?? ""} |`);
  }
  tell("The load was the limit, not the server", [...figures].filter(isLoadTheLimit));
  tell("Neither server nor load got a whole core", [...figures].filter(isMachineTheLimit));
}

/** What requests a second cannot tell, CPU time can. */
function tell(what: string, rows: readonly Row[]): void {
  if (rows.length === 0) return;
  const names = rows.map(([name]) => name).join("; ");
  print("");
  print(`${what}: ${names}. Read the ratio by CPU.`);
}

type Row = readonly [name: string, figure: Measured];

function figureRow(name: string, figure: Measured): string {
  const { perSecond, p50Ms, p99Ms, cpuMicros, loadShare } = figure;
  const cells = [
    name,
    perSecond.toFixed(0),
    p50Ms.toFixed(1),
    p99Ms.toFixed(1),
    cpuMicros?.toFixed(1) ?? "–",
    percent(serverShare(figure)),
    percent(loadShare),
  ];
  return `| ${cells.join(" | ")} |`;
}

/** CPU time counts inversely: half the time is a ratio of 2. */
const ratioByCpu = (one: Measured, other: Measured): string =>
  one.cpuMicros && other.cpuMicros ? (other.cpuMicros / one.cpuMicros).toFixed(2) : "–";

const serverShare = ({ cpuMicros, perSecond }: Measured): number | undefined =>
  cpuMicros === undefined ? undefined : (cpuMicros * perSecond) / 1e6;

const isBusy = (figure: Measured): boolean => (serverShare(figure) ?? 1) >= BUSY;

const isLoadTheLimit = ([, figure]: Row): boolean => figure.loadShare >= BUSY && !isBusy(figure);

/** A proxy also waits for its upstream; beyond that, others have used this machine. */
const isMachineTheLimit = ([, figure]: Row): boolean => figure.loadShare < BUSY && !isBusy(figure);

const percent = (share: number | undefined): string =>
  share === undefined ? "–" : `${Math.round(share * 100)} %`;

const print = (line: string): void => void process.stdout.write(`${line}\n`);
