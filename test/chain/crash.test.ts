// The writer is killed (kill -9) at random moments while other processes read: the store is always a consistent chain.
import { fork } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { ask } from "../support/ask.ts";
import { atDepth } from "../support/depth.ts";
import { startGatewayProcess } from "../support/gateway-process.ts";
import { Random } from "../support/generated-chain/random.ts";
import { startGeneratedNode } from "../support/generated-chain/serve.ts";
import { GeneratedChain } from "../support/generated-chain.ts";
import { until } from "../support/processes.ts";
import type { ScriptedNode } from "../support/scripted-node.ts";
import { recordedProblems, type Seen } from "./stored-problems.ts";

const KILLS = atDepth(3, 20);
const SEED = 11;

let data: string;
let node: ScriptedNode;
const random = new Random(SEED);
const chain = new GeneratedChain({
  seed: SEED,
  transactions: [1, 12],
  logs: [2, 20],
  blockSeconds: 0,
});
/** The number of further calls to the node before it calls `onEnough`. */
let callsLeft = Number.POSITIVE_INFINITY;
let onEnough: () => void = () => undefined;
let isGrowing = true;

beforeAll(async () => {
  data = await mkdtemp(join(tmpdir(), "headgate-crash-"));
  chain.extend(30);
  node = await startGeneratedNode(chain, () => {
    if (isGrowing && random.below(4) === 0) {
      if (random.below(3) === 0) chain.reorganise(1 + random.below(6), 6 + random.below(3));
      else chain.extend(1 + random.below(4));
    }
    callsLeft -= 1;
    if (callsLeft === 0) onEnough();
  });
});

afterAll(async () => {
  await node.close();
  await rm(data, { recursive: true, force: true });
});

const start = () =>
  startGatewayProcess({
    data,
    networks: {
      main: { family: "evm", chainId: 1, window: { blocks: 40 }, upstreams: [{ url: node.url }] },
    },
  });

it(`is at a head that it had after each of ${KILLS} kills, and goes on from there (seed ${SEED})`, async () => {
  for (let kill = 0; kill < KILLS; kill += 1) {
    isGrowing = true;
    const gateway = await start();
    const enough = new Promise<void>((resolve) => {
      onEnough = resolve;
    });
    callsLeft = 3 + random.below(120);
    await enough;
    const ended = once(gateway.process, "exit");
    gateway.process.kill("SIGKILL");
    await ended;
    const { problems, heads } = await recordedProblems(join(data, "main"), 1);
    expect(problems).toEqual([]);
    // Each block of the model was canonical once, also the dropped ones.
    for (const hash of heads) expect(chain.byHash(hash)?.hash).toBe(hash);
  }
  isGrowing = false;
  const gateway = await start();
  const url = gateway.endpoint("main");
  const wanted = chain.head.hash;
  await until("the gateway is at the head again", async () => {
    const { result } = await ask(url, "eth_getBlockByNumber", ["latest", false]);
    return (result as { hash?: string } | null)?.hash === wanted;
  });
  await gateway.stop();
  expect((await recordedProblems(join(data, "main"), 1)).problems).toEqual([]);
}, 240_000);

it("shows several processes a whole chain while one writes", async () => {
  isGrowing = true;
  const gateway = await start();
  await until("there is a head", async () => {
    const { result } = await ask(gateway.endpoint("main"), "eth_blockNumber");
    return Number(result) > 0;
  });
  const readers = [1, 2].map(() => fork(new URL("stored-chain.ts", import.meta.url).pathname));
  const seen = await Promise.all(
    readers.map(async (reader) => {
      reader.send({ path: join(data, "main"), looks: atDepth(100, 400), heads: 3 });
      const [told] = (await once(reader, "message")) as [Seen];
      reader.kill();
      return told;
    }),
  );
  for (const { problems, heads } of seen) {
    expect(problems).toEqual([]);
    expect(heads.length).toBeGreaterThan(1);
  }
  await gateway.stop();
});
