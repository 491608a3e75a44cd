// Lines or stacked areas over the last half hour. The legend shows the last values, and a screen reader hears the same.
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import uPlot from "uplot";
import { HISTORY_SECONDS } from "../lib/history.ts";
import { Term } from "./hint.tsx";

export type ChartLine = {
  readonly name: string;
  readonly hint?: string;
  /** The line's share of the whole now, as text. */
  readonly share?: string;
  readonly values: readonly (number | null)[];
  /** The number of the line's colour in styles/base.css: 1 to 6. */
  readonly colour: number;
};

type ChartProps = {
  readonly title: string;
  readonly hint: string;
  readonly seconds: readonly number[];
  readonly lines: readonly ChartLine[];
  /** Formats a value with its unit. */
  readonly textOf: (value: number | undefined) => string;
  /** Stacks the areas: the first line is at the bottom. */
  readonly isStacked?: boolean;
  /** The right end of the chart, in seconds since 1970. */
  readonly now: number;
};

const HEIGHT = 132;
const SHORTEST_SECONDS = 60;

export function Chart(props: ChartProps) {
  const { title, hint, lines, textOf } = props;
  const last = ({ values }: ChartLine): string => textOf(values.at(-1) ?? undefined);
  const told = lines.map((line) => `${line.name} ${last(line)}`).join(", ");
  return (
    <figure class="chart">
      <figcaption>
        <Term hint={hint}>{title}</Term>
        <ul>
          {lines.map((line) => (
            <li key={line.name}>
              <span class={`swatch colour-${line.colour}`} aria-hidden="true" />
              {line.hint ? <Term hint={line.hint}>{line.name}</Term> : line.name}{" "}
              <b>{last(line)}</b>
            </li>
          ))}
        </ul>
      </figcaption>
      <div role="img" aria-label={`${title}, the last half hour; now: ${told || "nothing"}`}>
        <Plot {...props} />
      </div>
    </figure>
  );
}

function Plot({ seconds, lines, textOf, isStacked = false, now }: ChartProps) {
  const box = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot>(undefined);
  const theme = useTheme();
  const data = dataOf({ seconds, lines, isStacked });
  const form = lines.map(({ name, colour }) => `${name}\n${colour}`).join("\n");
  // Other lines or colours need a new plot; new values go to the existing plot.
  useEffect(() => {
    if (!box.current) return;
    const made = new uPlot(
      optionsOf({ box: box.current, lines, textOf, isStacked }),
      data,
      box.current,
    );
    plot.current = made;
    const sized = new ResizeObserver(([entry]) => {
      if (entry) made.setSize({ width: entry.contentRect.width, height: HEIGHT });
    });
    sized.observe(box.current);
    return () => {
      sized.disconnect();
      made.destroy();
      plot.current = undefined;
    };
  }, [form, theme, isStacked]);
  useEffect(() => {
    plot.current?.batch(() => {
      plot.current?.setData(data, false);
      // A page that was just opened has little history: the chart spans only the seconds that it has.
      const age = now - (seconds[0] ?? now);
      const span = Math.min(HISTORY_SECONDS, Math.max(SHORTEST_SECONDS, age));
      plot.current?.setScale("x", { min: now - span, max: now });
    });
  });
  return <div ref={box} class="plot" />;
}

/** Returns a number that changes whenever the colours of the theme change. */
function useTheme(): number {
  const [count, setCount] = useState(0);
  const dark = useMemo(() => matchMedia("(prefers-color-scheme: dark)"), []);
  useEffect(() => {
    const changed = (): void => setCount((before) => before + 1);
    addEventListener("themechange", changed);
    dark.addEventListener("change", changed);
    return () => {
      removeEventListener("themechange", changed);
      dark.removeEventListener("change", changed);
    };
  }, [dark]);
  return count;
}

type Plotted = Pick<ChartProps, "seconds" | "lines"> & { readonly isStacked: boolean };

/** uPlot paints the last line first, so a higher area stands behind a lower one. */
function dataOf({ seconds, lines, isStacked }: Plotted): uPlot.AlignedData {
  const values = lines.map((line) => [...line.values]);
  if (isStacked)
    for (const [at, line] of values.entries())
      for (const [index, value] of line.entries()) {
        const below = values[at - 1]?.[index];
        if (value !== null && typeof below === "number") line[index] = value + below;
      }
  return [[...seconds], ...values.reverse()] as uPlot.AlignedData;
}

type Optioned = Pick<ChartProps, "lines" | "textOf"> & {
  readonly box: HTMLElement;
  readonly isStacked: boolean;
};

function optionsOf({ box, lines, textOf, isStacked }: Optioned): uPlot.Options {
  const colourOf = coloursIn(box);
  const [text, grid] = [colourOf("quiet"), colourOf("grid")];
  const font = `11px ${getComputedStyle(box).fontFamily}`;
  const axis = { stroke: text, font, ticks: { show: false }, grid: { stroke: grid, width: 1 } };
  return {
    width: box.clientWidth || 300,
    height: HEIGHT,
    legend: { show: false },
    cursor: { show: false },
    padding: [8, 18, 0, 0],
    scales: {
      y: { range: (_, __, most) => [0, Math.max(most ?? 0, Number.EPSILON) * 1.1 || 1] },
    },
    axes: [
      {
        ...axis,
        grid: { show: false },
        size: 24,
        space: 70,
        values: (_, ticks) => timeTexts(ticks),
      },
      { ...axis, size: 56, space: 34, values: (_, ticks) => ticks.map((tick) => textOf(tick)) },
    ],
    series: [
      {},
      ...lines.toReversed().map(({ name, colour }) => ({
        label: name,
        stroke: colourOf(`colour-${colour}`),
        width: 1.5,
        points: { show: false },
        ...(isStacked && { fill: colourOf(`area-${colour}`) }),
      })),
    ],
  };
}

/** Resolves a colour variable of the stylesheet for the present theme: a canvas cannot read `var(--name)`. */
const coloursIn =
  (box: HTMLElement) =>
  (name: string): string => {
    box.style.color = `var(--${name})`;
    const { color } = getComputedStyle(box);
    box.style.color = "";
    return color;
  };

/** Formats ticks as times; with seconds where ticks are less than a minute apart. */
function timeTexts(ticks: readonly number[]): string[] {
  const [first = 0, second = first + 60] = ticks;
  const seconds = second - first < 60 ? ({ second: "2-digit" } as const) : {};
  const options = { hour: "2-digit", minute: "2-digit", ...seconds } as const;
  return ticks.map((tick) => new Date(tick * 1_000).toLocaleTimeString(undefined, options));
}
