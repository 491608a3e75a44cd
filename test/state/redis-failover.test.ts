// The shared state over Redis servers that replace each other: a Cluster, and a master and its replica behind a
// Sentinel.
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { errors } from "../../src/jsonrpc/rpc-error.ts";
import { until } from "../support/processes.ts";
import {
  hasRedis,
  type RedisServer,
  startCluster,
  startRedis,
  startSentinel,
} from "../support/redis-server.ts";
import { openShared, type SharedState, timed } from "../support/shared-state.ts";
import { describeStateContract } from "../support/state-contract.ts";

const away = errors.stateUnavailable();
const groups = ["one", "two", "three", "four", "five", "six", "seven", "eight"];

describe.skipIf(!hasRedis)("a Redis Cluster", () => {
  let nodes: RedisServer[] = [];
  let shared: SharedState;

  beforeAll(async () => {
    nodes = await startCluster();
  });
  afterAll(() => Promise.all(nodes.map((node) => node.close())));
  beforeEach(async () => {
    for (const node of nodes) await node.command("flushall");
    const hosts = nodes.slice(0, 2).map(({ port }) => `127.0.0.1:${port}`);
    shared = await openShared(`redis-cluster://${hosts.join()}`);
  });
  afterEach(() => shared.state.close());

  describeStateContract("A Cluster", () => shared.state);

  it("spreads groups over its nodes, and each is one step", async () => {
    for (const group of groups) {
      const pair = ["a", "b"].map((name) => `${group} ${name}`);
      const { isChanged } = await shared.state.update(pair, () => ["a", "b"]);
      expect(isChanged).toBe(true);
      expect(await shared.state.list(`${group} `)).toHaveLength(2);
    }
    const sizes = await Promise.all(nodes.map((node) => node.command("dbsize")));
    expect(sizes.map(Number).every((size) => size > 0)).toBe(true);
  });

  it.each(["killed", "stopped"] as const)(
    "answers or fails in time while a node is %s, and has everything when it is back",
    async (fate) => {
      for (const group of groups) await shared.state.update([`${group} a`], () => [group]);
      const [, node] = nodes;
      if (fate === "killed") await node?.kill();
      else node?.pause();
      for (const group of groups) {
        const { value, error, ms } = await timed(shared.state.get(`${group} a`));
        expect([group, away.message]).toContain(value ?? error?.message);
        expect(ms).toBeLessThan(1000);
      }
      if (fate === "killed") await node?.start();
      else node?.resume();
      for (const group of groups) {
        const text = await until(`${group} is back`, () =>
          shared.state.get(`${group} a`).catch(() => undefined),
        );
        expect(text).toBe(group);
      }
      await until("it is told", async () => shared.told.at(-1) === true);
    },
  );
});

describe.skipIf(!hasRedis)("a master behind a Sentinel", () => {
  it("is followed when another one takes over", async () => {
    const login = ["requirepass s3cr3t", "masterauth s3cr3t"];
    const master = await startRedis(...login);
    const replica = await startRedis(...login, `replicaof 127.0.0.1 ${master.port}`);
    const sentinel = await startSentinel("gates", master, "s3cr3t");
    const url = `redis-sentinel://:s3cr3t@127.0.0.1:${sentinel.port}/gates?db=2`;
    const { state, told } = await openShared(url);
    expect((await state.update(["key a"], () => ["1"])).isChanged).toBe(true);
    await until("the replica has it, and the Sentinel knows the replica", async () => {
      const held = await replica.command("-a", "s3cr3t", "-n", "2", "dbsize");
      const known = await sentinel.command("sentinel", "replicas", "gates");
      return held.endsWith("2") && known.includes(`${replica.port}`);
    });
    await master.kill();
    const { error, ms } = await timed(state.get("key a"));
    expect(error?.message).toBe(away.message);
    expect(ms).toBeLessThan(1000);
    await until("the other one is written to", () =>
      state.update(["key a"], () => ["2"]).catch(() => undefined),
    );
    expect(await replica.command("-a", "s3cr3t", "role")).toContain("master");
    await until("it is told", async () => told.at(-1) === true);
    await state.close();
    await Promise.all([sentinel, replica, master].map((each) => each.close()));
  });
});
