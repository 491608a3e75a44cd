// A bar chart by day or hour: each bar shows a whole amount and a named part of it. A screen reader hears the values.
import { Term } from "./hint.tsx";

export type Bar = { readonly name: string; readonly whole: number; readonly part?: number };

type BarsProps = {
  readonly title: string;
  readonly hint: string;
  readonly bars: readonly Bar[];
  /** Formats a value with its unit. */
  readonly textOf: (value: number) => string;
  /** The name of the marked part of each bar. */
  readonly partName?: string;
  readonly partTone?: "good" | "bad";
};

const HEIGHT = 100;
const STEP = 10;

export function Bars({ title, hint, bars, textOf, partName, partTone = "good" }: BarsProps) {
  const most = Math.max(...bars.map(({ whole }) => whole), 0) || 1;
  const toldOf = ({ name, whole, part }: Bar): string =>
    `${name}: ${textOf(whole)}${partName && part ? `, ${partName} ${textOf(part)}` : ""}`;
  const heightOf = (value: number): number =>
    value === 0 ? 0 : Math.max(1, (value / most) * HEIGHT);
  const sum = bars.reduce((all, { whole }) => all + whole, 0);
  return (
    <figure class="chart">
      <figcaption>
        <Term hint={hint}>{title}</Term>
        <span>
          <b>{textOf(sum)}</b> in total, highest <b>{textOf(most === 1 && sum === 0 ? 0 : most)}</b>
        </span>
      </figcaption>
      <svg
        class="bars"
        role="img"
        aria-label={`${title}. ${
          bars
            .filter(({ whole }) => whole > 0)
            .map(toldOf)
            .join("; ") || "nothing"
        }`}
        viewBox={`0 0 ${Math.max(1, bars.length) * STEP} ${HEIGHT}`}
        preserveAspectRatio="none"
      >
        {bars.map((bar, at) => (
          <g key={bar.name} data-hint={toldOf(bar)}>
            <rect class="ground" x={at * STEP} y={0} width={STEP} height={HEIGHT} />
            <rect
              class="whole"
              x={at * STEP + 1}
              y={HEIGHT - heightOf(bar.whole)}
              width={STEP - 2}
              height={heightOf(bar.whole)}
            />
            {bar.part !== undefined && (
              <rect
                class={`part ${partTone}`}
                x={at * STEP + 1}
                y={HEIGHT - heightOf(bar.part)}
                width={STEP - 2}
                height={heightOf(bar.part)}
              />
            )}
          </g>
        ))}
      </svg>
      <p class="ends">
        <span>{bars[0]?.name}</span>
        {partName && (
          <span>
            <span class={`swatch colour-${partTone === "bad" ? 5 : 1}`} aria-hidden="true" />
            {partName}
          </span>
        )}
        <span>{bars.at(-1)?.name}</span>
      </p>
    </figure>
  );
}
