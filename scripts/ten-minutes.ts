// `npm run ten-minutes`: what a person does in the first ten minutes, in an empty folder and with what is published: install,
// init over two nodes, check, a key, calls, and an upgrade that keeps the data. Prints what it did, with times and sizes.
import { execFileSync } from "node:child_process";
import { mkdtempSync, readdirSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import {
  emptyFolder,
  npm,
  packed,
  removeFolders,
  type Started,
  start,
} from "../test/package/packed.ts";
import { type AnvilNode, startAnvil } from "../test/support/anvil-node.ts";
import { read } from "../test/support/ask.ts";
import { until } from "../test/support/processes.ts";

/** Where no earlier version has a tag. */
const STAND_IN = "0.0.1";
/** The default ports may be in use on this machine. */
const PORTS = { HEADGATE_LISTEN__PORT: "0", HEADGATE_ADMIN__LISTEN__PORT: "0" };

type Seen = { readonly url: string; readonly hash: string; readonly filter: string };

const temporary = mkdtempSync(join(tmpdir(), "headgate-ten-minutes-"));
const folder = await emptyFolder("empty");
const nodes = (await Promise.all([startAnvil(31_337), startAnvil(31_338)])).map(
  (node) => node ?? fail("there is no anvil for this machine"),
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
  const before = await step(`packed: ${earlierName()}`, packEarlier);
  const now = await step("packed: this version", () => packed());
  await step("npm install, in an empty folder", () => npm(folder, ["install", before]));
  say(`${" ".repeat(10)}${sizeOf(join(folder, "node_modules"))}; ${headgate("--version")}`);
  await step("headgate init <two URLs>", async () =>
    headgate("init", ...nodes.map(({ url }) => url)),
  );
  const advice = await step("headgate check", async () => headgate("check"));
  if (advice.match(/^✓ /gm)?.length !== nodes.length)
    fail(`check did not find both nodes:\n${advice}`);
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
}

/** The receipt of a transaction, and a filter: of each network. */
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

/** One that the node has, as the gateway tells it once it follows the chain. */
async function transactionOf(endpoint: string): Promise<{ node: AnvilNode; hash: string }> {
  const chainId = Number(await read(endpoint, "eth_chainId"));
  const node =
    nodes.find((one) => one.chainId === chainId) ?? fail(`no node is of chain ${chainId}`);
  const hash = node.transactions.at(-1) ?? fail("the node has no transactions");
  await until(`${hash} is told`, async () =>
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
    fail(`what ${key.slice(0, 3)}… was used for is gone`);
  for (const { url: path, hash, filter } of seen) {
    const { node, hash: told } = await transactionOf(url + path);
    if (told !== hash) fail(`${path} tells of another chain`);
    const [from] = await read<string[]>(node.url, "eth_accounts");
    await read(node.url, "eth_sendTransactionSync", { from, to: from });
    await until(
      "the filter tells the new block",
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
  const tags = execFileSync("git", [
    "tag",
    "--list",
    "v*",
    "--sort=-version:refname",
    "--no-contains",
    "HEAD",
  ]);
  return tags.toString().split("\n")[0] || undefined;
}

function earlierName(): string {
  return earlierTag() ?? `no earlier version has a tag: the same code, called ${STAND_IN}`;
}

/** @returns The path of its tarball. */
async function packEarlier(): Promise<string> {
  const tag = earlierTag();
  const there = join(temporary, "earlier");
  execFileSync(
    "git",
    ["clone", "--quiet", "--shared", ...(tag ? ["--branch", tag] : []), ".", there],
    { stdio: "pipe" },
  );
  if (tag) await npm(there, ["ci", "--ignore-scripts"]);
  else {
    symlinkSync(resolve("node_modules"), join(there, "node_modules"));
    await npm(there, ["version", STAND_IN, "--no-git-tag-version"]);
  }
  await npm(there, ["pack", "--pack-destination", temporary]);
  const tarball =
    readdirSync(temporary).find((name) => name.endsWith(".tgz")) ?? fail("nothing was packed");
  return join(temporary, tarball);
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
