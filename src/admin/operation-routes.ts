// The declarations of everything but keys: usage, how the gateway does, and the reload.
import { createRoute, z } from "@hono/zod-openapi";
import { failures, json, keyParameter } from "./declare.ts";
import { reloaded, status, usageReport } from "./schemas.ts";

const range = {
  from: z.string().optional().openapi({
    description: "The first day, UTC; left out: the first of the month in which the range ends.",
    example: "2026-11-01",
  }),
  to: z.string().optional().openapi({
    description: "The last day, UTC, itself included; left out: today.",
    example: "2026-11-30",
  }),
  network: z.string().optional().openapi({ description: "Of one network alone." }),
  format: z
    .enum(["json", "csv"], { error: "expected json or csv" })
    .optional()
    .openapi({ description: "Left out: as `Accept` says." }),
};

const usageAnswer = {
  description: "The bill.",
  content: { "application/json": { schema: usageReport }, "text/csv": { schema: z.string() } },
};

const plainText = (description: string) => ({
  description,
  content: { "text/plain": { schema: z.string() } },
});

export const operationRoutes = {
  usage: createRoute({
    method: "get",
    path: "/usage",
    operationId: "readUsage",
    summary: "The bill of all keys, or of one.",
    tags: ["usage"],
    request: { query: z.strictObject({ ...range, key: z.string().optional() }) },
    responses: { 200: usageAnswer, ...failures(422, 503) },
  }),
  usageOfKey: createRoute({
    method: "get",
    path: "/keys/{name}/usage",
    operationId: "readKeyUsage",
    summary: "The bill of one key.",
    tags: ["keys", "usage"],
    request: { params: keyParameter, query: z.strictObject(range) },
    responses: { 200: usageAnswer, ...failures(404, 422, 503) },
  }),
  status: createRoute({
    method: "get",
    path: "/status",
    operationId: "readStatus",
    summary: "How the networks and their upstreams do.",
    tags: ["operation"],
    responses: { 200: json(status, "As this moment knows it."), ...failures(503) },
  }),
  reload: createRoute({
    method: "post",
    path: "/reload",
    operationId: "reload",
    summary: "Reads the configuration again and applies what changed in it, as one step.",
    tags: ["operation"],
    responses: {
      200: json(reloaded, "What changed; secrets are not shown."),
      ...failures(409, 422, 503),
    },
  }),
  metrics: createRoute({
    method: "get",
    path: "/metrics",
    operationId: "readMetrics",
    summary: "What is counted, for Prometheus.",
    tags: ["operation"],
    responses: {
      200: { description: "The text format.", content: { "text/plain": { schema: z.string() } } },
      ...failures(503),
    },
  }),
  health: createRoute({
    method: "get",
    path: "/healthz",
    operationId: "readHealth",
    summary: "Whether the process lives. Needs no token.",
    tags: ["operation"],
    responses: { 200: plainText("It does.") },
  }),
  readiness: createRoute({
    method: "get",
    path: "/readyz",
    operationId: "readReadiness",
    summary: "Whether every network can be served. Needs no token.",
    tags: ["operation"],
    responses: { 200: plainText("It can."), 503: plainText("Why not, one line each.") },
  }),
  document: createRoute({
    method: "get",
    path: "/openapi.json",
    operationId: "readDocument",
    summary: "This document.",
    tags: ["operation"],
    responses: {
      200: json(z.object({ openapi: z.string() }), "OpenAPI 3.1."),
      ...failures(),
    },
  }),
};
