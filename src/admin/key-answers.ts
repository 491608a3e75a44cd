// Answers what is done with keys. Declarations: routes.ts.
import type { KeyBook } from "../access/keys/key-book.ts";
import {
  type AdminApp,
  type AdminContext,
  type AdminServerParts,
  logChange,
  readBody,
} from "./admin-parts.ts";
import { problems } from "./problem.ts";
import { keyRoutes } from "./routes.ts";
import { rotation } from "./schemas.ts";

type KeyParts = Pick<AdminServerParts, "keys" | "log">;

const OVERLAP_MS = 24 * 3_600_000;

export function addKeyAnswers(app: AdminApp, parts: KeyParts): void {
  const { keys } = parts;
  app.openapi(keyRoutes.list, async (context) =>
    context.json({ keys: [...(await keys.list())] }, 200),
  );
  app.openapi(keyRoutes.create, async (context) => {
    const outcome = await keys.create(await readBody(context));
    return context.json(shownOf(outcome, { context, parts, what: "a key was made" }), 201);
  });
  app.openapi(keyRoutes.show, async (context) => {
    const { name } = context.req.valid("param");
    const key = await keys.show(name);
    if (!key) throw problems.unknown(`there is no key of the name ${name}`);
    return context.json(key, 200);
  });
  addChanges(app, parts);
}

function addChanges(app: AdminApp, parts: KeyParts): void {
  const { keys } = parts;
  app.openapi(keyRoutes.update, async (context) => {
    const { name } = context.req.valid("param");
    const outcome = await keys.update(name, await readBody(context));
    return context.json(
      shownOf(outcome, { context, parts, what: "a key's settings were changed" }),
      200,
    );
  });
  app.openapi(keyRoutes.rotate, async (context) => {
    const { name } = context.req.valid("param");
    const outcome = await keys.rotate(name, { overlapMs: overlapOf(await readBody(context)) });
    return context.json(shownOf(outcome, { context, parts, what: "a key was rotated" }), 200);
  });
  app.openapi(keyRoutes.revoke, async (context) => {
    const outcome = await keys.revoke(context.req.valid("param").name);
    return context.json(shownOf(outcome, { context, parts, what: "a key was revoked" }), 200);
  });
  app.openapi(keyRoutes.disable, async (context) => {
    const outcome = await keys.disable(context.req.valid("param").name);
    return context.json(shownOf(outcome, { context, parts, what: "a key was disabled" }), 200);
  });
  app.openapi(keyRoutes.enable, async (context) => {
    const outcome = await keys.enable(context.req.valid("param").name);
    return context.json(shownOf(outcome, { context, parts, what: "a key was enabled" }), 200);
  });
}

type KeyChange = {
  readonly context: AdminContext;
  readonly parts: KeyParts;
  readonly what: string;
};
type Making = Awaited<ReturnType<KeyBook["create"]>>;
type Changing = Awaited<ReturnType<KeyBook["revoke"]>>;
type Shown = Extract<Changing, { kind: "changed" }>["key"];

/** The key that an outcome shows, once the change is logged. @throws Problem when nothing was changed. */
function shownOf(outcome: Making, change: KeyChange): Shown & { key: string };
function shownOf(outcome: Changing, change: KeyChange): Shown;
function shownOf(outcome: Making | Changing, change: KeyChange): Shown & { key?: string } {
  const { context, parts, what } = change;
  switch (outcome.kind) {
    case "mistakes":
      throw problems.mistakes(outcome.mistakes);
    case "unknown":
      throw problems.unknown(outcome.why);
    case "taken":
    case "refused":
      throw problems.conflict(outcome.why);
    case "changed":
      logChange(context, parts, { what, key: outcome.key.name });
      return outcome.key;
    case "made":
      logChange(context, parts, { what, key: outcome.key.name });
      return { ...outcome.key, key: outcome.text };
  }
}

function overlapOf(body: unknown): number {
  const read = rotation.safeParse(body);
  if (read.success) return read.data.overlap ?? OVERLAP_MS;
  throw problems.mistakes(
    read.error.issues.map(({ path, message }) => `${path.join(".") || "the body"}: ${message}`),
  );
}
