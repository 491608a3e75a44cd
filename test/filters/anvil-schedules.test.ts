// Random schedules over a real anvil and the real process: blocks, anvil_reorg, polls, nodes that go away, and kill
// -9. A client that only applies its filter's items ends with the canonical logs.
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { anvilCommand } from "../../packages/devnet/src/node-process.ts";
import { emit, type Header, latest, logsOf, settled } from "../support/anvil-chain.ts";
import { type AnvilNode, startAnvil } from "../support/anvil-node.ts";
import { ask, read } from "../support/ask.ts";
import { CutLine } from "../support/cut-line.ts";
import { atDepth } from "../support/depth.ts";
import { type RunningGateway, startGatewayProcess } from "../support/gateway-process.ts";
import { Random } from "../support/generated-chain/random.ts";
import { FilterClient, type Log } from "./filter-client.ts";
import { reorganise } from "./reorganise.ts";

const isHere = anvilCommand({ port: 1, chainId: 1 }) !== undefined;
const SCHEDULES = atDepth(2, 20);
const SEED = 3;

describe.skipIf(!isHere)("clients over anvil", () => {
  const random = new Random(SEED);
  let anvil: AnvilNode;
  let lines: CutLine[];
  let upstreams: { url: string }[];
  let gateway: RunningGateway;
  let data: string;
  let url: string;

  const start = async (): Promise<void> => {
    gateway = await startGatewayProcess({
      data,
      networks: {
        main: { family: "evm", chainId: anvil.chainId, window: { blocks: 40 }, upstreams },
      },
    });
    url = gateway.endpoint("main");
  };

  beforeAll(async () => {
    data = await mkdtemp(join(tmpdir(), "headgate-anvil-schedules-"));
    anvil = (await startAnvil()) as AnvilNode;
    const { port } = new URL(anvil.url);
    lines = [new CutLine(Number(port)), new CutLine(Number(port))];
    upstreams = await Promise.all(lines.map(async (line) => ({ url: await line.open() })));
    await ask(anvil.url, "anvil_mine", ["0x20"]); // no reorg reaches below these blocks
    await start();
    await settled(url, anvil);
  });

  afterAll(async () => {
    await gateway.stop();
    for (const line of lines) line.close();
    anvil.close();
    await rm(data, { recursive: true, force: true });
  });

  async function hashesAfter(number: number): Promise<string[]> {
    const head = Number((await latest(anvil.url)).number);
    const numbers = Array.from({ length: Math.max(0, head - number) }, (_, n) => number + 1 + n);
    const blocks = numbers.map((each) =>
      read<Header>(anvil.url, "eth_getBlockByNumber", `0x${each.toString(16)}`, false),
    );
    return (await Promise.all(blocks)).map(({ hash }) => hash);
  }

  /** The number of each block by its hash, also of dropped blocks. */
  const heights = new Map<string, number>();
  const remember = async (): Promise<void> => {
    const first = Math.max(0, Number((await latest(anvil.url)).number) - 12);
    for (const [index, hash] of (await hashesAfter(first)).entries())
      heights.set(hash, first + 1 + index);
  };

  /** @returns Whether the step was a poll. */
  async function step(poll: () => Promise<unknown>): Promise<boolean> {
    let isPoll = false;
    switch (random.below(8)) {
      case 0:
      case 1: {
        const depth = 1 + random.below(8);
        await reorganise(anvil.url, depth);
        break;
      }
      case 2:
      case 3:
        await emit(anvil);
        break;
      case 4:
        await read(anvil.url, "anvil_mine", `0x${(1 + random.below(3)).toString(16)}`);
        break;
      case 5: {
        const [one, other] = random.below(2) ? lines : lines.toReversed();
        other?.set(true);
        one?.set(false);
        break;
      }
      default:
        isPoll = true;
        await poll();
    }
    await remember();
    return isPoll;
  }

  /** The canonical logs and hashes after a poll. anvil may mine a block again that a reorg dropped. */
  async function canonicalEnd(since: number, poll: () => Promise<unknown>) {
    for (;;) {
      await settled(url, anvil);
      const head = await latest(anvil.url);
      await poll();
      await remember();
      const [logs, hashes] = [await logsOf(anvil), await hashesAfter(since)];
      if ((await latest(anvil.url)).hash === head.hash) return { logs, hashes };
    }
  }

  async function die(): Promise<void> {
    const dead = once(gateway.process, "exit");
    gateway.process.kill("SIGKILL");
    await dead;
    await emit(anvil);
    if (random.below(2)) await reorganise(anvil.url, 1 + random.below(4));
    await remember();
    await start();
    await settled(url, anvil);
  }

  it(`end with exactly the canonical logs and blocks (${SCHEDULES} schedules, seed ${SEED})`, async () => {
    for (let schedule = 0; schedule < SCHEDULES; schedule += 1) {
      await settled(url, anvil);
      const since = Number((await latest(url)).number);
      const logs = {
        id: await read<string>(url, "eth_newFilter", { address: anvil.emitter }),
        client: new FilterClient(await logsOf(anvil)),
      };
      const blocks = {
        id: await read<string>(url, "eth_newBlockFilter"),
        client: new FilterClient(),
      };
      /** @returns The number of items. */
      const poll = async (): Promise<number> => {
        let count = 0;
        for (const { id, client } of [logs, blocks]) {
          const items = await read<(Log | string)[]>(url, "eth_getFilterChanges", id);
          client.hear(items);
          count += items.length;
        }
        return count;
      };
      let isPolled = false;
      for (let done = 0; done < 10; done += 1) isPolled = await step(poll);
      if (random.below(2)) {
        // The gateway notes a moment later that an answer was sent; the next poll waits for that. A kill before it
        // repeats items.
        while (isPolled && (await poll()) > 0);
        await die();
      }
      await step(poll);
      const end = await canonicalEnd(since, poll);
      logs.client.expectLogs(end.logs);
      blocks.client.expectHashes(end.hashes, (hash) => heights.get(hash));
      expect(await read(url, "eth_uninstallFilter", logs.id), `schedule ${schedule}`).toBe(true);
    }
  }, 180_000);
});
