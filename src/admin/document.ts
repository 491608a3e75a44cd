// Makes the OpenAPI document of the admin API from the declared routes: docs/openapi.json, and GET /openapi.json.

import { OpenAPIHono, type RouteConfig } from "@hono/zod-openapi";
import manifest from "../../package.json" with { type: "json" };
import { configurationRoutes } from "./configuration-routes.ts";
import {
  type DeclaredRoute,
  keyRoutes,
  nodeRoutes,
  operationRoutes,
  sessionRoutes,
} from "./routes.ts";
import { requestSchemas } from "./schemas.ts";
import { tryRoutes } from "./try-routes.ts";

/** The version of the running release. */
export const version: string = manifest.version;

export const declaredRoutes: readonly DeclaredRoute[] = [
  ...Object.values(keyRoutes),
  ...Object.values(operationRoutes),
  ...Object.values(configurationRoutes),
  ...Object.values(tryRoutes),
  ...Object.values(nodeRoutes),
  ...Object.values(sessionRoutes),
];

export function adminDocument(): ReturnType<OpenAPIHono["getOpenAPI31Document"]> {
  const { openAPIRegistry: registry, getOpenAPI31Document } = new OpenAPIHono();
  for (const [name, schema] of Object.entries(requestSchemas))
    registry.registerComponent("schemas", name, schema);
  registry.registerComponent("securitySchemes", "token", { type: "http", scheme: "bearer" });
  for (const route of declaredRoutes) registry.registerPath(route);
  return getOpenAPI31Document({
    openapi: "3.1.0",
    info: {
      title: "Headgate admin API",
      version,
      description:
        "The API of the admin port. If `admin.token` or `admin.tokens` is configured, every request needs a token with the role that `x-headgate-role` names, or with a later one of read, keys, all. Without tokens, only requests from this machine are answered.",
      license: { name: "Apache-2.0" },
    },
    servers: [{ url: "http://127.0.0.1:8546" }],
    // `{}`: no token is needed where none is configured.
    security: [{ token: [] }, {}],
    tags: ["keys", "usage", "operation", "configuration", "try"].map((name) => ({ name })),
  });
}

/** The HTTP methods that a path has; empty for an unknown path. */
export const verbsOf = (path: string): string[] =>
  declaredRoutes.filter((route) => isAt(route, path)).map(({ method }) => method.toUpperCase());

export const isAt = (route: Pick<RouteConfig, "path">, path: string): boolean =>
  new RegExp(`^${route.path.replace(/\{\w+\}/g, "[^/]+")}$`).test(path);
