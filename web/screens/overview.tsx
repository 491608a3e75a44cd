// Every network at a glance: its head, the node that leads, the latencies and errors of callers.
import { Chart } from "../components/chart.tsx";
import { Badge, Figures, type Tone } from "../components/figure.tsx";
import { Screen } from "../components/screen.tsx";
import { Empty, Loading } from "../components/states.tsx";
import { useApp, useLive } from "../lib/app.ts";
import { figureText, msText, NOTHING, secondsText, shareText, wholeText } from "../lib/format.ts";
import { hrefOf } from "../lib/route.ts";
import { type LiveNetwork, seriesName, sourcesOf } from "./overview-figures.ts";
import { Reorganisations } from "./reorganisations.tsx";

const perSecondText = (value: number | undefined): string => `${figureText(value)}/s`;

export function Overview() {
  const { status } = useLive();
  return (
    <Screen
      title="Overview"
      about="The head of every network, the sources of its answers, and its latencies and errors."
    >
      {!status && <Loading what="networks" />}
      {status?.networks.length === 0 && <Empty title="No networks are configured" />}
      {status?.networks.map((network) => (
        <NetworkCard key={network.network} network={network} />
      ))}
    </Screen>
  );
}

function NetworkCard({ network }: { network: LiveNetwork }) {
  const { network: name, family, chainId, isReady, isStale, whyNotReady, notes = [] } = network;
  const [tone, word]: [Tone, string] = !isReady
    ? ["bad", "Not ready"]
    : isStale
      ? ["warn", "Stale head"]
      : ["good", "Ready"];
  return (
    <section class="card" aria-label={name}>
      <header>
        <h2>{name}</h2>
        <Badge tone={tone}>{word}</Badge>
        <span class="quiet">
          {family}, chain {chainId}
        </span>
        <a href={hrefOf("nodes", { network: name })}>Nodes of {name}</a>
      </header>
      {whyNotReady && <p class="tone-bad">{whyNotReady}</p>}
      {notes.map((note) => (
        <p class="tone-warn" key={note}>
          {note}
        </p>
      ))}
      <Figures figures={figuresShown(network)} />
      <NetworkCharts network={network} />
      <Reorganisations network={network} />
    </section>
  );
}

function figuresShown({ head, headAgeSeconds, isStale, perSecond, ...network }: LiveNetwork) {
  const { calls, failed, refused, medianMs, p99Ms } = perSecond;
  const usable = network.upstreams.filter(
    ({ isUsable, isDrained }) => isUsable && !isDrained,
  ).length;
  return [
    {
      label: "Head",
      hint: "The number of the newest block, or epoch, of the chain that the gateway follows.",
      value: wholeText(head),
    },
    {
      label: "Head's age",
      hint: "The time since the timestamp of the newest block.",
      value: secondsText(headAgeSeconds),
      tone: isStale ? "warn" : "plain",
    },
    {
      label: "Led by",
      hint: "The node whose chain the gateway follows; other nodes confirm it.",
      value: network.leader ?? NOTHING,
    },
    {
      label: "Nodes",
      hint: "How many nodes are usable and not drained, of all that are configured.",
      value: `${usable} of ${network.upstreams.length}`,
      tone: usable === 0 ? "bad" : usable < network.upstreams.length ? "warn" : "plain",
    },
    {
      label: "Calls",
      hint: "Calls a second that were answered, with a result or an error, over the last ten seconds.",
      value: perSecondText(calls),
    },
    {
      label: "Failed",
      hint: "Calls a second that no node could answer, or that failed by an error of the gateway.",
      value: perSecondText(failed),
      tone: failed > 0 ? "bad" : "plain",
    },
    {
      label: "Refused",
      hint: "Calls a second that were answered with another error, such as invalid parameters, a limit, or a revert.",
      value: perSecondText(refused),
    },
    {
      label: "p50",
      hint: "Half of all calls were answered within this time.",
      value: msText(medianMs),
    },
    {
      label: "p99",
      hint: "99 of 100 calls were answered within this time.",
      value: msText(p99Ms),
    },
    {
      label: "Reorganisations",
      hint: "The number of reorganisations since the gateway started.",
      value: wholeText(network.reorganisations),
    },
  ] as const;
}

function NetworkCharts({ network }: { network: LiveNetwork }) {
  const { platform, history } = useApp();
  const now = Math.floor(platform.now() / 1_000);
  const read = (figure: string) => history.read(seriesName(network.network, figure), now);
  const { calls } = network.perSecond;
  const sources = sourcesOf(network);
  const { seconds } = read("store");
  return (
    <div class="charts">
      <Chart
        title="Calls a second, by source of the answer"
        hint="The last half hour. The areas add up to all calls."
        {...{ seconds, now }}
        isStacked
        textOf={(value) => figureText(value)}
        lines={SOURCES.map(({ figure, ...source }) => ({
          ...source,
          share: shareText(sources[figure], calls),
          values: read(figure).values,
        }))}
      />
      <Chart
        title="Duration of calls"
        hint="The time from the request to the answer, over the last half hour."
        {...{ seconds, now }}
        textOf={msText}
        lines={[
          { name: "p50", colour: 1, values: read("medianMs").values },
          { name: "p99", colour: 4, values: read("p99Ms").values },
        ]}
      />
      <Chart
        title="Errors a second"
        hint="The last half hour."
        {...{ seconds, now }}
        textOf={(value) => figureText(value)}
        lines={[
          { name: "failed", colour: 5, values: read("failed").values },
          { name: "refused", colour: 6, values: read("refused").values },
        ]}
      />
    </div>
  );
}

const SOURCES = [
  {
    figure: "store",
    name: "store",
    colour: 1,
    hint: "Calls that were answered from the gateway's store.",
  },
  { figure: "here", name: "gateway", colour: 2, hint: "Calls that the gateway answered itself." },
  {
    figure: "merged",
    name: "merged",
    colour: 3,
    hint: "Calls that shared the answer to an equal call.",
  },
  { figure: "nodes", name: "nodes", colour: 4, hint: "Calls for which a node was asked." },
] as const;
