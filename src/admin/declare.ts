// The pieces that declarations of routes are made of.
import { STATUS_CODES } from "node:http";
import { z } from "@hono/zod-openapi";
import { problem } from "./schemas.ts";

/** An answer in JSON. */
export const json = <Schema extends z.ZodType>(schema: Schema, description: string) => ({
  description,
  content: { "application/json": { schema } },
});

type Failure = {
  description: string;
  content: { "application/problem+json": { schema: typeof problem } };
};

/** The failures that a route's callers have to reckon with; those of every route are among them. */
export const failures = <Status extends number>(...statuses: readonly Status[]) =>
  Object.fromEntries(
    [401, 403, 429, ...statuses].sort().map((status) => [
      status,
      {
        description: STATUS_CODES[status] ?? "",
        content: { "application/problem+json": { schema: problem } },
      },
    ]),
  ) as Record<Status | 401 | 403 | 429, Failure>;

/** The key that a path is about. */
export const keyParameter = z.object({
  name: z.string().openapi({ param: { name: "name", in: "path" }, example: "app" }),
});

/** A body whose schema is a named part of the document. It is checked by whoever takes it. */
export const body = (component: string, required: boolean) => ({
  required,
  content: {
    "application/json": { schema: { $ref: `#/components/schemas/${component}` } },
  },
});
