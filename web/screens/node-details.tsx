// More about a node: health by kind of work, budget, capabilities, and the evidence of its lies.
import { Badge, Figures } from "../components/figure.tsx";
import { type Column, Table } from "../components/table.tsx";
import { useApp } from "../lib/app.ts";
import { figureText, msText, shareText, timeText, wholeText } from "../lib/format.ts";
import { reachTexts } from "./node-words.ts";
import type { LiveNetwork, LiveNode } from "./overview-figures.ts";

type Group = LiveNode["groups"][number];
type Evidence = LiveNetwork["evidence"][number];

export function NodeDetails({ network, node }: { network: LiveNetwork; node: LiveNode }) {
  const { upstream } = node;
  const evidence = network.evidence.filter((each) => each.upstream === upstream);
  return (
    <details class="node">
      <summary>
        {upstream}: health, budget, capabilities
        {evidence.length > 0 && <Badge tone="bad">{`evidence: ${evidence.length}`}</Badge>}
      </summary>
      <div class="node-parts">
        <section>
          <h3>Health by kind of work</h3>
          {node.groups.length === 0 ? (
            <p class="quiet">The gateway asked the node for nothing recently.</p>
          ) : (
            <Table
              caption={`Health of ${upstream}`}
              columns={GROUP_COLUMNS}
              rows={node.groups}
              keyOf={({ group }) => group}
              toneOf={({ breaker }) => TONES[breaker]}
            />
          )}
        </section>
        <section>
          <h3>Budget and capabilities</h3>
          <Figures figures={budgetOf(node)} />
          <Abilities node={node} />
        </section>
      </div>
      {evidence.length > 0 && (
        <section>
          <h3>False and differing answers</h3>
          <EvidenceTable evidence={evidence} upstream={upstream} />
        </section>
      )}
    </details>
  );
}

const TONES = { open: "bad", "half-open": "warn", closed: "plain" } as const;
const BREAKERS = { open: "open", "half-open": "half-open", closed: "closed" } as const;

const GROUP_COLUMNS: readonly Column<Group>[] = [
  { title: "Work", cell: ({ group }) => group },
  {
    title: "Breaker",
    hint: "The circuit breaker. Closed: the gateway asks the node. Open: it does not, since the node failed too often. Half-open: it tries the node with one call at a time.",
    cell: ({ breaker }) => BREAKERS[breaker],
  },
  {
    title: "Errors",
    hint: "The share of recent calls that failed.",
    cell: ({ errorRate }) => shareText(errorRate, 1),
    isNumber: true,
  },
  {
    title: "Median",
    hint: "Half of the recent answers came within this time.",
    cell: ({ medianMs }) => msText(medianMs),
    isNumber: true,
  },
  {
    title: "p95",
    hint: "95 of 100 recent answers came within this time.",
    cell: ({ p95Ms }) => msText(p95Ms),
    isNumber: true,
  },
];

const budgetOf = ({ budget }: LiveNode) => [
  {
    label: "Rate",
    hint: "The calls or credits a second that the gateway may send to the node, configured or learned.",
    value: budget.perSecond === undefined ? "unlimited" : `${figureText(budget.perSecond)}/s`,
  },
  {
    label: "Used this month",
    hint: "Calls or credits that were used in this calendar month, where the gateway counts them.",
    value: wholeText(budget.monthUsed),
  },
  {
    label: "Left this month",
    hint: "Calls or credits that are left in this calendar month, where there is a budget.",
    value: wholeText(budget.monthLeft),
    tone: budget.monthLeft === 0 ? ("bad" as const) : ("plain" as const),
  },
];

function Abilities({ node }: { node: LiveNode }) {
  const { platform } = useApp();
  const { lackedMethods, lacked = [], drained } = node;
  const reaches = reachTexts(node);
  return (
    <ul class="capabilities">
      {drained && (
        <li>
          The node was drained by {drained.who}, {timeText(drained.at, platform.now())}.
        </li>
      )}
      {reaches.length > 0 && <li>Available data: {reaches.join("; ")}.</li>}
      {lackedMethods === 0 && <li>The node is not known to lack any method.</li>}
      {lackedMethods > 0 && (
        <li>
          The node lacks {lackedMethods} {lackedMethods === 1 ? "method" : "methods"}:{" "}
          {lacked.map((name) => (
            <code key={name}>{name} </code>
          ))}
          {lackedMethods > lacked.length && "…"}
        </li>
      )}
    </ul>
  );
}

function EvidenceTable({
  evidence,
  upstream,
}: {
  evidence: readonly Evidence[];
  upstream: string;
}) {
  const { platform } = useApp();
  const columns: readonly Column<Evidence>[] = [
    {
      title: "When",
      cell: ({ at }) => <time dateTime={at}>{timeText(at, platform.now())}</time>,
    },
    { title: "Kind", cell: ({ kind }) => kind },
    {
      title: "About",
      hint: "The method that was called, or the block and the part of it.",
      cell: ({ about }) => <code>{about}</code>,
    },
    {
      title: "Answer",
      hint: "The beginning of the node's answer, where the gateway kept it.",
      cell: ({ said }) => (said === undefined ? "–" : <code>{said}</code>),
    },
    {
      title: "Evidence",
      hint: "The reason why the answer is false, or the answer of the other nodes.",
      cell: ({ found }) => <code>{found}</code>,
    },
  ];
  return (
    <Table
      caption={`False and differing answers of ${upstream}`}
      columns={columns}
      rows={evidence}
      keyOf={({ at, kind, about, said = "" }) => `${at} ${kind} ${about} ${said}`}
    />
  );
}
