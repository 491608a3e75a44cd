// The usage report, how the gateway does, and the reload. Declarations: operation-routes.ts.
import { type UsageReport, usageCsv } from "../access/usage/usage-report.ts";
import { type AdminApp, type AdminContext, tellChange } from "./admin-request.ts";
import type { AdminServerParts, UsageAsked } from "./admin-server-parts.ts";
import { adminDocument } from "./document.ts";
import { operationRoutes } from "./operation-routes.ts";
import { problems } from "./problem.ts";
import { version } from "./version.ts";

export function addOperationAnswers(app: AdminApp, parts: AdminServerParts): void {
  const { metrics, networks, clock } = parts;
  const startedAtMs = clock.now();
  let document: ReturnType<typeof adminDocument> | undefined; // made when first asked for: it takes memory
  addUsageReports(app, parts);
  app.openapi(operationRoutes.status, async (context) => {
    const uptimeSeconds = Math.round((clock.now() - startedAtMs) / 1000);
    return context.json({ version, uptimeSeconds, networks: await networks() }, 200);
  });
  app.openapi(operationRoutes.reload, async (context) => {
    const outcome = await parts.reload();
    if (outcome.kind === "mistakes") throw problems.mistakes(outcome.mistakes);
    if (outcome.kind === "refused") throw problems.conflict(outcome.why);
    tellChange(context, parts, { what: "the configuration was reloaded" });
    return context.json({ changed: [...outcome.changed] }, 200);
  });
  app.openapi(operationRoutes.metrics, async (context) =>
    context.text(await metrics.exposition(), 200, { "Content-Type": metrics.contentType }),
  );
  app.openapi(operationRoutes.document, (context) => {
    document ??= adminDocument();
    return context.json(document, 200);
  });
}

function addUsageReports(app: AdminApp, parts: AdminServerParts): void {
  app.openapi(operationRoutes.usage, async (context) => {
    const { format, ...asked } = context.req.valid("query");
    return answerUsageReport(context, await readUsageReport(parts, asked), format);
  });
  app.openapi(operationRoutes.usageOfKey, async (context) => {
    const { name: key } = context.req.valid("param");
    const { format, ...asked } = context.req.valid("query");
    const report = await readUsageReport(parts, { ...asked, key });
    // A key that was taken out of the file still has usage.
    if (report.rows.length === 0 && !(await parts.keys.show(key)))
      throw problems.unknown(`there is no key of the name ${key}`);
    return answerUsageReport(context, report, format);
  });
}

async function readUsageReport(
  parts: Pick<AdminServerParts, "readUsageReport">,
  asked: UsageAsked,
): Promise<UsageReport> {
  const read = await parts.readUsageReport(asked);
  if ("kind" in read) throw problems.mistakes(read.mistakes);
  return read;
}

function answerUsageReport(
  context: AdminContext,
  report: UsageReport,
  format: "json" | "csv" | undefined,
) {
  const isCsv = format === undefined ? prefersCsv(context.req.header("accept")) : format === "csv";
  context.header("Vary", "Accept");
  if (isCsv) {
    const type = { "Content-Type": "text/csv; charset=utf-8; header=present" };
    return context.text(usageCsv(report), 200, type);
  }
  return context.json({ ...report, rows: [...report.rows] }, 200);
}

/** JSON is what whoever takes everything gets. */
const prefersCsv = (accept = ""): boolean =>
  /\btext\/csv\b/i.test(accept) && !/\bapplication\/json\b/i.test(accept);
