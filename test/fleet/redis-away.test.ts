// One gateway whose Redis is away at the start, dies while it runs, or is away at the end.
import { afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { anvilCommand } from "../../packages/devnet/src/node-process.ts";
import { type AnvilNode, startAnvil } from "../support/anvil-node.ts";
import { ask, read } from "../support/ask.ts";
import { atDepth } from "../support/depth.ts";
import {
  type RunningGateway,
  runCommand,
  startGatewayProcess,
} from "../support/gateway-process.ts";
import { until } from "../support/processes.ts";
import { hasRedis, newRedis, type RedisServer } from "../support/redis-server.ts";

const isHere = hasRedis && anvilCommand({ port: 1, chainId: 1 }) !== undefined;
const AWAY = {
  code: -32603,
  message: "the gateway's shared state cannot be reached, try again",
};

describe.skipIf(!isHere).each(atDepth([1], [1, 2]))(
  "a gateway of %i servers without its Redis",
  (processes) => {
    let anvil: AnvilNode;
    let redis: RedisServer;
    let gateway: RunningGateway;
    let url: string;

    beforeAll(async () => {
      anvil = (await startAnvil()) as AnvilNode;
      return () => anvil.close();
    });
    beforeEach(async () => {
      redis = await newRedis();
    });
    afterEach(async () => {
      await gateway.stop();
      await redis.close();
    });

    const launch = async (): Promise<void> => {
      const upstreams = [{ url: anvil.url }];
      const networks = { main: { family: "evm", chainId: anvil.chainId, upstreams } };
      gateway = await startGatewayProcess({ state: redis.url, processes, networks });
      url = gateway.endpoint("main");
      await until("the chain is followed", () => head().then(Boolean, () => false));
    };
    const head = async (): Promise<number> => Number(await read<string>(url, "eth_blockNumber"));
    const hashes = (from: number, to: number): Promise<string[]> =>
      Promise.all(
        Array.from({ length: to - from }, (_, index) =>
          read<{ hash: string }>(
            anvil.url,
            "eth_getBlockByNumber",
            `0x${(from + 1 + index).toString(16)}`,
            false,
          ).then(({ hash }) => hash),
        ),
      );
    const mine = (): Promise<unknown> => read(anvil.url, "evm_mine");
    const reachable = async (): Promise<string | undefined> => {
      const text = await (await fetch(gateway.metricsUrl)).text();
      return /^headgate_state_reachable (\d)$/m.exec(text)?.[1];
    };

    /** Retries until the gateway has noticed that Redis is back. */
    async function makeFilter(method: string): Promise<string> {
      let last: object = {};
      const made = until(method, async () => {
        const answer = await ask(url, method);
        last = answer;
        return answer.result as string | undefined;
      });
      return made.catch((error: Error) => {
        throw new Error(`${error.message}: ${JSON.stringify(last)}`);
      });
    }

    /** The items of all polls until the newest block is among them. Errors may be about the state only. */
    async function pollTo(filter: string, newest: string): Promise<string[]> {
      const told: string[] = [];
      await until("the newest block is told", async () => {
        told.push(...(await polled(filter)));
        return told.includes(newest);
      });
      return told;
    }

    const polled = async (filter: string): Promise<string[]> => {
      const { result, error } = await ask(url, "eth_getFilterChanges", [filter]);
      if (error) expect(error).toMatchObject(AWAY);
      return (result as string[] | undefined) ?? [];
    };

    async function makeKey(name: string): Promise<string> {
      const { stdout, stderr, code } = await runCommand([
        "keys",
        "create",
        name,
        "--quiet",
        "--config",
        gateway.configPath,
      ]);
      expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
      return stdout.trim();
    }

    const answers = async (key: string): Promise<boolean> =>
      "result" in (await ask(gateway.endpoint("main", key), "eth_chainId"));

    it("starts, answers what needs no state, and takes up filters and made keys when Redis is there", async () => {
      await launch();
      expect(await head()).toBeGreaterThan(0);
      expect(await reachable()).toBe("0");
      for (const method of ["eth_newBlockFilter", "eth_newPendingTransactionFilter"])
        expect((await ask(url, method)).error).toMatchObject(AWAY);
      for (const method of ["eth_getFilterChanges", "eth_uninstallFilter"])
        expect((await ask(url, method, ["0x1"])).error).toMatchObject(AWAY);

      await redis.start();
      const filter = await makeFilter("eth_newBlockFilter");
      const from = await head();
      await mine();
      const [mined = ""] = await hashes(from, from + 1);
      expect(await pollTo(filter, mined)).toEqual([mined]);
      const pending = await makeFilter("eth_newPendingTransactionFilter");
      // Each server finds out by itself that Redis is back.
      await until("it is uninstalled", async () => {
        const { result } = await ask(url, "eth_uninstallFilter", [pending]);
        return result === true;
      });
      const key = await makeKey("late");
      await until("the key works", () => answers(key));
      await until("it is reachable", async () => (await reachable()) === "1");
    });

    it("loses no key and no filter when Redis is killed, and tells each block exactly once", async () => {
      await redis.start();
      await launch();
      const key = await makeKey("known");
      await until("the key works", () => answers(key));
      const filter = await makeFilter("eth_newBlockFilter");
      const from = await head();
      const told: string[] = [];
      let isPolling = true;
      const polling = (async () => {
        while (isPolling) told.push(...(await polled(filter)));
      })();

      for (let kills = 0; kills < atDepth(1, 3); kills += 1) {
        for (let blocks = 0; blocks < 5; blocks += 1) await mine();
        await redis.kill();
        await until("it is noticed", async () => (await reachable()) === "0");
        await mine();
        expect(await answers(key)).toBe(true);
        expect((await ask(url, "eth_newBlockFilter")).error).toMatchObject(AWAY);
        await redis.start();
        await until("it is back", async () => (await reachable()) === "1");
      }

      const newest = Number(await read<string>(anvil.url, "eth_blockNumber"));
      const wanted = await hashes(from, newest);
      await until("the newest block is told", async () => told.includes(wanted.at(-1) ?? ""));
      isPolling = false;
      await polling;
      expect(told).toEqual(wanted);
      expect(await answers(key)).toBe(true);
    });

    it("ends with code 0 while Redis is away, and again when it never was there", async () => {
      await redis.start();
      await launch();
      await makeFilter("eth_newBlockFilter");
      await makeFilter("eth_newPendingTransactionFilter");
      await redis.kill();
      await until("it is noticed", async () => (await reachable()) === "0");
      await head();
      expect(await gateway.stop()).toBe(0);
      await launch();
      expect(await gateway.stop()).toBe(0);
    });
  },
);
