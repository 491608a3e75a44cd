// Prints the results as Markdown, as docs/performance.md contains them.
import type { Aim, Case } from "./cases.ts";
import type { Measured } from "./measure.ts";
import type { OpenLoadSeen } from "./open-load.ts";

export type Row = {
  readonly case: Case;
  readonly y: Measured;
  readonly gateway: Measured;
  readonly members: number;
  readonly others: readonly { readonly name: string; readonly measured: Measured | undefined }[];
};

export function printCases(rows: readonly Row[]): void {
  const others = rows[0]?.others.map(({ name }) => ` ${name} µs |`).join("") ?? "";
  print(
    `| case | Y µs | gateway µs | gateway / Y | aim | node µs a member | requests/s | p99 ms |${others}`,
  );
  print(`|---|---:|---:|---:|---:|---:|---:|---:|${others.replace(/[^|]+/g, "---:")}`);
  for (const row of rows) print(`| ${cellsOf(row).join(" | ")} |`);
}

function cellsOf({ case: { name, aim }, y, gateway, members, others }: Row): string[] {
  const own = gateway.cpuMicros;
  return [
    name,
    micros(y.cpuMicros),
    micros(own),
    own && y.cpuMicros ? (own / y.cpuMicros).toFixed(2) : "–",
    aimText(aim),
    gateway.nodeMicros ? (gateway.nodeMicros / members).toFixed(1) : "–",
    gateway.perSecond.toFixed(0),
    gateway.p99Ms.toFixed(1),
    ...others.map(({ measured }) => micros(measured?.cpuMicros)),
  ];
}

export function printLatency(rows: readonly (readonly [name: string, seen: OpenLoadSeen])[]): void {
  print("");
  print(
    "| receipts at 500 a second, latency from the planned moment | p50 ms | p99 | p99.9 | most | sent late, p99 | p99.9 | failed |",
  );
  print("|---|---:|---:|---:|---:|---:|---:|---:|");
  for (const [name, seen] of rows) {
    const { p50Ms, p99Ms, p999Ms, maxMs, lateMs, late999Ms } = seen;
    const times = [p50Ms, p99Ms, p999Ms, maxMs, lateMs, late999Ms].map((ms) => ms.toFixed(1));
    print(`| ${name} | ${times.join(" | ")} | ${seen.failures} |`);
  }
}

const aimText = ({ timesY, beyondY, micros: most, nodeAMember }: Aim): string =>
  [
    timesY === undefined ? "" : `${timesY} Y`,
    beyondY === undefined ? "" : `Y + ${beyondY} µs`,
    most === undefined ? "" : `${most} µs`,
    nodeAMember === undefined ? "" : `node ${nodeAMember} µs`,
  ]
    .filter(Boolean)
    .join(", ");

const micros = (value: number | undefined): string => value?.toFixed(1) ?? "–";

const print = (line: string): void => void process.stdout.write(`${line}\n`);
