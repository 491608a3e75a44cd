// `headgate methods`: the list of methods, and the reasons why a key may not call some of them.
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { commandHere } from "../../test/support/command-here.ts";
import { keys } from "./keys.ts";
import { printAllMethods, printMethodsOfKey } from "./methods.ts";
import { readConfig } from "./read-config.ts";

let folder: string;
let path: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "headgate-methods-cli-"));
  path = join(folder, "headgate.yaml");
  const upstreams = [{ url: "http://127.0.0.1:1" }];
  const methods = { allow: ["eth_*", "anvil_mine"], deny: ["eth_getCode"] };
  await writeFile(
    path,
    JSON.stringify({
      data: join(folder, "data"),
      costs: { eth_call: 42 },
      keys: [
        { name: "all", key: "key-of-all" },
        { name: "reader", key: "key-of-reader", readOnly: true, networks: ["main"] },
        { name: "few", key: "key-of-few", methods: ["eth_c*"] },
        { name: "bound", key: "key-of-bound", contracts: [`0x${"11".repeat(20)}`] },
        { name: "old", key: "key-of-old", expires: "2020-01-01T00:00:00Z" },
      ],
      networks: {
        main: { family: "evm", chainId: 1, upstreams, methods },
        space: { family: "conflux", chainId: 1029, upstreams },
      },
    }),
  );
});
afterAll(() => rm(folder, { recursive: true }));

const run = (key: string, network?: string) =>
  commandHere((print) => printMethodsOfKey(readConfig(path, {}), { key, network }, print));

/** A method's price and its last column in the table. */
async function told(key: string, method: string): Promise<string | undefined> {
  const { stdout } = await run(key, "main");
  const row = stdout.split("\n").find((line) => line.trimStart().startsWith(`${method} `));
  const [, , price, answer] = row?.trim().split(/ {2,}/) ?? [];
  return row && `${price}: ${answer}`;
}

describe("headgate methods of a key", () => {
  it.each([
    ["all", "eth_call", "42: yes"],
    ["all", "eth_getCode", /^\d+: no: in methods\.deny of the network$/],
    ["all", "debug_traceTransaction", /^\d+: no: not in methods\.allow of the network \(opens by /],
    ["reader", "eth_call", "42: yes"],
    ["reader", "eth_sendRawTransaction", /^\d+: no: the key is read-only$/],
    ["few", "eth_call", "42: yes"],
    ["few", "eth_getBalance", /^\d+: no: not in the key's methods$/],
    ["few", "anvil_mine", /^\d+: no: the key's methods do not have the method's full name$/],
    ["bound", "eth_call", "42: yes, for the key's contracts"],
    ["bound", "eth_blockNumber", /^\d+: yes$/],
  ])("%s: %s is %s", async (key, method, answer) => {
    expect(await told(key, method)).toMatch(answer);
  });

  it("has a table for each network, or for one", async () => {
    const both = (await run("all")).stdout;
    expect(both.match(/^\w+:$/gm)).toEqual(["main:", "space:"]);
    expect(both).toContain("cfx_getBalance");
    expect((await run("all", "space")).stdout.match(/^\w+:$/gm)).toEqual(["space:"]);
  });

  it("says so where the key is not for a network", async () => {
    expect((await run("reader")).stdout).toContain(
      "space:\n  nothing: the key does not allow this network\n",
    );
  });

  it("says first that a key may call nothing any more", async () => {
    expect((await run("old")).stdout).toMatch(
      /^The key old is expired: it may call nothing\.\n\nmain:/,
    );
  });

  it.each([
    ["nobody", undefined, "--key: there is no key nobody\n"],
    ["all", "third", "--network: there is no network third\n"],
  ])("%s on %s: exit code 2", async (key, network, stderr) => {
    expect(await run(key, network)).toEqual({ code: 2, stdout: "", stderr });
  });

  it("knows keys that were made at runtime, and what became of them", async () => {
    const change = (...words: readonly string[]) =>
      commandHere((print) => keys([...words, "--config", path], {}, print));
    expect((await change("create", "made", "--read-only", "--quiet")).code).toBe(0);
    expect(await told("made", "eth_sendRawTransaction")).toMatch(/no: the key is read-only$/);
    await change("disable", "made");
    expect((await run("made")).stdout).toMatch(/^The key made is disabled: it may call nothing/);
    await change("revoke", "made");
    expect((await run("made")).stdout).toMatch(/^The key made is revoked: it may call nothing/);
  });
});

it("headgate methods of nobody is docs/METHODS.md", async () => {
  const { stdout } = await commandHere((print) => printAllMethods(print));
  expect(stdout).toMatch(/\| `web3_sha3` \| 1 \|/);
  expect(stdout).toContain("cfx_getLogs");
});
