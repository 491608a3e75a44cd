// `headgate check` and `headgate methods`, over a real anvil, a node of another chain, and nothing.
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type AnvilNode, startAnvil } from "../support/anvil-node.ts";
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

async function check(upstreams: readonly object[], chainId = 31_337) {
  const path = join(folder, "headgate.yaml");
  const networks = { local: { family: "evm", chainId, upstreams } };
  await writeFile(path, JSON.stringify({ networks }));
  return runCommand(["check", "--config", path]);
}

describe("headgate check", () => {
  it("tells who a node is, its head, and which methods it has", async () => {
    const { code, stdout } = await check([{ url: anvil.url, name: "anvil" }]);
    expect(stdout).toMatch(/✓ local \/ anvil: anvil\/v1\.\S+, chain 31337, head \d+, \d+ s old/);
    expect(stdout).toMatch(/has .*eth_getBlockReceipts/);
    expect(stdout).toMatch(/lacks .*eth_getTransactionReceiptsByBlock/);
    expect(code).toBe(0);
  });

  it("ends with 1 when a node is of another chain, or away", async () => {
    const away = { url: "http://127.0.0.1:9/secret-path-of-mine", name: "away" };
    const { code, stdout, stderr } = await check([{ url: anvil.url, name: "other" }, away], 5);
    expect(stdout).toContain("✗ local / other: is on chain 31337, the configuration wants 5");
    expect(stdout).toContain("✗ local / away: ECONNREFUSED");
    expect(stdout + stderr).not.toContain("secret-path");
    expect(code).toBe(1);
  });
});

it("headgate methods lists methods with their prices", async () => {
  const { code, stdout } = await runCommand(["methods"]);
  expect(stdout).toMatch(/\| `web3_sha3` \| 1 \|/);
  expect(code).toBe(0);
});
