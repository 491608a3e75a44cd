// How one call went: the provenance of its answer, and the upstreams that were asked, in order.
import type { CallAnswer } from "../../src/admin/schemas.ts";
import { bytesText, countText, msText, NOTHING, wholeText } from "../lib/format.ts";
import { Badge, Figures, type Tone } from "./figure.tsx";
import { type Column, Table } from "./table.tsx";

type ToldCall = Pick<
  CallAnswer,
  | "outcome"
  | "code"
  | "source"
  | "proof"
  | "block"
  | "staleMs"
  | "computeUnits"
  | "bytes"
  | "ms"
  | "steps"
  | "asked"
  | "leftOut"
>;

const OUTCOMES: Readonly<
  Record<ToldCall["outcome"], { readonly tone: Tone; readonly text: string }>
> = {
  ok: { tone: "good", text: "Answered" },
  refused: { tone: "warn", text: "Refused" },
  unavailable: { tone: "bad", text: "Unavailable" },
  failed: { tone: "bad", text: "Failed" },
};

export const Outcome = ({ outcome, code }: Pick<ToldCall, "outcome" | "code">) => {
  const { tone, text } = OUTCOMES[outcome];
  return <Badge tone={tone}>{code === undefined ? text : `${text} (${code})`}</Badge>;
};

const SOURCES: Readonly<Record<ToldCall["source"], string>> = {
  store: "the store",
  upstream: "a node",
  local: "the gateway",
  merged: "an equal call",
};
/** The source of a call's answer; a call that was not answered has none. */
export const sourceText = ({ source, outcome }: Pick<ToldCall, "source" | "outcome">): string =>
  outcome === "unavailable" || outcome === "failed" ? NOTHING : SOURCES[source];

const PROOFS = { none: "none", partial: "partial", full: "full" } as const;

export function Story({ call }: { call: ToldCall }) {
  const { block, computeUnits, bytes, ms, proof, staleMs, asked, leftOut } = call;
  return (
    <div class="story">
      <Figures
        figures={[
          {
            label: "Time",
            hint: "The time from the start of the call to its end.",
            value: msText(ms),
          },
          {
            label: "From",
            hint: "The source of the answer: the store, a node, the gateway itself, or an equal call.",
            value: sourceText(call),
          },
          {
            label: "Proof",
            hint: "How much of the answer's block was proven against the block's hash.",
            value: proof ? PROOFS[proof] : NOTHING,
          },
          {
            label: "Price",
            hint: "The compute units that the key was charged.",
            value: computeUnits === undefined ? NOTHING : countText(computeUnits, "unit"),
          },
          { label: "Answer", hint: "The size of the answer.", value: bytesText(bytes) },
          ...(block
            ? [
                {
                  label: "Block",
                  hint: `The block or epoch that the answer comes from: ${block.hash}`,
                  value: wholeText(block.number),
                },
              ]
            : []),
          ...(staleMs === undefined
            ? []
            : [
                {
                  label: "Stale",
                  hint: "The time since a node last confirmed the newest block, or the age of that block.",
                  value: msText(staleMs),
                  tone: "warn" as const,
                },
              ]),
        ]}
      />
      <p class="quiet">{stepsText(call)}</p>
      {asked.length > 0 && (
        <Table
          caption="Nodes that were asked, in order"
          columns={ASKED}
          rows={asked.map((each, at) => ({ ...each, at }))}
          keyOf={({ at }) => String(at)}
          toneOf={({ kind }) => (kind === "failed" || kind === "busy" ? "bad" : "plain")}
        />
      )}
      {leftOut > 0 && <p class="quiet">Not shown: {wholeText(leftOut)} more.</p>}
    </div>
  );
}

const stepsText = ({ steps, ms }: Pick<ToldCall, "steps" | "ms">): string =>
  [...steps.map(({ step, atMs }) => `${step} at ${msText(atMs)}`), `ended at ${msText(ms)}`].join(
    " → ",
  );

type Asked = ToldCall["asked"][number] & { readonly at: number };

const WHYS: Readonly<Record<string, string>> = {
  failed: "retry: the attempt before failed",
  "cross-check": "to compare two answers",
  slow: "hedge: the attempt before is slow",
};

const ASKED: readonly Column<Asked>[] = [
  { title: "#", cell: ({ at }) => at + 1 },
  { title: "Node", cell: ({ upstream }) => <b>{upstream}</b> },
  { title: "Method", cell: ({ method }) => <code>{method}</code> },
  { title: "Why", cell: ({ why }) => (why === undefined ? "first" : (WHYS[why] ?? why)) },
  {
    title: "At",
    hint: "The time from the start of the call to this attempt.",
    cell: ({ atMs }) => msText(atMs),
    isNumber: true,
  },
  {
    title: "Took",
    hint: "The time until the reply. –: there was no reply when the call ended.",
    cell: ({ ms }) => msText(ms),
    isNumber: true,
  },
  {
    title: "Reply",
    hint: "The kind of the reply, with its code and reason.",
    cell: ({ kind = "no reply", code, reason }) =>
      [kind, code, reason].filter((each) => each !== undefined).join(", "),
  },
];
