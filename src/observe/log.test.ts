import pino from "pino";
import { describe, expect, it } from "vitest";
import { parseConfig } from "../config/parse-config.ts";
import type { Config } from "../config/schema.ts";
import { LogLevels, LogSecrets } from "./log.ts";

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

describe("a line of the log", () => {
  const configWith = (secret: string): Config => {
    const upstreams = [{ url: `http://127.0.0.1/${secret}`, name: "node" }];
    const networks = { main: { family: "evm", chainId: 1, upstreams } };
    const parsed = parseConfig(JSON.stringify({ networks }), {});
    if (parsed.kind === "mistakes") throw new Error(parsed.mistakes.join());
    return parsed.config;
  };
  const told = (secrets: LogSecrets, fields: object): unknown =>
    JSON.parse(secrets.clean(`${JSON.stringify({ time: 1_234_567_890, ...fields })}\n`));

  it("has no secret of a configuration, nor of those before it", () => {
    const secrets = new LogSecrets();
    secrets.hide(configWith("s3cr3t-1"));
    secrets.hide(configWith("s3cr3t-2"));
    const err = { stack: "at\nS3CR3T-1", input: "/s3cr3t%2D2" };
    expect(told(secrets, { err })).toEqual({
      time: 1_234_567_890,
      err: { stack: "at\n***", input: "/***" },
    });
  });

  it("stays JSON where a number is the same as a secret, and as it was without secrets", () => {
    const secrets = new LogSecrets();
    secrets.hide(configWith("1234567890"));
    expect(told(secrets, {})).toEqual({ time: 1_234_567_890 });
    const line = '{"msg":"100 % of \\u00e9 \\" 127.0.0.1 node main"}\n';
    expect(secrets.clean(line)).toBe(line);
  });
});
