// The routes by which an operator makes a call as one of the keys, and reads the methods that a key may call.
import { createRoute, z } from "@hono/zod-openapi";
import { noCounts } from "../access/usage/key-usage.ts";
import type { TriedCall } from "../server/try-call.ts";
import { type AdminApp, type AdminAppParts, actorOf, readBodyAs } from "./admin-parts.ts";
import { problems } from "./problem.ts";
import { at, body, failures, json } from "./routes.ts";
import { tried, tryRequest } from "./schemas.ts";

const tags = ["try"];

export const tryRoutes = {
  try: createRoute({
    ...{ tags, ...at("post", "/try", "tryCall", "keys") },
    summary: "Makes a call as one of the keys, and shows the answer and how it came about.",
    description:
      "The key is charged for the call, and all its settings hold. For a key that is bound to origins or addresses, give those of the call.",
    request: { body: body("TryRequest", true) },
    responses: {
      200: json(tried, "The answer to the call, which may be an error."),
      ...failures(400, 404, 411, 413, 415, 422, 503),
    },
  }),
  methods: createRoute({
    ...{ tags, ...at("get", "/methods", "describeMethods", "read") },
    summary:
      "Describes the methods that a key may call on a network, with the schemas of parameters and results.",
    request: { query: z.strictObject({ network: z.string(), key: z.string() }) },
    responses: {
      200: json(
        z.object({ openrpc: z.string() }),
        "The OpenRPC document that this key would get from the gateway.",
      ),
      ...failures(404, 422, 503),
    },
  }),
};

type TryParts = Pick<AdminAppParts, "trials" | "prices" | "metrics" | "log">;

/** How many tries may run at once, since a slow upstream may hold each try until a call's deadline. */
export const MOST_TRIES = { ofToken: 5, ofAll: 12 };

export function addTryAnswers(app: AdminApp, parts: TryParts): void {
  const { prices, log } = parts;
  const tryBounded = boundedTry(parts);
  app.openapi(tryRoutes.try, async (context) => {
    const asked = await readBodyAs(context, tryRequest);
    const { network, key, params = [] } = asked;
    const requestId = context.get("requestId");
    const by = context.get("operator").name;
    const outcome = await tryBounded({ ...asked, params, requestId }, by);
    if (outcome.kind === "unknown") throw unknown(outcome.what, { network, key });
    const { explanation, json: answer, kind: _, ...told } = outcome;
    const story = explanation === undefined ? undefined : storyIn(explanation);
    // A try changes no setting, so it leaves no entry in the audit trail.
    const { who, from: address } = actorOf(context);
    log.info({ network, key, method: story?.method, who, address }, "a call was tried");
    const list = prices();
    const { computeUnits = 0, method: label = "other" } = story ?? {};
    const price = list && {
      cost: list.costOf({ ...noCounts(), method: label, calls: 1, computeUnits }).cost,
      currency: list.currency,
    };
    return context.json({ ...told, answer, story, ...price }, 200);
  });
  app.openapi(tryRoutes.methods, async (context) => {
    const asked = context.req.valid("query");
    const document = await parts.trials.describe(asked);
    if (document === undefined) throw unknown("network or key", asked);
    return context.body(document, 200, { "Content-Type": "application/json" }) as never;
  });
}

/** Refuses too many tries at once, before the key is charged. @returns A function that throws Problem 429 then. */
function boundedTry({ trials, metrics }: Pick<TryParts, "trials" | "metrics">) {
  /** The names of the tokens whose tries run. */
  const running: string[] = [];
  return async (asked: TriedCall, by: string) => {
    const own = running.filter((name) => name === by).length;
    if (own >= MOST_TRIES.ofToken || running.length >= MOST_TRIES.ofAll) {
      metrics.adminRefused("tries");
      throw problems.tooManyTries(MOST_TRIES);
    }
    running.push(by);
    try {
      return await trials.try(asked);
    } finally {
      running.splice(running.indexOf(by), 1);
    }
  };
}

const storyIn = (explanation: string) => tried.shape.story.unwrap().parse(JSON.parse(explanation));

const unknown = (
  what: "network" | "key" | "network or key",
  { network, key }: { readonly network: string; readonly key: string },
) => {
  const names = { network, key, "network or key": `${network}, ${key}` };
  return problems.unknown(`no ${what} of this name takes calls now: ${names[what]}`);
};
