// Every node: its state, its problems, the lies that it was caught at; and the button that drains it.
import { useState } from "preact/hooks";
import type { DrainedAnswer } from "../../src/admin/schemas.ts";
import { Ask } from "../components/dialog.tsx";
import { Badge } from "../components/figure.tsx";
import { Screen } from "../components/screen.tsx";
import { Spark } from "../components/spark.tsx";
import { Empty, Loading } from "../components/states.tsx";
import { type Column, Table } from "../components/table.tsx";
import { useApp, useLive, useMay } from "../lib/app.ts";
import { capitalized, figureText, msText, notKept, secondsText, wholeText } from "../lib/format.ts";
import { hrefOf, useRoute } from "../lib/route.ts";
import { NodeDetails } from "./node-details.tsx";
import { isLastUsable } from "./node-words.ts";
import { type LiveNetwork, type LiveNode, seriesName } from "./overview-figures.ts";

export function Nodes() {
  const { status } = useLive();
  const { query } = useRoute();
  const only = query.get("network");
  const networks = status?.networks.filter(({ network }) => !only || network === only);
  return (
    <Screen
      title="Nodes"
      about="How each node does, what it was caught at, and sparing it."
      acts={only && <a href={hrefOf("nodes")}>All networks</a>}
    >
      {!status && <Loading what="nodes" />}
      {networks?.length === 0 && <Empty title="There is no such network" />}
      {networks?.map((network) => (
        <section key={network.network} class="card" aria-label={network.network}>
          <header>
            <h2>{network.network}</h2>
          </header>
          <NodeTable network={network} />
          {network.upstreams.map((node) => (
            <NodeDetails key={node.upstream} network={network} node={node} />
          ))}
        </section>
      ))}
    </Screen>
  );
}

function NodeTable({ network }: { network: LiveNetwork }) {
  const mayDrain = useMay("all");
  const acts: Column<LiveNode> = {
    title: "Drain",
    hint: "A drained node gets no calls while another one is usable. Its running calls end.",
    cell: (node) => <DrainButton {...{ network, node }} />,
  };
  return (
    <Table
      caption={`Nodes of ${network.network}`}
      columns={[...columnsOf(network), ...(mayDrain ? [acts] : [])]}
      rows={network.upstreams}
      keyOf={({ upstream }) => upstream}
      toneOf={(node) => (node.isUsable ? "plain" : "bad")}
    />
  );
}

const slowest = ({ groups }: LiveNode): number | undefined =>
  groups.reduce<number | undefined>(
    (most, { p95Ms }) => (p95Ms === undefined ? most : Math.max(most ?? 0, p95Ms)),
    undefined,
  );

const columnsOf = ({ network }: LiveNetwork): readonly Column<LiveNode>[] => [
  { title: "Node", cell: ({ upstream }) => <b>{upstream}</b> },
  {
    title: "State",
    hint: "What is the matter with it. What it was caught at is told below, with the evidence.",
    cell: ({ troubles }) => {
      if (troubles.length === 0) return <Badge tone="good">Well</Badge>;
      return (
        <span class="badges">
          {troubles.map(({ text, tone }) => (
            <Badge key={text} tone={tone}>
              {capitalized(text)}
            </Badge>
          ))}
        </span>
      );
    },
  },
  {
    title: "Head",
    hint: "The number of the newest block that this node told.",
    cell: ({ head }) => wholeText(head),
    isNumber: true,
  },
  {
    title: "Lag",
    hint: "How many blocks it is behind the best node, and for how long; the line: over the last half an hour.",
    cell: ({ upstream, lagBlocks, lagSeconds }) => (
      <span class="lag">
        <Spark series={seriesName(network, "lag", upstream)} title={`Lag of ${upstream}`} />
        {lagBlocks > 0 ? `${wholeText(lagBlocks)} (${secondsText(lagSeconds)})` : "0"}
      </span>
    ),
    isNumber: true,
  },
  {
    title: "Calls",
    hint: "Requests to this node for callers, a second, over the last ten seconds.",
    cell: ({ callsPerSecond }) => `${figureText(callsPerSecond)}/s`,
    isNumber: true,
  },
  {
    title: "Failed",
    hint: "Of these, those without a result or a refusal, a second.",
    cell: ({ failedPerSecond }) => (
      <span class={failedPerSecond > 0 ? "tone-bad" : undefined}>
        {figureText(failedPerSecond)}/s
      </span>
    ),
    isNumber: true,
  },
  {
    title: "p95",
    hint: "95 of 100 answers came within this time, of the slowest kind of work.",
    cell: (node) => msText(slowest(node)),
    isNumber: true,
  },
  {
    title: "In flight",
    hint: "Requests that the node has not answered yet.",
    cell: ({ inFlight }) => wholeText(inFlight),
    isNumber: true,
  },
];

type OneNode = { readonly network: LiveNetwork; readonly node: LiveNode };

/** The button to drain a node asks for confirmation; the button to undrain it does not. */
function DrainButton({ network, node }: OneNode) {
  const { api, notify } = useApp();
  const [isAsking, setAsking] = useState(false);
  const { upstream, isDrained } = node;
  const send = async (act: "drain" | "undrain"): Promise<void> => {
    const names = [network.network, upstream].map(encodeURIComponent);
    const done = await api.ask<DrainedAnswer>(
      "POST",
      `networks/${names[0]}/upstreams/${names[1]}/${act}`,
    );
    notify(`${upstream} is ${act === "drain" ? "drained" : "asked again"}${notKept(done)}`);
  };
  const undrain = (): void =>
    void send("undrain").catch((error: Error) => notify(error.message, "bad"));
  return (
    <>
      <button
        type="button"
        class="small"
        aria-label={`${isDrained ? "Undrain" : "Drain"} ${upstream} of ${network.network}`}
        onClick={() => (isDrained ? undrain() : setAsking(true))}
      >
        {isDrained ? "Undrain" : "Drain"}
      </button>
      {isAsking && (
        <Ask
          title={`Drain ${upstream}?`}
          act={`Drain ${upstream}`}
          isDangerous
          onAct={() => send("drain")}
          onClose={() => setAsking(false)}
        >
          <p>
            It gets no calls while another node of {network.network} is usable; its running calls
            end. Everybody who uses this gateway, or one that shares its state, is served by the
            others until somebody undrains it, also after a restart.
          </p>
          {isLastUsable(node, network.upstreams) && (
            <p class="tone-bad">
              No other node of {network.network} is usable: this one keeps getting the calls until
              one is.
            </p>
          )}
        </Ask>
      )}
    </>
  );
}
