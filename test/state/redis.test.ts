// The shared state over a real Redis: the contract of every store, and the time while Redis is away.
import { readFile } from "node:fs/promises";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { errors } from "../../src/jsonrpc/rpc-error.ts";
import { until } from "../support/processes.ts";
import { hasRedis, newRedis, type RedisServer, startRedis } from "../support/redis-server.ts";
import { openShared, type SharedState, timed } from "../support/shared-state.ts";
import { describeStateContract } from "../support/state-contract.ts";

const away = errors.stateUnavailable();

describe.skipIf(!hasRedis)("Redis", () => {
  let redis: RedisServer;
  let shared: SharedState;

  beforeAll(async () => {
    redis = await startRedis();
  });
  afterAll(() => redis.close());
  beforeEach(async () => {
    if (!(await redis.isUp())) await redis.start();
    await redis.command("flushall");
    shared = await openShared(redis.url);
  });
  afterEach(() => shared.state.close());

  describeStateContract("Redis", () => shared.state);

  it("has what it acknowledged after it was killed in the middle of changes", async () => {
    const acknowledged: string[] = [];
    const writeUntilItFails = async (writer: number): Promise<void> => {
      for (let n = 0; ; n += 1) {
        const key = `key ${writer} ${n}`;
        const updated = await shared.state.update([key], () => [""]).catch(() => undefined);
        if (!updated) return;
        acknowledged.push(key);
      }
    };
    const writing = Array.from({ length: 20 }, (_, writer) => writeUntilItFails(writer));
    await until("some were acknowledged", async () => acknowledged.length > 500);
    await redis.kill();
    await Promise.all(writing);
    await redis.start();
    const listed = await until("it is back", () =>
      shared.state.list("key ").catch(() => undefined),
    );
    const keys = new Set(listed.map(({ key }) => key));
    expect(acknowledged.filter((key) => !keys.has(key))).toEqual([]);
  });

  it("fails at once while Redis is away, tells so once, and works again by itself", async () => {
    await shared.state.update(["key a"], () => ["1"]);
    await redis.kill();
    await until("it is noticed", async () => shared.told.at(-1) === false);
    for (const call of [
      () => shared.state.get("key a"),
      () => shared.state.update(["key a"], () => ["2"]),
      () => shared.state.list("key "),
    ]) {
      const { error, ms } = await timed<unknown>(call());
      expect(error).toMatchObject({ code: -32603, status: 503, message: away.message });
      expect(ms).toBeLessThan(1000);
    }
    await redis.start();
    await until("it is back", async () => shared.told.at(-1) === true);
    expect(await shared.state.get("key a")).toBe("1");
    expect(shared.told).toEqual([true, false, true]);
    expect(shared.log).toHaveLength(2);
  });

  it("fails within a second while Redis says nothing, and works again when it does", async () => {
    await shared.state.update(["key a"], () => ["1"]);
    redis.pause();
    const calls = [1, 2, 3].map((n) => timed(shared.state.update([`key ${n}`], () => [""])));
    for (const { error, ms } of await Promise.all(calls)) {
      expect(error?.message).toBe(away.message);
      expect(ms).toBeLessThan(1000);
    }
    const { error, ms } = await timed(shared.state.get("key a"));
    expect(error?.message).toBe(away.message);
    expect(ms).toBeLessThan(1000);
    redis.resume();
    await until("it is back", async () => shared.told.at(-1) === true);
    expect(await shared.state.get("key a")).toBe("1");
  });

  it("comes up without Redis, and finds it when it is there", async () => {
    const later = await newRedis();
    const { state, told, log } = await openShared(later.url);
    expect(told).toEqual([false]);
    expect(log).toEqual([expect.stringContaining("cannot be reached")]);
    await later.start();
    await until("it is found", async () => told.at(-1) === true);
    expect((await state.update(["key a"], () => ["1"])).isChanged).toBe(true);
    await state.close();
    await later.close();
  });

  it("carries on with a Redis that forgot its scripts", async () => {
    await shared.state.update(["key a"], () => ["1"]);
    await redis.command("script", "flush");
    expect((await shared.state.update(["key a"], () => ["2"])).isChanged).toBe(true);
  });

  it("keeps installations apart by their prefix and their database", async () => {
    await shared.state.update(["key a"], () => ["1"]);
    for (const suffix of ["?prefix=other", "/3"]) {
      const other = await openShared(`${redis.url}${suffix}`);
      expect(await other.state.list("key ")).toEqual([]);
      await other.state.close();
    }
    expect(await redis.command("keys", "*")).toContain("{headgate:key}:texts");
  });

  it("answers within a second when it becomes a replica, which refuses to write", async () => {
    await redis.command("replicaof", "127.0.0.1", "1");
    const { error, ms } = await timed(shared.state.update(["key a"], () => ["1"]));
    expect(error?.message).toBe(away.message);
    expect(ms).toBeLessThan(1000);
    await redis.command("replicaof", "no", "one");
    await until("it can be written", () =>
      shared.state.update(["key a"], () => ["1"]).catch(() => false),
    );
  });
});

describe.skipIf(!hasRedis)("a Redis of another kind", () => {
  it("is warned of when it forgets what it acknowledged", async () => {
    const redis = await startRedis("appendonly no");
    const { state, log } = await openShared(redis.url);
    await until("it is said", async () => log.some((line) => line.includes("appendonly")));
    await state.close();
    await redis.close();
  });

  it("takes a user with a password, and shows neither when they are wrong", async () => {
    const redis = await startRedis("requirepass other", "user gate on >s3cr3t/pa@ss ~* &* +@all");
    const url = (word: string): string =>
      `redis://gate:${encodeURIComponent(word)}@127.0.0.1:${redis.port}`;
    const right = await openShared(url("s3cr3t/pa@ss"));
    expect((await right.state.update(["key a"], () => ["1"])).isChanged).toBe(true);
    const wrong = await openShared(url("wr0ng-pass"));
    const { error } = await timed(wrong.state.get("key a"));
    expect(error?.message).toBe(away.message);
    expect(wrong.log.join()).toContain("WRONGPASS");
    expect(JSON.stringify([wrong.log, error, String(error?.cause)])).not.toContain("wr0ng");
    await Promise.all([right.state.close(), wrong.state.close()]);
    await redis.close();
  });

  it("needs no more rights of its user than docs/fleet.md names", async () => {
    const docs = await readFile("docs/fleet.md", "utf8");
    const [, commands = ""] = /and the commands\s+`([a-z ]+)`/.exec(docs) ?? [];
    const rights = commands.split(" ").map((command) => `+${command}`);
    const redis = await startRedis(`user gate on >word ~{headgate:* ${rights.join(" ")}`);
    const { state } = await openShared(`redis://gate:word@127.0.0.1:${redis.port}`);
    const id = { slot: "a", number: 1, keptMs: 60_000 };
    const bounds = { size: 10, perSecond: 1 };
    const request = { bounds, returned: 0, owed: 0, least: 0, wanted: 4, share: 1 };
    expect((await state.update(["key a"], () => ["1"])).isChanged).toBe(true);
    expect((await state.take("limits a", request, id)).granted).toBe(4);
    await state.add([{ key: "usage a", counts: { a: { b: [1] } } }], id);
    await state.append("pending a", { at: 0, items: ["x", "y"], kept: 1 });
    expect((await state.readFrom("pending a", 0)).items).toEqual(["y"]);
    expect(await state.list("usage ")).toHaveLength(1);
    expect(await redis.command("pttl", "{headgate:limits}:done:a")).toMatch(/^[1-9]\d{4}$/);
    await state.close();
    await redis.close();
  });
});
