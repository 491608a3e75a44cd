// Tests scripts/named-metrics.ts, which checks the metrics that dashboards and alerts name (`npm run check`, deploy/).
import { describe, expect, it } from "vitest";
import { mistakesIn } from "../../scripts/named-metrics.ts";

const mistakes = (text: string, ...labels: string[]): string[] =>
  mistakesIn({ where: "here", text, labels });

describe("queries over the gateway's metrics", () => {
  it.each([
    "sum by (network) (rate(headgate_calls_total{outcome=~'ok'}[$__rate_interval]))",
    "histogram_quantile(0.9, sum by (network, le) (rate(headgate_call_seconds_bucket[5m])))",
    "headgate_state_reachable == 0",
    "increase(headgate_processes_replaced_total{process='writer'}[1h])",
    "headgate_upstream_recent_seconds{quantile='0.95', group='logs'}",
  ])("%s is well", (text) => expect(mistakes(text)).toEqual([]));

  it.each([
    ["rate(headgate_call_total[5m])", "here: there is no metric headgate_call_total"],
    ["headgate_calls_total{key='a'}", "here: headgate_calls_total has no label key"],
    ["headgate_call_seconds{le='5'}", "here: headgate_call_seconds has no label le"],
    [
      "sum by (upstream) (headgate_head_block)",
      "here: no metric in it has the label upstream: sum by (upstream) (headgate_head_block)",
    ],
    ["sum(headgate_head_block", "here: this is not PromQL: sum(headgate_head_block"],
  ])("%s is not", (text, mistake) => expect(mistakes(text)).toContain(mistake));

  it("shows labels that are left, and no others", () => {
    const text = "topk(3, sum by (network) (headgate_upstream_head_block))";
    expect(mistakes(text, "network")).toEqual([]);
    expect(mistakes(text, "upstream")).toEqual([`here: its result has no label upstream: ${text}`]);
    expect(mistakes("sum(headgate_head_block)", "network")).not.toEqual([]);
  });
});
