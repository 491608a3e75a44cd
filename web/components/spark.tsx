// A small line chart of the last half hour, beside a figure and linked to its screen.
import { useApp } from "../lib/app.ts";
import { HISTORY_SECONDS } from "../lib/history.ts";

const WIDTH = 72;
const HEIGHT = 16;

export function Spark({ series, title }: { readonly series: string; readonly title: string }) {
  const { platform, history } = useApp();
  const now = Math.floor(platform.now() / 1_000);
  const { seconds, values } = history.read(series, now);
  return (
    <svg class="spark" role="img" viewBox={`0 0 ${WIDTH} ${HEIGHT}`} width={WIDTH} height={HEIGHT}>
      <title>{`${title}, the last half hour`}</title>
      <path d={pathOf({ seconds, values, now })} />
    </svg>
  );
}

type Line = {
  readonly seconds: readonly number[];
  readonly values: readonly (number | null)[];
  readonly now: number;
};

/** The path of the line, with gaps for nulls. The highest value touches the top; a line of zeros lies at the bottom. */
function pathOf({ seconds, values, now }: Line): string {
  const most = Math.max(1, ...values.map((value) => value ?? 0));
  let isDrawn = false;
  const steps = values.map((value, at) => {
    if (value === null) {
      isDrawn = false;
      return "";
    }
    const x = WIDTH * (1 - (now - (seconds[at] ?? now)) / HISTORY_SECONDS);
    const y = HEIGHT - 1 - (HEIGHT - 2) * (value / most);
    const verb = isDrawn ? "L" : "M";
    isDrawn = true;
    return `${verb}${x.toFixed(1)} ${y.toFixed(1)}`;
  });
  return steps.join("");
}
