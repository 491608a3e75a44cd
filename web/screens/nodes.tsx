// Every node: how it does, what is the matter with it, and what it was caught at.
import { Badge } from "../components/figure.tsx";
import { Screen } from "../components/screen.tsx";
import { Empty, Loading } from "../components/states.tsx";
import { type Column, Table } from "../components/table.tsx";
import { useLive } from "../lib/app.ts";
import { figureText, msText, secondsText, wholeText } from "../lib/format.ts";
import { useRoute } from "../lib/route.ts";
import { troublesOf } from "./node-troubles.ts";
import type { LiveNetwork, LiveNode } from "./overview-figures.ts";

export function Nodes() {
  const { status } = useLive();
  const { query } = useRoute();
  const only = query.get("network");
  const networks = status?.networks.filter(({ network }) => !only || network === only);
  return (
    <Screen title="Nodes" about="How each node does, and what it was caught at.">
      {!status && <Loading what="nodes" />}
      {networks?.length === 0 && <Empty title="There is no such network" />}
      {networks?.map((network) => (
        <section key={network.network} class="card" aria-label={network.network}>
          <header>
            <h2>{network.network}</h2>
          </header>
          <NodeTable network={network} />
        </section>
      ))}
    </Screen>
  );
}

const NodeTable = ({ network }: { network: LiveNetwork }) => (
  <Table
    caption={`Nodes of ${network.network}`}
    columns={COLUMNS}
    rows={network.upstreams}
    keyOf={({ upstream }) => upstream}
    toneOf={(node) => (node.isUsable ? "plain" : "bad")}
  />
);

const slowest = ({ groups }: LiveNode): number | undefined =>
  groups.reduce<number | undefined>(
    (most, { p95Ms }) => (p95Ms === undefined ? most : Math.max(most ?? 0, p95Ms)),
    undefined,
  );

const COLUMNS: readonly Column<LiveNode>[] = [
  { title: "Node", cell: ({ upstream }) => <b>{upstream}</b> },
  {
    title: "State",
    cell: (node) => {
      const troubles = troublesOf(node);
      if (troubles.length === 0) return <Badge tone="good">Well</Badge>;
      return troubles.map(({ text, tone }) => (
        <Badge key={text} tone={tone}>
          {text}
        </Badge>
      ));
    },
  },
  {
    title: "Head",
    hint: "The newest block that this node told.",
    cell: ({ head }) => wholeText(head),
    isNumber: true,
  },
  {
    title: "Lag",
    hint: "How many blocks it is behind the head of the network, and since when in seconds.",
    cell: ({ lagBlocks, lagSeconds }) =>
      lagBlocks > 0 ? `${wholeText(lagBlocks)} (${secondsText(lagSeconds)})` : "0",
    isNumber: true,
  },
  {
    title: "Calls/s",
    hint: "Requests to this node for callers, a second, over the last ten seconds.",
    cell: ({ callsPerSecond }) => figureText(callsPerSecond),
    isNumber: true,
  },
  {
    title: "Failed/s",
    hint: "Of these, those without a result or a refusal.",
    cell: ({ failedPerSecond }) => figureText(failedPerSecond),
    isNumber: true,
  },
  {
    title: "p95",
    hint: "95 of 100 answers came within this time, of the slowest kind of work.",
    cell: (node) => msText(slowest(node)),
    isNumber: true,
  },
];
