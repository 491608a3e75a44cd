// All metrics of a gateway, including metrics that have values only at times.
import { CombinedMetrics } from "../src/observe/combined-metrics.ts";
import { type DeclaredMetric, Metrics } from "../src/observe/metrics.ts";

/** The metrics of one process, and those of a supervisor of several processes. */
export function declaredMetrics(): readonly DeclaredMetric[] {
  const metrics = new Metrics();
  metrics.watchMemory({
    waitingAs: () => 0,
    waitingFor: { keys: 0, gateway: 0, strangers: 0 },
    keysOverShare: 0,
    bytes: 0,
  });
  metrics.connectionsCounted(() => ({ stranger: 0, known: 0 }));
  metrics.webSocketsCounted(() => 0);
  const combined = new CombinedMetrics({ measure: async () => new Map() });
  const known = new Set(metrics.declared.map(({ name }) => name));
  const ofSupervisor = combined.declared.filter(({ name }) => !known.has(name));
  return [...metrics.declared, ...ofSupervisor].sort((a, b) => a.name.localeCompare(b.name));
}
