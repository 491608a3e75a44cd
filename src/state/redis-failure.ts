// What may be told of a failure of Redis: never a password.
import type { SharedStateSettings } from "../config/state-settings.ts";

export const reasonOf = (error: unknown, settings: SharedStateSettings): string =>
  secretsOf(settings).reduce((text, secret) => text.replaceAll(secret, "***"), textOf(error));

function secretsOf(settings: SharedStateSettings): string[] {
  const { password = "" } = settings;
  const { sentinelPassword = "" } = settings.kind === "sentinel" ? settings : {};
  return [password, sentinelPassword].filter((text) => text !== "");
}

/** An error of several addresses has no message of its own. */
function textOf(error: unknown): string {
  if (!(error instanceof Error)) return "unknown";
  return error.message || String(Reflect.get(error, "code") ?? error.name);
}
