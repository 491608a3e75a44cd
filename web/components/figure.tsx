// A number with its unit, its name, and a hint what it means.
import { Term } from "./hint.tsx";

export type Tone = "plain" | "good" | "warn" | "bad";

type FigureProps = {
  readonly label: string;
  readonly hint: string;
  /** With its unit, as lib/format.ts writes it. */
  readonly value: string;
  readonly tone?: Tone;
};

const Figure = ({ label, hint, value, tone = "plain" }: FigureProps) => (
  <div class="figure">
    <dt>
      <Term hint={hint}>{label}</Term>
    </dt>
    <dd class={`tone-${tone}`}>{value}</dd>
  </div>
);

/** Figures side by side. @param isWide Amounts of money are long. */
export const Figures = ({
  figures,
  isWide = false,
}: {
  readonly figures: readonly FigureProps[];
  readonly isWide?: boolean;
}) => (
  <dl class={`figures${isWide ? " wide" : ""}`}>
    {figures.map((figure) => (
      <Figure key={figure.label} {...figure} />
    ))}
  </dl>
);

/** A short word about a state, never by its colour alone. */
export const Badge = ({ tone, children }: { tone: Tone; children: string }) => (
  <span class={`badge tone-${tone}`}>{children}</span>
);
