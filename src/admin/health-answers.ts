// Whether the gateway lives and is ready, for probes that have no token: here they need no place among callers.

import type { AdminApp } from "./admin-request.ts";
import type { AdminServerParts } from "./admin-server-parts.ts";
import { operationRoutes } from "./operation-routes.ts";

export function addHealthAnswers(
  app: AdminApp,
  { whyNotReady }: Pick<AdminServerParts, "whyNotReady">,
): void {
  app.openapi(operationRoutes.health, (context) => context.text("ok\n", 200));
  app.openapi(operationRoutes.readiness, async (context) => {
    const reasons = await whyNotReady().catch(() => ["it cannot be told how the networks do"]);
    return reasons.length === 0
      ? context.text("ready\n", 200)
      : context.text(`${reasons.join("\n")}\n`, 503);
  });
}
