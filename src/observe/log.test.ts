import pino from "pino";
import { expect, it } from "vitest";
import { LogLevels } from "./log.ts";

it("changes the level of the log and of all that come from it", () => {
  const lines: string[] = [];
  const log = pino({ level: "info" }, { write: (line) => void lines.push(JSON.parse(line).msg) });
  const levels = new LogLevels(log);
  const child = log.child({ network: "a" });
  const grandchild = child.child({ upstream: "b" });
  const say = (): void => {
    for (const each of [log, child, grandchild]) each.debug("a");
    for (const each of [log, child, grandchild]) each.warn("b");
  };
  say();
  levels.set("debug");
  say();
  levels.set("error");
  say();
  expect(lines.join("")).toBe("bbbaaabbb");
});
