// A start over the data of other versions: of an older one, as that version wrote it, and of a newer one.
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { open, type RootDatabase } from "lmdb";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { MADE_FOR, noteKey, STORE_FORMAT } from "../../src/chain/block-tables.ts";
import { LmdbState } from "../../src/state/lmdb-state.ts";
import { FORMAT_KEY, STATE_FORMAT } from "../../src/state/open-state.ts";
import { type AnvilNode, startAnvil } from "../support/anvil-node.ts";
import { ask } from "../support/ask.ts";
import { runCommand, startGatewayProcess } from "../support/gateway-process.ts";
import { until } from "../support/processes.ts";
import { hasRedis, startRedis } from "../support/redis-server.ts";
import { KEY_OF_0_1_0, unpackDataOf010 } from "./packed.ts";

/** The format of a state that a newer version wrote. */
const NEWER = String(STATE_FORMAT + 1);

let anvil: AnvilNode | undefined;
let folder: string;
const data = (...path: string[]): string => join(folder, "data", ...path);

beforeAll(async () => {
  anvil = await startAnvil();
});
afterAll(() => anvil?.close());
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "headgate-upgrade-"));
  unpackDataOf010(folder);
});
afterEach(() => rm(folder, { recursive: true }));

const settings = (more: object = {}) => ({
  ...more,
  data: data(),
  networks: { dev: { family: "evm", chainId: 31_337, upstreams: [{ url: anvil?.url }] } },
});

async function noteIn(path: string, name: string, text?: string): Promise<string> {
  const root: RootDatabase<Buffer, Buffer> = open({ path, noSubdir: false, maxDbs: 10 });
  const binary = { encoding: "binary", keyEncoding: "binary" } as const;
  const notes = root.openDB<Buffer, Buffer>({ name: "notes", ...binary });
  const key = noteKey(name);
  if (text !== undefined) await notes.put(key, Buffer.from(text));
  const found = notes.get(key)?.toString() ?? "";
  await root.close();
  return found;
}

async function formatOfState(): Promise<string | undefined> {
  const state = new LmdbState({ path: data("_state") });
  const format = await state.get(FORMAT_KEY);
  await state.close();
  return format;
}

/** The exit code and the text of a refused start. */
async function refusal(more: object = {}): Promise<{ code: number | null; stderr: string }> {
  const path = join(folder, "headgate.yaml");
  const all = { listen: { port: 0 }, admin: { listen: { port: 0 } }, ...settings(more) };
  await writeFile(path, JSON.stringify(all));
  return runCommand(["--config", path]);
}

describe("data of an older version", () => {
  it("the state is migrated, and the store built anew", async () => {
    expect(await formatOfState()).toBeUndefined();
    expect(await noteIn(data("dev"), MADE_FOR)).toBe("1 31337");
    const gateway = await startGatewayProcess(settings());
    const url = gateway.endpoint("dev", KEY_OF_0_1_0);
    const [hash] = anvil?.transactions ?? [];
    await until("the store has the node's chain", async () => {
      const { result } = await ask(url, "eth_getTransactionReceipt", [hash]);
      return (result as { transactionHash?: string } | null)?.transactionHash === hash;
    });
    expect(gateway.log).toContainEqual(
      expect.objectContaining({ msg: "the state was migrated", from: 1, to: STATE_FORMAT }),
    );
    await until("the store is built anew", async () =>
      gateway.log.some(({ msg }) => msg?.includes("another chain or version")),
    );
    expect(await gateway.stop()).toBe(0);
    expect(await formatOfState()).toBe(String(STATE_FORMAT));
    expect(await noteIn(data("dev"), MADE_FOR)).toBe(`${STORE_FORMAT} 31337`);
  });

  it("a second start has nothing to migrate", async () => {
    await (await startGatewayProcess(settings())).stop();
    const gateway = await startGatewayProcess(settings());
    expect(gateway.log.map(({ msg }) => msg)).not.toContain("the state was migrated");
    expect(await gateway.stop()).toBe(0);
  });
});

describe("data of a newer version", () => {
  it("a state is refused, and left as it is", async () => {
    const state = new LmdbState({ path: data("_state") });
    await state.update([FORMAT_KEY], () => [NEWER]);
    await state.close();
    const { code, stderr } = await refusal();
    expect(stderr).toMatch(
      new RegExp(
        `^data: the state in .*_state is of format ${NEWER}, .* formats up to ${STATE_FORMAT}: .*upgrading\\.md\\)\n$`,
      ),
    );
    expect(code).toBe(1);
    expect(await formatOfState()).toBe(NEWER);
  });

  it.each([1, 2])("a store is refused, and left as it is, with %d processes", async (processes) => {
    await noteIn(data("dev"), MADE_FOR, `${STORE_FORMAT + 1} 31337`);
    const { code, stderr } = await refusal({ processes });
    const [newer, known] = [STORE_FORMAT + 1, STORE_FORMAT];
    expect(stderr).toMatch(
      new RegExp(
        `data: the store in .*dev is of format ${newer}, .* up to ${known}: .*move the folder away`,
      ),
    );
    expect(code).toBe(1);
    expect(await noteIn(data("dev"), MADE_FOR)).toBe(`${STORE_FORMAT + 1} 31337`);
  });

  it.skipIf(!hasRedis)(
    "a shared state is refused, at the start and when it comes to be reached later",
    async () => {
      const redis = await startRedis();
      const state = { state: `${redis.url}` };
      const format = ["hset", "{headgate:format}:texts", FORMAT_KEY, NEWER] as const;
      await redis.command(...format);
      expect(await refusal(state)).toMatchObject({
        code: 1,
        stderr: expect.stringMatching(
          new RegExp(`^state: the shared state under headgate is of format ${NEWER}, `),
        ),
      });
      await redis.command("flushall");
      await redis.kill();
      const gateway = await startGatewayProcess({ ...settings(state), log: { level: "info" } });
      await redis.start();
      await redis.command(...format);
      await until("it ends", async () => gateway.process.exitCode === 1);
      await gateway.stop();
      await redis.kill();
    },
  );
});
