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

const PROOFS = { none: "none", partial: "in part", full: "whole" } as const;

export function Story({ call }: { call: ToldCall }) {
  const { block, computeUnits, bytes, ms, proof, staleMs, asked, leftOut } = call;
  return (
    <div class="story">
      <Figures
        figures={[
          { label: "Time", hint: "From the call's beginning to its end.", value: msText(ms) },
          { label: "From", hint: "What the answer stands on.", value: sourceText(call) },
          {
            label: "Proof",
            hint: "How much of the block it is from was proven against its own hash.",
            value: proof ? PROOFS[proof] : NOTHING,
          },
          {
            label: "Price",
            hint: "What the key was charged, in compute units.",
            value: computeUnits === undefined ? NOTHING : countText(computeUnits, "unit"),
          },
          { label: "Answer", hint: "How long the answer is.", value: bytesText(bytes) },
          ...(block
            ? [
                {
                  label: "Block",
                  hint: `The block, or epoch, that the answer is from: ${block.hash}`,
                  value: wholeText(block.number),
                },
              ]
            : []),
          ...(staleMs === undefined
            ? []
            : [
                {
                  label: "Stale",
                  hint: "How old the newest block is, which is unusual.",
                  value: msText(staleMs),
                  tone: "warn" as const,
                },
              ]),
        ]}
      />
      <p class="quiet">{stepsText(call)}</p>
      {asked.length > 0 && (
        <Table
          caption="Nodes that were asked, in their order"
          columns={ASKED}
          rows={asked.map((each, at) => ({ ...each, at }))}
          keyOf={({ at }) => String(at)}
          toneOf={({ kind }) => (kind === "failed" || kind === "busy" ? "bad" : "plain")}
        />
      )}
      {leftOut > 0 && <p class="quiet">And {wholeText(leftOut)} more.</p>}
    </div>
  );
}

const stepsText = ({ steps, ms }: Pick<ToldCall, "steps" | "ms">): string =>
  [...steps.map(({ step, atMs }) => `${step} at ${msText(atMs)}`), `ended at ${msText(ms)}`].join(
    " → ",
  );

type Asked = ToldCall["asked"][number] & { readonly at: number };

const WHYS: Readonly<Record<string, string>> = {
  failed: "the one before failed",
  "cross-check": "for another opinion",
  slow: "the one before is slow",
};

const ASKED: readonly Column<Asked>[] = [
  { title: "#", cell: ({ at }) => at + 1 },
  { title: "Node", cell: ({ upstream }) => <b>{upstream}</b> },
  { title: "Method", cell: ({ method }) => <code>{method}</code> },
  { title: "Why", cell: ({ why }) => (why === undefined ? "first" : (WHYS[why] ?? why)) },
  {
    title: "At",
    hint: "When it was asked, from the call's beginning.",
    cell: ({ atMs }) => msText(atMs),
    isNumber: true,
  },
  {
    title: "Took",
    hint: "Until its reply; –: it had not answered when the call ended.",
    cell: ({ ms }) => msText(ms),
    isNumber: true,
  },
  {
    title: "Reply",
    hint: "What its reply was.",
    cell: ({ kind = "no reply", code, reason }) =>
      [kind, code, reason].filter((each) => each !== undefined).join(", "),
  },
];
