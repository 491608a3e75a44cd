// A number with its unit, its name, and a hint that explains it.
import { Term } from "./hint.tsx";

export type Tone = "plain" | "good" | "warn" | "bad";

type FigureProps = {
  readonly label: string;
  readonly hint: string;
  /** The number with its unit, as lib/format.ts writes it. */
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

/** Figures side by side. @param isWide Leaves room for long values, such as amounts of money. */
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

/** A short word about a state: the colour alone never tells the state. */
export const Badge = ({ tone, children }: { tone: Tone; children: string }) => (
  <span class={`badge tone-${tone}`}>{children}</span>
);
