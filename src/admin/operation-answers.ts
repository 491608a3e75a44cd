// Answers the usage report, how the gateway does, and the reload. Declarations: routes.ts.
import {
  readUsage,
  type UsageReport,
  usageCsv,
  usageReportOf,
} from "../access/usage/usage-report.ts";
import { readRange } from "../lib/calendar.ts";
import {
  type AdminApp,
  type AdminContext,
  type AdminServerParts,
  logChange,
} from "./admin-parts.ts";
import { adminDocument, version } from "./document.ts";
import { problems } from "./problem.ts";
import { operationRoutes } from "./routes.ts";

type UsageAsked = Readonly<Partial<Record<"from" | "to" | "key" | "network", string | undefined>>>;

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
    logChange(context, parts, { what: "the configuration was reloaded" });
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

/** Whether the gateway lives and is ready, for probes that have no token: here they need no connection among callers. */
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

/** A year, and the month that a year ago began in. */
const MOST_DAYS = 400;

/** The range is checked, what is written is read, and prices are put to it. @throws Problem */
async function readUsageReport(
  { state, clock, prices }: Pick<AdminServerParts, "state" | "clock" | "prices">,
  { from, to, ...which }: UsageAsked,
): Promise<UsageReport> {
  const range = readRange({ from, to }, { wallTimeMs: clock.wallTime(), mostDays: MOST_DAYS });
  if (range.kind === "mistake") throw problems.mistakes([`${range.field}: ${range.why}`]);
  const usage = await readUsage(state, { ...range, ...which }, { clock });
  return usageReportOf(usage, range, prices());
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

/** A caller that takes everything gets JSON. */
const prefersCsv = (accept = ""): boolean =>
  /\btext\/csv\b/i.test(accept) && !/\bapplication\/json\b/i.test(accept);
