// The declarations of what can be done with keys. What is done: key-answers.ts.
import { createRoute, z } from "@hono/zod-openapi";
import { body, failures, json, keyParameter } from "./declare.ts";
import { madeKey, shownKey } from "./schemas.ts";

const tags = ["keys"];
const ofOneKey = { tags, request: { params: keyParameter } };
const once = "The key. Its text is in this answer alone.";

export const keyRoutes = {
  list: createRoute({
    method: "get",
    path: "/keys",
    operationId: "listKeys",
    summary: "All keys, by name.",
    tags,
    responses: {
      200: json(z.strictObject({ keys: z.array(shownKey) }), "The keys, without their texts."),
      ...failures(503),
    },
  }),
  create: createRoute({
    method: "post",
    path: "/keys",
    operationId: "createKey",
    summary: "Makes a key.",
    tags,
    request: { body: body("KeyRequest", true) },
    responses: { 201: json(madeKey, once), ...failures(400, 409, 411, 413, 415, 422, 503) },
  }),
  show: createRoute({
    ...ofOneKey,
    method: "get",
    path: "/keys/{name}",
    operationId: "showKey",
    summary: "One key.",
    responses: { 200: json(shownKey, "The key, without its text."), ...failures(404, 503) },
  }),
  update: createRoute({
    tags,
    method: "patch",
    path: "/keys/{name}",
    operationId: "updateKey",
    summary: "Changes what a key may do.",
    description:
      "A merge patch (RFC 7396): what is left out stays as it is, and null takes a setting away, also within a group such as `limits`.",
    request: { params: keyParameter, body: body("KeyChange", true) },
    responses: {
      200: json(shownKey, "The key as it is now."),
      ...failures(400, 404, 409, 411, 413, 415, 422, 503),
    },
  }),
  rotate: createRoute({
    tags,
    method: "post",
    path: "/keys/{name}/rotate",
    operationId: "rotateKey",
    summary: "Gives a key a new text.",
    description: "The old text works until the overlap ends.",
    request: { params: keyParameter, body: body("Rotation", false) },
    responses: { 200: json(madeKey, once), ...failures(400, 404, 409, 411, 413, 415, 422, 503) },
  }),
  revoke: createRoute({
    ...ofOneKey,
    method: "post",
    path: "/keys/{name}/revoke",
    operationId: "revokeKey",
    summary: "Ends a key for good.",
    description: "Everywhere within a second. Its name stays taken.",
    responses: { 200: json(shownKey, "The key as it is now."), ...failures(404, 409, 503) },
  }),
  disable: createRoute({
    ...ofOneKey,
    method: "post",
    path: "/keys/{name}/disable",
    operationId: "disableKey",
    summary: "Lets a key rest.",
    responses: { 200: json(shownKey, "The key as it is now."), ...failures(404, 409, 503) },
  }),
  enable: createRoute({
    ...ofOneKey,
    method: "post",
    path: "/keys/{name}/enable",
    operationId: "enableKey",
    summary: "Lets a disabled key work again.",
    responses: { 200: json(shownKey, "The key as it is now."), ...failures(404, 409, 503) },
  }),
};
