// The lines that `headgate top` shows. Pure.
import { stripVTControlCharacters, styleText } from "node:util";
import type { LiveStatus } from "../admin/schemas.ts";
import { table } from "./table.ts";

export type TopOptions = {
  /** The gateway's admin URL. */
  readonly url: string;
  /** The width in characters; longer lines are cut. */
  readonly columns: number;
  readonly rows: number;
  readonly isColoured: boolean;
};

/** @param status undefined: the gateway cannot tell its status, and `problem` says why. */
export function topLines(
  status: LiveStatus | undefined,
  problem: string | undefined,
  { url, columns, rows, isColoured }: TopOptions,
): readonly string[] {
  const ill = (line: string): string =>
    isColoured ? styleText("red", line, { validateStream: false }) : line;
  const at = status ? status.at.slice("2026-11-23T".length, "2026-11-23T03:12:45".length) : "";
  const lines: Line[] = [{ text: `headgate top  ${url}${at && `  ${at} UTC`}` }];
  if (problem !== undefined) lines.push({ text: problem, isIll: true });
  if (status) lines.push(...networkLines(status), ...nodeLines(status), ...callLines(status));
  return lines.slice(0, rows).map(({ text, isIll }) => {
    const shown = printable(text).slice(0, columns);
    return isIll ? ill(shown) : shown;
  });
}

type Line = { readonly text: string; readonly isIll?: boolean };

/** Replaces control characters and marks for the direction of writing: a node's text could steer the terminal by them. */
const printable = (text: string): string =>
  stripVTControlCharacters(text).replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, "?");

const NETWORK_HEADER = [
  ...["NETWORK", "HEAD", "AGE", "CALLS/S", "STORE", "MERGED", "HERE", "NODES", "P50", "P99"],
  ...["FAILED/S", "REORGS"],
];

function networkLines({ networks }: LiveStatus): readonly Line[] {
  const rows = networks.map(({ network, head, headAgeSeconds, reorganisations, perSecond }) => {
    const { calls, store, merged, here, failed, medianMs, p99Ms } = perSecond;
    const nodes = Math.max(0, calls - store - merged - here);
    return [
      ...[network, numberText(head), secondsText(headAgeSeconds), rateText(calls)],
      ...[store, merged, here, nodes].map((part) => shareText(part, calls)),
      ...[msText(medianMs), msText(p99Ms), rateText(failed), String(reorganisations)],
    ];
  });
  const [header = "", ...texts] = table([NETWORK_HEADER, ...rows]).split("\n");
  const shown = networks.flatMap((network, at): Line[] => {
    const reasons = [...(network.isReady ? [] : [network.whyNotReady]), ...(network.notes ?? [])];
    const why = reasons.map((reason) => ({ text: `  ${reason}`, isIll: true }));
    return [{ text: texts[at] ?? "", isIll: needsALook(network) }, ...why];
  });
  return [{ text: "" }, { text: header }, ...shown];
}

const needsALook = ({ isReady, isStale, perSecond }: LiveStatus["networks"][number]): boolean =>
  !isReady || isStale || perSecond.failed > 0;

const NODE_HEADER = [
  ...["NODE", "HEAD", "LAG", "CALLS/S", "FAILED/S", "P95", "IN FLIGHT", "MONTH LEFT", "STATE"],
];

function nodeLines({ networks }: LiveStatus): readonly Line[] {
  const nodes = networks.flatMap(({ network, upstreams }) =>
    upstreams.map((upstream) => ({ network, upstream })),
  );
  const rows = nodes.map(({ network, upstream }) => [
    `${network} ${upstream.upstream}`,
    numberText(upstream.head),
    upstream.lagBlocks > 0 ? `${upstream.lagBlocks} (${secondsText(upstream.lagSeconds)})` : "0",
    rateText(upstream.callsPerSecond),
    rateText(upstream.failedPerSecond),
    msText(Math.max(0, ...upstream.groups.map(({ p95Ms = 0 }) => p95Ms)) || undefined),
    String(upstream.inFlight),
    numberText(upstream.budget.monthLeft),
    upstream.troubles.map(({ text }) => text).join(", ") || "well",
  ]);
  const [header = "", ...texts] = table([NODE_HEADER, ...rows]).split("\n");
  const shown = nodes.map(({ upstream: { troubles } }, at) => ({
    text: texts[at] ?? "",
    isIll: troubles.length > 0,
  }));
  return [{ text: "" }, { text: header }, ...shown];
}

/** The lines on slow and failed calls, newest first. */
function callLines({ calls }: LiveStatus): readonly Line[] {
  if (calls.length === 0) return [];
  const rows = calls.map(({ at, network, key, method, outcome, code, ms, asked }) => [
    at.slice("2026-11-23T".length, "2026-11-23T03:12:45".length),
    ...[network, key, method, code === undefined ? outcome : `${outcome} ${code}`, msText(ms)],
    asked.map(({ upstream, kind = "no answer" }) => `${upstream}: ${kind}`).join(", "),
  ]);
  const header = ["AT (UTC)", "NETWORK", "KEY", "METHOD", "OUTCOME", "TOOK", "ASKED"];
  const texts = table([header, ...rows]).split("\n");
  return [{ text: "" }, ...texts.map((text) => ({ text }))];
}

const numberText = (value: number | undefined): string =>
  value === undefined ? "-" : value.toLocaleString("en");
const rateText = (perSecond: number): string =>
  perSecond === 0 || perSecond >= 10
    ? Math.round(perSecond).toLocaleString("en")
    : perSecond.toFixed(1);
const shareText = (part: number, all: number): string =>
  all === 0 ? "-" : `${Math.round((part / all) * 100)} %`;
const msText = (ms: number | undefined): string =>
  ms === undefined ? "-" : `${ms < 10 ? ms.toFixed(1) : Math.round(ms).toLocaleString("en")} ms`;

function secondsText(seconds: number | undefined): string {
  if (seconds === undefined) return "-";
  if (seconds < 120) return `${Math.round(seconds)} s`;
  const minutes = Math.round(seconds / 60);
  return minutes < 120 ? `${minutes} min` : `${Math.round(minutes / 60)} h`;
}
