// `headgate check` and `headgate methods`, over a real anvil, a node of another chain, and no node.
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { systemClock } from "../../src/lib/clock.ts";
import { traitsOf } from "../../src/methods/catalogue.ts";
import { LmdbState } from "../../src/state/lmdb-state.ts";
import { Capabilities } from "../../src/upstream/capabilities/capabilities.ts";
import { CapabilityStore } from "../../src/upstream/capabilities/capability-store.ts";
import { type AnvilNode, startAnvil } from "../support/anvil-node.ts";
import { generationsHere, startConfluxNode } from "../support/conflux-nodes.ts";
import { runCommand } from "../support/gateway-process.ts";

let anvil: AnvilNode;
let folder: string;

beforeAll(async () => {
  const started = await startAnvil();
  if (!started) throw new Error("no anvil for this platform");
  anvil = started;
  folder = await mkdtemp(join(tmpdir(), "headgate-check-"));
});

afterAll(async () => {
  await anvil.close();
  await rm(folder, { recursive: true });
});

async function check(upstreams: readonly object[], chainId = 31_337, family = "evm") {
  const path = join(folder, "headgate.yaml");
  const networks = { local: { family, chainId, upstreams } };
  await writeFile(path, JSON.stringify({ data: join(folder, "data"), networks }));
  return runCommand(["check", "--config", path]);
}

describe("headgate check", () => {
  it("tells who a node is, its head, and which methods it has", async () => {
    const { code, stdout } = await check([{ url: anvil.url, name: "anvil" }]);
    expect(stdout).toMatch(/✓ local \/ anvil: anvil\/v1\.\S+, chain 31337, head \d+, \d+ s old/);
    expect(stdout).toMatch(/has .*eth_getBlockReceipts/);
    expect(stdout).toMatch(/lacks .*eth_getTransactionReceiptsByBlock/);
    expect(stdout).toMatch(/state of all \d+ blocks so far: the chain is too young/);
    expect(stdout).toContain("blocks and receipts of all blocks");
    expect(stdout).toContain("batches: yes");
    expect(stdout).not.toContain("remembered");
    expect(stdout).toMatch(
      /Advice:\n {2}local: the gateway polls for new blocks, .*\n {2}local: anvil is the only node/,
    );
    expect(code).toBe(0);
  });

  it("tells what is remembered of a node, while a gateway has the state open", async () => {
    const state = new LmdbState({ path: join(folder, "data", "_state") });
    const capabilities = new Capabilities({ clock: systemClock, traitsOf: traitsOf("evm") });
    const names = { network: "local", upstream: "anvil", url: anvil.url };
    const kept = new CapabilityStore(names, { state, capabilities, clock: systemClock });
    await kept.start();
    capabilities.learnVersion("anvil/v0.9");
    capabilities.missing.remember("trace_get");
    await kept.close();
    const { stdout } = await check([{ url: anvil.url, name: "anvil" }]);
    expect(stdout).toContain("remembered of anvil/v0.9: it lacked trace_get");
    await state.close();
    const other = await check([
      { url: anvil.url, name: "anvil", timeout: "5s" },
      { url: `${anvil.url}/other` },
    ]);
    expect(other.stdout.match(/remembered of/g)).toHaveLength(1);
  });

  it("ends with 1 when a node is of another chain, or away", async () => {
    const away = { url: "http://127.0.0.1:9/secret-path-of-mine", name: "away" };
    const { code, stdout, stderr } = await check([{ url: anvil.url, name: "other" }, away], 5);
    expect(stdout).toContain("✗ local / other: is on chain 31337, but the configuration says 5");
    expect(stdout).toContain("✗ local / away: nothing listens there (ECONNREFUSED)");
    expect(stdout + stderr).not.toContain("secret-path");
    expect(code).toBe(1);
  });
});

const ONE_BLOCK = { "2.4": "generateoneblock", "3.0": "test_generateOneBlock" };

describe.each(generationsHere())("headgate check of conflux-rust %s", (generation) => {
  it("tells its version, and that it has all epochs", async () => {
    const node = await startConfluxNode(generation);
    if (!node) throw new Error("it runs here");
    try {
      for (let epochs = 0; epochs < 10; epochs += 1)
        await node.call(ONE_BLOCK[generation], [1, 1e6]);
      const { code, stdout } = await check([{ url: node.url }], node.chainId, "conflux");
      expect(stdout).toMatch(/: conflux-rust\S+, chain \d+, head \d+/i);
      expect(stdout).toMatch(/has .*cfx_getEpochReceipts/);
      expect(stdout).toMatch(/state of all \d+ blocks so far: the chain is too young/);
      expect(stdout).toContain("blocks and receipts of all blocks");
      expect(stdout).toContain("batches: yes");
      expect(code).toBe(0);
    } finally {
      await node.close();
    }
  });
});

it("headgate methods lists methods with their prices", async () => {
  const { code, stdout } = await runCommand(["methods"]);
  expect(stdout).toMatch(/\| `web3_sha3` \| 1 \|/);
  expect(code).toBe(0);
});
