// `headgate check`: its lines on upstreams, and its exit codes. The nodes are scripted; test/cli/check.test.ts checks a
// real one.
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { commandHere } from "../../test/support/command-here.ts";
import { answerOf } from "../../test/support/generated-chain/answers.ts";
import { GeneratedChain } from "../../test/support/generated-chain.ts";
import {
  missing,
  type NodeCall,
  result,
  type ScriptedNode,
  startScriptedNode,
} from "../../test/support/scripted-node.ts";
import { check } from "./check.ts";
import { readConfig } from "./read-config.ts";

const chain = new GeneratedChain({ seed: 3, transactions: [1, 2], logs: [0, 2] });
chain.extend(40);

let folder: string;
let node: ScriptedNode;
let single: ScriptedNode;
let odd: ScriptedNode;
let liar: ScriptedNode;

const answered = (call: NodeCall): string => {
  if (call.method === "web3_clientVersion") return result(call, '"Scripted/v1.2"');
  const json = answerOf(chain, call.method, call.params);
  return json === undefined ? missing(call) : result(call, json);
};

/** A node whose blocks have other members. */
const startChangedNode = (members: object): Promise<ScriptedNode> =>
  startScriptedNode((call) => {
    const text = answered(call);
    if (!call.method.startsWith("eth_getBlockBy")) return text;
    const { result: honest } = JSON.parse(text);
    return result(call, JSON.stringify(honest && { ...honest, ...members }));
  });

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "headgate-check-cli-"));
  // A batch of calls comes as a list.
  node = await startScriptedNode(
    (call) => (Array.isArray(call) ? `[${call.map(answered).join(",")}]` : answered(call)),
    0,
    true,
  );
  single = await startScriptedNode(answered);
  odd = await startChangedNode({ mixHash: undefined });
  liar = await startChangedNode({ extraData: "0x1234" });
});
afterAll(async () => {
  await Promise.all([node, single, odd, liar].map((each) => each.close()));
  await rm(folder, { recursive: true });
});

async function run(upstreams: readonly object[], { chainId = 1, state = {} } = {}) {
  const path = join(folder, "headgate.yaml");
  const networks = { main: { family: "evm", chainId, upstreams } };
  await writeFile(path, JSON.stringify({ data: join(folder, "data"), ...state, networks }));
  return commandHere((print) => check(readConfig(path, {}), print));
}

describe("headgate check", () => {
  it("tells of a node its version, its head, its methods, and whether it takes batches", async () => {
    const { code, stdout, stderr } = await run([{ name: "one", url: node.url }]);
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    expect(stdout).toMatch(
      /^The configuration is valid\.\n✓ main \/ one: Scripted\/v1\.2, chain 1, /,
    );
    expect(stdout).toContain(`head ${chain.head.number}, `);
    expect(stdout).toMatch(/has .*eth_getBlockReceipts/);
    expect(stdout).toMatch(/lacks .*debug_traceTransaction/);
    expect(stdout).toContain("batches: yes");
  });

  it("tells of one that takes no batches", async () => {
    const { code, stdout } = await run([{ name: "one", url: single.url, batch: 5 }]);
    expect(code).toBe(0);
    expect(stdout).toContain("batches: no, each call is sent by itself");
  });

  it("ends with 1 where some cannot be used, and tells of the others all the same", async () => {
    const away = { name: "away", url: "http://127.0.0.1:9/secret-path" };
    const { code, stdout, stderr } = await run([away, { name: "one", url: node.url }]);
    expect(stdout).toContain("✗ main / away: nothing listens there (ECONNREFUSED)");
    expect(stdout).toContain("✓ main / one: ");
    expect(stdout).not.toContain("secret-path");
    expect({ code, stderr }).toEqual({ code: 1, stderr: "1 of the upstreams cannot be used\n" });
  });

  it("ends with 1 where a node is of another chain", async () => {
    const { code, stdout } = await run([{ name: "one", url: node.url }], { chainId: 5 });
    expect(code).toBe(1);
    expect(stdout).toContain("✗ main / one: is on chain 1, but the configuration says 5");
    expect(stdout).not.toContain("batches");
  });

  it("tells what is odd of the newest block and of an old one", async () => {
    const { stdout } = await run([{ name: "one", url: odd.url }]);
    for (const number of [chain.head.number, chain.head.number / 2])
      expect(stdout).toContain(`    block ${number} is odd: header hash (says 0x`);
    const honest = await run([{ name: "one", url: node.url }]);
    expect(honest.stdout).not.toContain("odd");
  });

  it("tells of a block that its own hashes refute", async () => {
    const { code, stdout } = await run([{ name: "one", url: liar.url }]);
    expect(stdout).toContain("does not fit its own hashes, and would be refused: header hash (");
    expect(code).toBe(0);
  });

  it("says whether a shared state can be reached, and needs none", async () => {
    const state = { keySecret: "s".repeat(32), state: "redis://127.0.0.1:9" };
    const { code, stdout } = await run([{ name: "one", url: node.url }], { state });
    expect(stdout).toContain(
      "✗ the shared state cannot be reached now; a gateway starts without it",
    );
    expect(code).toBe(0);
  });
});
