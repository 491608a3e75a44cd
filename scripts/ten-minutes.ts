// `npm run ten-minutes`: the first ten minutes of a user, in an empty folder and with the published package: install, init
// over two nodes, check, a key, calls, and an upgrade that keeps the data. Prints each step with times and sizes.
import { execFileSync, spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, rmSync, symlinkSync, unlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import {
  emptyFolder,
  KEY_OF_0_1_0,
  npm,
  packed,
  removeFolders,
  type Started,
  start,
  unpackDataOf010,
} from "../test/package/packed.ts";
import { type AnvilNode, startAnvil } from "../test/support/anvil-node.ts";
import { read } from "../test/support/ask.ts";
import { until } from "../test/support/processes.ts";

/**
 * The commit for the earlier package while no version has a tag: the last one that writes the formats of 0.1.0 (state and
 * store of format 1), with a package that installs.
 */
const OF_FORMATS_1 = "2522b132632322c202ac9d96d461e83cf973b1c8";
/** Port 0 takes any free port: the default ports may be in use on this machine. */
const PORTS = { HEADGATE_LISTEN__PORT: "0", HEADGATE_ADMIN__LISTEN__PORT: "0" };

type Seen = { readonly url: string; readonly hash: string; readonly filter: string };

const temporary = mkdtempSync(join(tmpdir(), "headgate-ten-minutes-"));
const folder = await emptyFolder("empty");
const nodes = (await Promise.all([startAnvil(31_337), startAnvil(31_338)])).map(
  (node) => node ?? fail("anvil is not available for this machine"),
);
try {
  const tookMs = await timed(play);
  say(`All of it took ${seconds(tookMs)}.`);
} finally {
  for (const node of nodes) node.close();
  removeFolders();
  rmSync(temporary, { recursive: true, force: true });
}

async function play(): Promise<void> {
  const now = await step("packed: this version", () => packed());
  const earlier = earlierTag() ?? OF_FORMATS_1;
  const packedEarlier = await packEarlier(earlier);
  const before = packedEarlier ?? now;
  await step("npm install, in an empty folder", () => npm(folder, ["install", before]));
  say(`${" ".repeat(10)}${sizeOf(join(folder, "node_modules"))}; ${headgate("--version")}`);
  await step("headgate init <two URLs>", async () =>
    headgate("init", ...nodes.map(({ url }) => url)),
  );
  const advice = await step("headgate check", async () => headgate("check"));
  if (advice.match(/^✓ /gm)?.length !== nodes.length)
    fail(`headgate check did not find both nodes:\n${advice}`);
  const made = await step("headgate keys create web", async () =>
    headgate("keys", "create", "web"),
  );
  const key = /hg_\w+/.exec(made)?.[0] ?? fail(`no key was made:\n${made}`);
  const first = await step("headgate", serve);
  const seen = await step("calls with the key, to both networks", () => callsOf(first, key));
  await step("stopped", () => stop(first));
  await step("npm install of this version, over the same data", () =>
    npm(folder, ["install", now]),
  );
  say(`${" ".repeat(10)}${headgate("--version")}`);
  const second = await step("headgate", serve);
  await step("calls with the same key; both filters go on", () =>
    expectKept(second, { key, seen }),
  );
  await step("stopped", () => stop(second));
  if (!packedEarlier) await step("the data of 0.1.0 are upgraded", upgradeKeptData);
  else if (earlier === OF_FORMATS_1) expectMigrated(second);
}

/** Expects that the gateway migrated its state and built the stores of both networks anew. */
function expectMigrated({ printed }: Started): void {
  const times = (text: string): number => printed().split(text).length - 1;
  const told = [times("the state was migrated"), times("another chain or version")];
  if (told.join() !== `1,${nodes.length}`) fail(`state and stores were not upgraded: ${told}`);
  say(`${" ".repeat(10)}the state was migrated, ${nodes.length} stores built anew`);
}

async function upgradeKeptData(): Promise<void> {
  const [node = fail("the development nodes did not start")] = nodes;
  rmSync(join(folder, "data"), { recursive: true });
  unpackDataOf010(folder);
  const networks = { dev: { chainId: node.chainId, family: "evm", upstreams: [node.url] } };
  writeFileSync(join(folder, "headgate.yaml"), JSON.stringify({ networks }));
  const gateway = await serve();
  await transactionOf(`${gateway.url}/dev/v1/${KEY_OF_0_1_0}`);
  await stop(gateway);
  if (!gateway.printed().includes("the state was migrated")) fail("the state was not migrated");
}

/** Asks each network for the receipt of a transaction, and makes a filter. */
async function callsOf({ url, printed }: Started, key: string): Promise<readonly Seen[]> {
  const { networks = [] }: { networks?: string[] } = JSON.parse(
    printed()
      .split("\n")
      .find((line) => line.includes('"listening"')) ?? "{}",
  );
  if (networks.length !== nodes.length) fail(`not both networks are served: ${networks}`);
  return Promise.all(
    networks.map(async (network) => {
      const endpoint = `${url}/${network}/v1/${key}`;
      const { hash } = await transactionOf(endpoint);
      return {
        url: `/${network}/v1/${key}`,
        hash,
        filter: await read(endpoint, "eth_newBlockFilter"),
      };
    }),
  );
}

/** A transaction of the node behind an endpoint, once the gateway follows the chain and returns the transaction. */
async function transactionOf(endpoint: string): Promise<{ node: AnvilNode; hash: string }> {
  const chainId = Number(await read(endpoint, "eth_chainId"));
  const node =
    nodes.find((one) => one.chainId === chainId) ?? fail(`no node serves chain ${chainId}`);
  const hash = node.transactions.at(-1) ?? fail("the node has no transactions");
  await until(`the gateway returns the receipt of ${hash}`, async () =>
    Boolean(await read(endpoint, "eth_getTransactionReceipt", hash)),
  );
  return { node, hash };
}

async function expectKept(
  { url }: Started,
  { key, seen }: { readonly key: string; readonly seen: readonly Seen[] },
): Promise<void> {
  if (!/^web +active/m.test(headgate("keys", "list"))) fail("the key is not in the list");
  if (!headgate("keys", "usage", "web", "--csv").includes("eth_newBlockFilter"))
    fail(`the usage of ${key.slice(0, 3)}… is lost`);
  for (const { url: path, hash, filter } of seen) {
    const { node, hash: told } = await transactionOf(url + path);
    if (told !== hash) fail(`${path} answers for another chain`);
    const [from] = await read<string[]>(node.url, "eth_accounts");
    await read(node.url, "eth_sendTransactionSync", { from, to: from });
    await until(
      "the filter reports the new block",
      async () => (await read<string[]>(url + path, "eth_getFilterChanges", filter)).length > 0,
    );
  }
}

function serve(): Promise<Started> {
  return start([join(folder, "node_modules/.bin/headgate")], { cwd: folder, env: PORTS });
}

async function stop(gateway: Started): Promise<void> {
  const code = await gateway.stop();
  if (code !== 0) fail(`the gateway ended with ${code}:\n${gateway.printed()}`);
}

function headgate(...args: readonly string[]): string {
  const file = join(folder, "node_modules/.bin/headgate");
  return execFileSync(file, args, { cwd: folder, encoding: "utf8" }).trim();
}

function earlierTag(): string | undefined {
  const newest = ["--list", "v*", "--sort=-version:refname", "--no-contains", "HEAD"];
  return git("tag", ...newest).split("\n")[0] || undefined;
}

function nameOf(revision: string): string {
  return git("log", "--max-count=1", "--format=%h of %cs: %s", revision).trim();
}

/** Whether the commit is in this clone; a shallow clone fetches that commit alone. */
function hasCommit(revision: string): boolean {
  const isHere = (): boolean =>
    spawnSync("git", ["cat-file", "-e", `${revision}^{commit}`]).status === 0;
  if (!isHere()) spawnSync("git", ["fetch", "--quiet", "--depth=1", "origin", revision]);
  return isHere();
}

/** @returns The path of the tarball; undefined where this checkout has no such commit, or npm cannot pack it. */
async function packEarlier(revision: string): Promise<string | undefined> {
  if (!hasCommit(revision)) return skipped(`this checkout has no commit ${revision}`);
  const there = join(temporary, "earlier");
  git("worktree", "add", "--quiet", "--detach", there, revision);
  try {
    return await step(`packed: ${nameOf(revision)}`, () =>
      packWithLinkedLibraries(there).catch(() => packWithItsLibraries(there)),
    );
  } catch (error) {
    return skipped((error as Error).message);
  } finally {
    git("worktree", "remove", "--force", there);
  }
}

/** Packs the earlier code with the libraries of this checkout: installing its own takes minutes on a busy machine. */
async function packWithLinkedLibraries(there: string): Promise<string> {
  const libraries = join(there, "node_modules");
  symlinkSync(resolve("node_modules"), libraries);
  try {
    return await pack(there);
  } finally {
    unlinkSync(libraries);
  }
}

async function packWithItsLibraries(there: string): Promise<string> {
  await npm(there, ["ci", "--ignore-scripts"]);
  return pack(there);
}

/** Packs without npm's scripts, which would install missing packages in the linked folder. */
async function pack(there: string): Promise<string> {
  execFileSync(process.execPath, ["scripts/pack.mjs"], { cwd: there, stdio: "pipe" });
  await npm(there, ["pack", "--ignore-scripts", "--pack-destination", temporary]);
  const tarball =
    readdirSync(temporary).find((name) => name.endsWith(".tgz")) ?? fail("nothing was packed");
  return join(temporary, tarball);
}

function skipped(why: string): undefined {
  say(`SKIPPED: the earlier package: ${why}`);
  say(
    "This version takes the place of the earlier one, and the data of 0.1.0 are upgraded afterwards.",
  );
}

function git(...args: readonly string[]): string {
  return execFileSync("git", args, { encoding: "utf8", stdio: ["ignore", "pipe", "pipe"] });
}

function sizeOf(path: string): string {
  const kib = Number(execFileSync("du", ["-sk", path]).toString().split("\t")[0]);
  return `${(kib / 1024).toFixed(0)} MiB`;
}

async function step<Value>(what: string, act: () => Promise<Value>): Promise<Value> {
  const from = performance.now();
  const value = await act();
  say(`${seconds(performance.now() - from).padStart(8)}  ${what}`);
  return value;
}

async function timed(act: () => Promise<void>): Promise<number> {
  const from = performance.now();
  await act();
  return performance.now() - from;
}

function seconds(ms: number): string {
  return `${(ms / 1000).toFixed(1)} s`;
}

function say(text: string): void {
  process.stdout.write(`${text}\n`);
}

function fail(why: string): never {
  throw new Error(why);
}
