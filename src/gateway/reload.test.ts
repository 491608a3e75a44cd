import pino from "pino";
import { describe, expect, it } from "vitest";
import { type ParsedConfig, parseConfig } from "../config/parse-config.ts";
import type { Config } from "../config/schema.ts";
import { Reload } from "./reload.ts";

const upstreams = [{ url: "http://127.0.0.1:1/secret-in-url" }];
function configOf(changed: object = {}): Config {
  const networks = { main: { family: "evm", chainId: 1, upstreams } };
  const parsed = parseConfig(JSON.stringify({ networks, ...changed }), {});
  if (parsed.kind === "mistakes") throw new Error(parsed.mistakes.join("\n"));
  return parsed.config;
}

/** A reload over parts that note each step in `done`; `held.until` makes the networks' preparation wait. */
function running() {
  const done: string[] = [];
  const audited: object[] = [];
  const held = { until: Promise.resolve() };
  const log = pino({}, { write: (line) => void done.push(`log ${JSON.parse(line).msg}`) });
  const reload = new Reload(configOf(), {
    log,
    clock: { wallTime: () => 1_000 },
    audit: { note: async (by, change) => void audited.push({ ...by, ...change }) },
    apply: ({ limits }) => void done.push(`apply ${limits.batch}`),
    networks: {
      prepare: async ({ limits }) => {
        done.push(`prepare ${limits.batch}`);
        await held.until;
        if (limits.batch === 13) throw new Error("data: cannot write to ./data");
        return {
          commit: () => void done.push(`commit ${limits.batch}`),
          cancel: async () => void done.push(`cancel ${limits.batch}`),
        };
      },
    },
  });
  return { reload, done, audited, held };
}
const BY = { who: "ci", from: "10.0.0.1" };
const batches = (batch: number): Config => configOf({ limits: { batch } });

describe("a reload", () => {
  it("takes what the file says, and nothing of a bad one", async () => {
    const { reload, done } = running();
    const bad: ParsedConfig = { kind: "mistakes", mistakes: ["limits.batch: x", "keys: y"] };
    expect(await reload.again(() => bad, BY)).toEqual(bad);
    const mistake = "log configuration mistake";
    expect(done).toEqual([mistake, mistake, "log configuration not reloaded: nothing changed"]);
    const good: ParsedConfig = { kind: "config", config: batches(7) };
    expect(await reload.again(() => good, BY)).toMatchObject({ kind: "reloaded" });
    expect(done).toContain("apply 7");
    expect(await reload.again(undefined, BY)).toMatchObject({ kind: "refused" });
  });

  it("is among the last ones, whatever became of it: who, when, and what it changed or why not", async () => {
    const { reload } = running();
    const other = { who: "SIGHUP", from: "here" };
    await reload.again(() => ({ kind: "mistakes", mistakes: ["keys: y"] }), BY);
    await reload.to(batches(7), other);
    await reload.to(batches(13), BY);
    const at = "1970-01-01T00:00:01.000Z";
    expect(reload.past).toEqual([
      { at, ...BY, outcome: "refused", lines: ["data: cannot write to ./data"] },
      { at, ...other, outcome: "reloaded", lines: ["limits.batch: 1000 → 7"] },
      { at, ...BY, outcome: "mistakes", lines: ["keys: y"] },
    ]);
    const many = Array.from({ length: 500 }, (_, index) => `limits: mistake ${index}`);
    for (let times = 0; times < 30; times += 1)
      await reload.again(() => ({ kind: "mistakes", mistakes: many }), BY);
    expect(reload.past).toHaveLength(20);
    expect(reload.past[0]?.lines).toHaveLength(100);
  });

  it("is in the audit trail when it changed something", async () => {
    const { reload, audited } = running();
    await reload.again(() => ({ kind: "mistakes", mistakes: ["keys: y"] }), BY);
    await reload.to(configOf(), BY);
    await reload.to(batches(13), BY);
    expect(audited).toEqual([]);
    await reload.to(batches(7), BY);
    const what = "the configuration was reloaded";
    expect(audited).toEqual([{ ...BY, what, details: ["limits.batch: 1000 → 7"] }]);
  });

  it("makes ready, then commits and applies, and tells what changed", async () => {
    const { reload, done } = running();
    expect(await reload.to(batches(7), BY)).toEqual({
      kind: "reloaded",
      changed: ["limits.batch: 1000 → 7"],
    });
    expect(done).toEqual([
      "prepare 7",
      "log configuration changed",
      "log configuration reloaded",
      "commit 7",
      "apply 7",
    ]);
  });

  it("does nothing where nothing changed", async () => {
    const { reload, done } = running();
    expect(await reload.to(configOf(), BY)).toEqual({ kind: "reloaded", changed: [] });
    expect(done).toEqual(["log configuration reloaded: nothing changed"]);
  });

  it("changes nothing when one of the changes needs a restart", async () => {
    const { reload, done } = running();
    const next = configOf({ limits: { batch: 7 }, data: "/elsewhere" });
    const mistakes = ["data: needs a restart"];
    expect(await reload.to(next, BY)).toEqual({ kind: "mistakes", mistakes });
    expect(done.at(-1)).toBe("log configuration not reloaded: nothing changed");
    expect(done.every((line) => line.startsWith("log"))).toBe(true);
    await reload.to(batches(8), BY);
    expect(done).toContain("apply 8");
  });

  it("changes nothing when a network cannot be made ready", async () => {
    const { reload, done } = running();
    const why = "data: cannot write to ./data";
    expect(await reload.to(batches(13), BY)).toEqual({ kind: "refused", why });
    expect(done).not.toContain("apply 13");
  });

  it("is taken after the one before, and compared with what that one left", async () => {
    const { reload, done, held } = running();
    const first = Promise.withResolvers<void>();
    held.until = first.promise;
    const both = Promise.all([reload.to(batches(7), BY), reload.to(batches(7), BY)]);
    held.until = Promise.resolve();
    first.resolve();
    expect((await both).map((each) => each.kind === "reloaded" && each.changed.length)).toEqual([
      1, 0,
    ]);
    expect(done.filter((line) => line.startsWith("prepare"))).toEqual(["prepare 7"]);
  });

  it("is given up when the gateway stops", async () => {
    const { reload, done, held } = running();
    const ready = Promise.withResolvers<void>();
    held.until = ready.promise;
    const reloaded = reload.to(batches(7), BY);
    await Promise.resolve();
    const closed = reload.close();
    ready.resolve();
    expect(await reloaded).toEqual({ kind: "refused", why: "the gateway is stopping" });
    await closed;
    expect(done).toContain("cancel 7");
    expect((await reload.to(batches(8), BY)).kind).toBe("refused");
  });
});
