// Checks that every metric and label in the dashboard and the alerts exists, and that each alert's runbook is a section
// of the documentation.
import { existsSync, readFileSync } from "node:fs";
import type { SyntaxNode } from "@lezer/common";
import { parser } from "@prometheus-io/lezer-promql";
import { parse } from "yaml";
import { declaredMetrics } from "./declared-metrics.ts";

/** Prometheus's own metrics, with their labels. */
const OF_PROMETHEUS: Readonly<Record<string, readonly string[]>> = {
  up: [],
  // The labels of an alert are those that its expression leaves.
  ALERTS: ["alertname", "alertstate", "severity", "network"],
};
/** Labels that Prometheus adds to every metric. */
const OF_TARGETS = ["job", "instance"];

const labelsByMetric = new Map<string, readonly string[]>(Object.entries(OF_PROMETHEUS));
for (const { name, type, labelNames } of declaredMetrics()) {
  labelsByMetric.set(name, labelNames);
  if (type !== "histogram") continue;
  labelsByMetric.set(`${name}_bucket`, [...labelNames, "le"]);
  for (const part of ["sum", "count"]) labelsByMetric.set(`${name}_${part}`, labelNames);
}

const labelsOfMetric = (name: string): readonly string[] => [
  ...(labelsByMetric.get(name) ?? []),
  ...OF_TARGETS,
];

type Query = { readonly where: string; readonly text: string; readonly labels: readonly string[] };

/** The mistakes in a query, and in the labels that the texts show of its result. */
export function mistakesIn({ where, text, labels }: Query): string[] {
  const asked = text
    .replace(/\$__rate_interval/g, "5m")
    .replace(/\$__range/g, "1h")
    .replace(/\$price/g, "1");
  const top = parser.parse(asked).topNode;
  const said = (node: SyntaxNode): string => asked.slice(node.from, node.to);
  const mistakes = [...nodesIn(top)].flatMap((node) => {
    if (node.type.isError) return [`this is not PromQL: ${asked}`];
    if (node.name === "VectorSelector") return mistakesOfSelector(node, said);
    if (node.name !== "GroupingLabels") return [];
    const grouped = selectedIn(node.parent?.parent ?? top, said);
    return namesIn(node, said)
      .filter((label) => !grouped.includes(label))
      .map((label) => `no metric in it has the label ${label}: ${asked}`);
  });
  const left = labelsLeft(top, said);
  const shown = labels
    .filter((label) => !left.includes(label))
    .map((label) => `its result has no label ${label}: ${asked}`);
  return [...mistakes, ...shown].map((mistake) => `${where}: ${mistake}`);
}

type Said = (node: SyntaxNode) => string;

function* nodesIn(node: SyntaxNode): Generator<SyntaxNode> {
  yield node;
  for (let child = node.firstChild; child; child = child.nextSibling) yield* nodesIn(child);
}

const namesIn = (node: SyntaxNode, said: Said): string[] =>
  [...nodesIn(node)].filter(({ name }) => name === "LabelName").map(said);

const metricOf = (selector: SyntaxNode, said: Said): string => {
  const name = selector.getChild("Identifier");
  return name ? said(name) : "";
};

function mistakesOfSelector(selector: SyntaxNode, said: Said): string[] {
  const metric = metricOf(selector, said);
  if (!labelsByMetric.has(metric)) return [`there is no metric ${metric || said(selector)}`];
  const known = labelsOfMetric(metric);
  return namesIn(selector, said)
    .filter((label) => !known.includes(label))
    .map((label) => `${metric} has no label ${label}`);
}

/** The labels of all metrics in an expression. */
const selectedIn = (node: SyntaxNode, said: Said): string[] =>
  [...nodesIn(node)]
    .filter(({ name }) => name === "VectorSelector")
    .flatMap((selector) => labelsOfMetric(metricOf(selector, said)));

/** The labels that the result of an expression may have. */
function labelsLeft(node: SyntaxNode, said: Said): string[] {
  if (node.name === "VectorSelector") return selectedIn(node, said);
  const children: SyntaxNode[] = [];
  for (let child = node.firstChild; child; child = child.nextSibling) children.push(child);
  const modifier = node.getChild("AggregateModifier");
  if (node.name === "AggregateExpr" && modifier) return namesIn(modifier, said);
  const isTotal = node.name === "AggregateExpr" && !/^(topk|bottomk)/.test(said(node));
  return isTotal ? [] : children.flatMap((child) => labelsLeft(child, said));
}

const placeholders = (text: string, pattern: RegExp): string[] =>
  [...text.matchAll(pattern)].map(([, label = ""]) => label);

type Rule = {
  readonly alert: string;
  readonly expr: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
};

function mistakesInAlerts(file: string): string[] {
  const { groups } = parse(readFileSync(file, "utf8")) as { groups: { rules: Rule[] }[] };
  return groups
    .flatMap(({ rules }) => rules)
    .flatMap(({ alert, expr, labels, annotations }) => {
      const where = `${file}: ${alert}`;
      const shown = placeholders(Object.values(annotations).join(" "), /\$labels\.(\w+)/g);
      return [
        ...mistakesIn({ where, text: expr, labels: shown }),
        ...(/^(critical|warning)$/.test(labels["severity"] ?? "")
          ? []
          : [`${where}: the severity is missing or unknown`]),
        ...(annotations["summary"] ? [] : [`${where}: no summary`]),
        ...(isTold(annotations["runbook"] ?? "") ? [] : [`${where}: the runbook does not exist`]),
      ];
    });
}

/** Whether the runbook's section exists. @param runbook Such as `docs/production.md#headgatedown`. */
function isTold(runbook: string): boolean {
  const [file = "", anchor = ""] = runbook.split("#");
  if (!existsSync(file)) return false;
  const headings = readFileSync(file, "utf8").matchAll(/^#+ (.*)$/gm);
  const anchors = [...headings].map(([, title = ""]) =>
    title
      .toLowerCase()
      .replace(/[^\w -]/g, "")
      .replace(/ /g, "-"),
  );
  return anchors.includes(anchor);
}

type Target = { readonly expr: string; readonly legendFormat: string };
type Dashboard = {
  readonly panels: readonly { readonly title: string; readonly targets?: readonly Target[] }[];
  readonly annotations: {
    readonly list: readonly { readonly expr: string; readonly textFormat: string }[];
  };
  readonly templating: { readonly list: readonly { readonly definition?: string }[] };
};

const VALUES_OF = /^label_values\((.*), (\w+)\)$/s;
const NAMED = /\{\{\s*(\w+)\s*\}\}/g;

function mistakesInDashboard(file: string): string[] {
  const dashboard = JSON.parse(readFileSync(file, "utf8")) as Dashboard;
  const shown = dashboard.panels.flatMap(({ title, targets = [] }) =>
    targets.map(({ expr, legendFormat }) => ({
      where: `${file}: ${title}`,
      text: expr,
      labels: placeholders(legendFormat, NAMED),
    })),
  );
  const marks = dashboard.annotations.list.map(({ expr, textFormat }) => ({
    where: `${file}: annotations`,
    text: expr,
    labels: placeholders(textFormat, NAMED),
  }));
  const variables = dashboard.templating.list
    .flatMap(({ definition }) => (definition === undefined ? [] : [definition]))
    .map((definition) => {
      const [, text = definition, label = ""] = VALUES_OF.exec(definition) ?? [];
      return { where: `${file}: variables`, text, labels: [label] };
    });
  return [...shown, ...marks, ...variables].flatMap(mistakesIn);
}

if (import.meta.main) {
  const mistakes = [
    ...mistakesInAlerts("deploy/prometheus/alerts.yaml"),
    ...mistakesInDashboard("deploy/grafana/headgate.json"),
  ];
  for (const mistake of mistakes) console.error(mistake);
  if (mistakes.length > 0) process.exitCode = 1;
}
