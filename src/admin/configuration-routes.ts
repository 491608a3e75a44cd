// The routes by which operators read, check and replace the configuration file, without its secrets.
import { createRoute, z } from "@hono/zod-openapi";
import {
  type AdminApp,
  type AdminAppParts,
  type AdminContext,
  actorOf,
  MOST_TEXT_BYTES,
  readBodyAs,
} from "./admin-parts.ts";
import { problems } from "./problem.ts";
import { at, body, failures, json } from "./routes.ts";
import { checked, configuration, configurationText, replaced } from "./schemas.ts";

const tags = ["configuration"];
const text = body("ConfigurationText", true);

export const configurationRoutes = {
  show: createRoute({
    ...{ tags, ...at("get", "/configuration", "showConfiguration", "read") },
    summary: "Shows the configuration file without its secrets, and the last reloads.",
    responses: {
      200: json(configuration, "The present file, and the last reloads."),
      ...failures(503),
    },
  }),
  validate: createRoute({
    ...{ tags, ...at("post", "/configuration/validate", "validateConfiguration", "all") },
    summary:
      "Checks another text of the file: its mistakes, or the changes that it would make. Nothing is applied.",
    request: { body: text },
    responses: {
      200: json(checked, "The mistakes, or the changes."),
      ...failures(400, 411, 413, 415, 422, 503),
    },
  }),
  apply: createRoute({
    ...{ tags, ...at("post", "/configuration/apply", "applyConfiguration", "all") },
    summary: "Replaces the file and reloads. If the reload is refused, the file stays as it was.",
    description:
      "The text is written as it was sent: references to variables stay references. Hidden values are put back from the file.",
    request: {
      body: text,
      headers: z.object({
        "if-match": z
          .string({ error: "missing: the version of the file that the text was made from" })
          .openapi({ description: "The `ETag` of the file that the text was made from." }),
      }),
    },
    responses: {
      200: json(replaced, "The changes, without secrets."),
      ...failures(400, 409, 411, 412, 413, 415, 422, 503),
    },
  }),
};

export function addConfigurationAnswers(
  app: AdminApp,
  { configuration: file, log }: Pick<AdminAppParts, "configuration" | "log">,
): void {
  app.openapi(configurationRoutes.show, async (context) => {
    const shown = await file.shown();
    if (shown.version !== undefined) context.header("ETag", `"${shown.version}"`);
    return context.json(shown, 200);
  });
  app.openapi(configurationRoutes.validate, async (context) =>
    context.json(await file.validate(await textOf(context)), 200),
  );
  app.openapi(configurationRoutes.apply, async (context) => {
    const version = context.req.valid("header")["if-match"].replace(/^"|"$/g, "");
    const by = actorOf(context);
    const outcome = await file.apply({ text: await textOf(context), version }, by);
    if (outcome.kind === "changed meanwhile") throw problems.changedMeanwhile();
    if (outcome.kind === "mistakes") throw problems.mistakes(outcome.mistakes);
    if (outcome.kind === "refused") throw problems.conflict(outcome.why);
    log.info({ who: by.who, address: by.from }, "the configuration file was replaced");
    context.header("ETag", `"${outcome.version}"`);
    return context.json({ changed: outcome.changed, version: outcome.version }, 200);
  });
}

/** The text in a request's body. @throws Problem 413 for one that is too large, or as `readBodyAs` */
async function textOf(context: AdminContext): Promise<string> {
  const { text: told } = await readBodyAs(context, configurationText);
  if (Buffer.byteLength(told) > MOST_TEXT_BYTES) throw problems.bodyTooLarge(MOST_TEXT_BYTES);
  return told;
}
