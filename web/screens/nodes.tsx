// Every node: its state, its problems, the lies that it was caught at; and the button that drains it.
import { useState } from "preact/hooks";
import type { DrainedAnswer } from "../../src/admin/schemas.ts";
import { ConfirmDialog } from "../components/dialog.tsx";
import { Badge } from "../components/figure.tsx";
import { Screen } from "../components/screen.tsx";
import { Spark } from "../components/spark.tsx";
import { Empty, Loading } from "../components/states.tsx";
import { type Column, Table } from "../components/table.tsx";
import { useApp, useLive, useMay } from "../lib/app.ts";
import {
  capitalized,
  figureText,
  msText,
  notStoredWarning,
  secondsText,
  wholeText,
} from "../lib/format.ts";
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
      about="The health of each node and its false answers; nodes can be drained here."
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
    hint: "A drained node gets no calls while another node is usable. Its running calls are completed.",
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
    hint: "The node's problems. False answers are listed below, with the evidence.",
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
    hint: "The number of the newest block that the node reported.",
    cell: ({ head }) => wholeText(head),
    isNumber: true,
  },
  {
    title: "Lag",
    hint: "How many blocks the node is behind the best node, and for how long. The line shows the last half hour.",
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
    hint: "Requests a second that this node got for callers, over the last ten seconds.",
    cell: ({ callsPerSecond }) => `${figureText(callsPerSecond)}/s`,
    isNumber: true,
  },
  {
    title: "Failed",
    hint: "Of these requests, those a second that ended without a result or a refusal.",
    cell: ({ failedPerSecond }) => (
      <span class={failedPerSecond > 0 ? "tone-bad" : undefined}>
        {figureText(failedPerSecond)}/s
      </span>
    ),
    isNumber: true,
  },
  {
    title: "p95",
    hint: "95 of 100 answers came within this time, for the slowest kind of work.",
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
    notify(
      `${upstream} is ${act === "drain" ? "drained" : "asked again"}${notStoredWarning(done)}`,
    );
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
        <ConfirmDialog
          title={`Drain ${upstream}?`}
          act={`Drain ${upstream}`}
          isDangerous
          onAct={() => send("drain")}
          onClose={() => setAsking(false)}
        >
          <p>
            The node gets no calls while another node of {network.network} is usable; its running
            calls are completed. This holds for this gateway and all that share its state, also
            after a restart, until somebody undrains the node.
          </p>
          {isLastUsable(node, network.upstreams) && (
            <p class="tone-bad">
              No other node of {network.network} is usable: this node keeps getting the calls until
              another one is.
            </p>
          )}
        </ConfirmDialog>
      )}
    </>
  );
}
