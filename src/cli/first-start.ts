// The first start: runs the gateway over URLs alone, or writes a configuration for them (`headgate init`). Both ask the
// nodes for their chains. A start without a file leaves its configuration in the data folder for other commands.
// biome-ignore-all lint/suspicious/noTemplateCurlyInString: these placeholders are those of the configuration.

import { existsSync } from "node:fs";
import { readFile, rm, writeFile } from "node:fs/promises";
import { dirname } from "node:path";
import { configuredIn, KeyBook } from "../access/keys/key-book.ts";
import { withoutKeys } from "../config/host-keys.ts";
import { type ChainFacts, chainOf } from "../config/known-chains.ts";
import { parseConfig } from "../config/parse-config.ts";
import type { Config } from "../config/schema.ts";
import { secretsOf } from "../config/secrets.ts";
import type { Environment } from "../config/setting-names.ts";
import { resolveVendor } from "../config/vendors.ts";
import { makeFolder } from "../disk/make-folder.ts";
import { systemClock } from "../lib/clock.ts";
import { Secrets } from "../lib/secrets.ts";
import { traitsOf } from "../methods/catalogue.ts";
import { GATEWAY_CALLS } from "../namespaces/known-method.ts";
import { type Inspection, inspect } from "../upstream/capabilities/inspect.ts";
import { askChain, type ChainAnswer } from "../upstream/chain-facts.ts";
import { connect } from "../upstream/connection/connect.ts";
import type { Connection } from "../upstream/connection/connection.ts";
import { requestJson } from "../upstream/reply.ts";
import {
  CommandFailure,
  type ConfigSource,
  inData,
  leftConfigPath,
  orMistakes,
  programName,
  withStateOf,
} from "./read-config.ts";

/** In milliseconds: the timeout of one call to a node. */
const TIMEOUT_MS = 5_000;
/** In bytes: enough for a block without its transactions. */
const ANSWER_BYTES = 8_388_608;

type Print = (line: string) => void;

type MetNode = {
  readonly url: string;
  /** The printed form of the URL, which itself may hold secrets. */
  readonly host: string;
  /** The node's chain, as the node says now or said at the last start. */
  readonly facts?: ChainFacts;
  readonly found?: Extract<Inspection, { kind: "usable" }>;
  /** The reason why the node could not be inspected; empty when it could. */
  readonly why: string;
};

/** A node whose chain is known. */
type KnownNode = MetNode & { readonly facts: ChainFacts };

const isKnown = (node: MetNode): node is KnownNode => node.facts !== undefined;

/** Inspects all nodes in parallel. Never rejects. */
const meet = (urls: readonly string[]): Promise<readonly MetNode[]> =>
  Promise.all([...new Set(urls)].map(meetNode));

async function meetNode(url: string): Promise<MetNode> {
  const clock = systemClock;
  const open = (): Connection =>
    connect(
      { url, headers: {}, connections: 2, timeoutMs: TIMEOUT_MS, responseBytes: ANSWER_BYTES },
      { clock },
    );
  const host = hostOf(url);
  const secrets = new Secrets(secretsOf({ url, headers: {} }));
  const word: ChainAnswer = await askChain(
    { upstream: host, secrets, connect: open },
    { timeoutMs: TIMEOUT_MS },
    { clock },
  );
  if (typeof word.answer === "string") return { url, host, why: word.answer };
  const connection = open();
  const options = { ...word.answer, secrets, isBrief: true };
  const found = await inspect(options, {
    ...{ connection, clock, traitsOf: traitsOf(word.answer.family) },
  });
  await connection.close();
  if (found.kind === "usable") return { url, host, facts: word.answer, found, why: "" };
  const why = found.kind === "unusable" ? found.reason : "it reports two chain ids";
  return { url, host, why };
}

function hostOf(url: string): string {
  const { protocol = "", host = "", pathname = "" } = URL.parse(url) ?? {};
  return protocol === "ipc:"
    ? (pathname.split("/").at(-1) ?? "ipc")
    : `${protocol}//${withoutKeys(host)}`;
}

/** The name for a network of this chain. */
const networkNameOf = (facts: ChainFacts): string =>
  chainOf(facts)?.name ?? `${facts.family === "evm" ? "chain" : "conflux"}-${facts.chainId}`;

/** In blocks: some nodes that are no archives keep the states of this many. */
const YOUNG = 100_000;

/** The printed line on a node. */
const describe = (node: MetNode): string =>
  node.found && node.facts
    ? `✓ ${node.host}: ${networkNameOf(node.facts)}, ${whatItIs(node)}`
    : `✗ ${node.host}: ${node.why}`;

function whatItIs({ found, why }: MetNode): string {
  if (!found) return why;
  const { clientVersion, chainId, head, reaches } = found;
  // While a chain is short, a node that is no archive may have all states too.
  const all = head.number >= YOUNG ? ", an archive" : "";
  const old = { all, part: ", no archive", unknown: "" };
  return `${clientVersion.slice(0, 60)}, chain ${chainId}, head ${head.number}, ${head.ageSeconds} s old${old[reaches.state.kind]}`;
}

/** @throws CommandFailure for a text that is no node's URL; the message does not contain the text. */
function checkUrls(urls: readonly string[]): void {
  if (urls.length === 0) return;
  if (urls.some((url) => resolveVendor(url, undefined)))
    throw new CommandFailure(VENDORS_NEED_NETWORKS, { exitCode: 2 });
  const networks = { each: { family: "evm", chainId: 1, upstreams: urls } };
  const escaped = JSON.stringify({ networks }).replaceAll("$", () => "$$");
  const parsed = parseConfig(escaped, {});
  if (parsed.kind === "config") return;
  const lines = parsed.mistakes.map((line) =>
    line.replace(/^networks\.each\.upstreams\[(\d+)\](\.url)?/, (_, at) => `URL ${Number(at) + 1}`),
  );
  throw new CommandFailure(lines.join("\n"), { exitCode: 2 });
}

const VENDORS_NEED_NETWORKS =
  "a vendor serves many networks: name those to use, as in HEADGATE_NETWORKS=eth-mainnet,base HEADGATE_DEFAULTS__UPSTREAMS=alchemy://KEY headgate, or in a file (defaults.upstreams)";

/** The nodes by network, one network for each chain. */
const byNetwork = (nodes: readonly MetNode[]): ReadonlyMap<string, readonly KnownNode[]> =>
  Map.groupBy(nodes.filter(isKnown), ({ facts }) => networkNameOf(facts));

const quoted = (text: string): string => JSON.stringify(text.replaceAll("$", () => "$$"));

/** The text of a configuration over these nodes, with comments on settings that a person may want to change next. */
function configText(nodes: readonly MetNode[], program: string): string {
  const networks = [...byNetwork(nodes)].flatMap(([name, members]) => networkLines(name, members));
  const silent = nodes.filter(({ facts }) => !facts);
  return [
    `# Every setting: docs/configuration.md. \${VAR} is read from the environment, $$ is a dollar sign.`,
    "# This file may hold secrets: the keys in the URLs of providers.",
    "",
    "# listen: { host: 127.0.0.1, port: 8545 } # 0.0.0.0 makes it reachable from other machines",
    "# admin: { listen: { host: 127.0.0.1, port: 8546 } } # metrics, keys, reload",
    "# data: ./data # the folder for blocks, keys and usage",
    `# Keys are made and changed with: ${program} keys create web`,
    '# keys: [{ name: web, key: "${WEB_KEY}" }] # or written here',
    "",
    "# defaults: # settings of all networks, and of all upstreams",
    "#   network: { window: { blocks: 10000 } }",
    "#   upstream: { timeout: 20s }",
    "",
    "networks:",
    ...networks,
    ...(silent.length > 0 ? ["  # These nodes did not say which chain they are:"] : []),
    ...silent.map(({ url, host }) => `  #   ${quoted(url)} # ${host}`),
    "",
  ].join("\n");
}

function networkLines(name: string, members: readonly KnownNode[]): string[] {
  const [first] = members;
  if (!first) return [];
  const { family, chainId } = first.facts;
  const known = chainOf(first.facts);
  const about = [
    known?.isTestnet ? "a test network" : "",
    known?.blockMs ? `a block every ${known.blockMs / 1000} s` : "",
    known?.finalAfter ? `blocks are final ${known.finalAfter} below the head` : "",
  ].filter((text) => text !== "");
  return [
    `  ${name}:${about.length > 0 ? ` # ${about.join(", ")}` : ""}`,
    `    family: ${family}`,
    `    chainId: ${chainId} # a node of another chain is kept out`,
    "    upstreams:",
    ...members.flatMap((node) => [`      # ${whatItIs(node)}`, `      - ${quoted(node.url)}`]),
    "    # window: { blocks: 10000, size: 8GiB } # how many of the newest blocks are stored",
    ...(family === "evm"
      ? [
          "    # methods: { groups: [debugTrace, txpool] } # opened beside eth_*, net_*, web3_*, trace_*",
        ]
      : []),
  ];
}

/** The node in the file that `headgate init` writes without URLs. */
const TEMPLATE_NODES: readonly MetNode[] = [
  {
    url: "http://127.0.0.1:8555",
    host: "http://127.0.0.1:8555",
    facts: { family: "evm", chainId: 1 },
    why: "your node, or a provider's URL: https, wss, or ipc:///path/to/node.ipc",
  },
];

/** `headgate init`: writes a configuration, and never over an existing file. @throws CommandFailure */
export async function init(
  {
    urls,
    configPath = "headgate.yaml",
  }: { urls: readonly string[]; configPath: string | undefined },
  environment: Environment,
  print: Print,
): Promise<void> {
  const program = programName(environment);
  checkUrls(urls);
  if (existsSync(configPath)) throw new CommandFailure(isThere(configPath), { exitCode: 2 });
  const nodes = urls.length > 0 ? await meet(urls) : TEMPLATE_NODES;
  orSilent(nodes);
  if (urls.length > 0) for (const node of nodes) print(describe(node));
  await writeFile(configPath, configText(nodes, program), { flag: "wx", mode: 0o600 }).catch(
    async (cause: NodeJS.ErrnoException) => {
      // A partly written file would be taken for the configuration.
      if (cause.code !== "EEXIST") await rm(configPath, { force: true }).catch(() => undefined);
      const why =
        cause.code === "EEXIST"
          ? isThere(configPath)
          : `${configPath}: cannot be written (${cause.code}): use --config to name a file that this user may write`;
      throw new CommandFailure(why, { exitCode: 2, cause });
    },
  );
  const config = configPath === "headgate.yaml" ? "" : ` --config ${configPath}`;
  print(`${configPath} is written. Next:`);
  print(`  ${program} check${config}         # shows what the nodes can do, and what they lack`);
  print(`  ${program} keys create web${config}`);
  print(`  ${config ? `${program} serve${config}` : program.replace(/ --$/, "")}`);
}

const isThere = (path: string): string =>
  `${path} exists already, and is not changed: remove it, or name another file with --config`;

/** @throws CommandFailure when the chain of no node is known. */
function orSilent(nodes: readonly MetNode[]): void {
  if (nodes.some(({ facts }) => facts)) return;
  const lines = nodes.map(describe);
  throw new CommandFailure(["none of these nodes says which chain it is:", ...lines].join("\n"), {
    exitCode: 1,
  });
}

export type FirstStart = ConfigSource & {
  /** Prints the URLs for callers, and calls to paste. */
  readonly announce: (serverUrl: string) => void;
};

/** Inspects the nodes, writes a configuration into the data folder, and makes the first key. @throws CommandFailure */
export async function prepareFirstStart(
  urls: readonly string[],
  environment: Environment,
): Promise<FirstStart> {
  const print: Print = (line) => void process.stdout.write(`${line}\n`);
  checkUrls(urls);
  const path = leftConfigPath(environment);
  const before = await readFile(path, "utf8").catch(() => "");
  const nodes = (await meet(urls)).map((node) => asBefore(node, before));
  orSilent(nodes);
  for (const node of nodes) print(describe(node));
  const text = configText(nodes, programName(environment));
  const config = orMistakes(parseConfig(text, environment));
  await inData(config, async () => {
    makeFolder(dirname(path));
    await writeFile(path, text, { mode: 0o600 });
  });
  const key = await firstKey(config);
  // The key is printed before the start goes on, which may still fail.
  print(
    key === undefined
      ? `The key of the first start still works. To make another one: ${programName(environment)} keys create web`
      : `A new key, which is shown only this once and also works after the next start:  ${key}`,
  );
  const networks = [...byNetwork(nodes)].map(
    ([name, [first]]) => [name, first?.facts.family ?? "evm"] as const,
  );
  return {
    path,
    because: "the nodes were named on the command line",
    announce: (server) =>
      announce({ server, key, networks, program: programName(environment) }, print),
  };
}

/** Gives a node that does not answer now the chain that it had at the last start. */
function asBefore(node: MetNode, before: string): MetNode {
  if (node.facts || before === "") return node;
  const parsed = parseConfig(before, {});
  if (parsed.kind === "mistakes") return node;
  const network = Object.values(parsed.config.networks).find(({ upstreams }) =>
    upstreams.some(({ url }) => url === node.url),
  );
  if (!network) return node;
  const { family, chainId } = network;
  return { ...node, facts: { family, chainId }, why: `${node.why}; the gateway tries it again` };
}

const FIRST_KEY = "first";

/** The text of a new key; undefined when there is an active key already. */
const firstKey = (config: Config): Promise<string | undefined> =>
  withStateOf(config, async (state) => {
    const options = { ...configuredIn(config), secret: config.keySecret };
    const book = new KeyBook(options, { state, clock: systemClock });
    const all = await book.list();
    if (all.some(({ status }) => status === "active")) return undefined;
    let name = FIRST_KEY;
    for (let count = 2; all.some((key) => key.name === name); count += 1)
      name = `${FIRST_KEY}-${count}`;
    const made = await book.create({ name });
    return made.kind === "made" ? made.text : undefined;
  });

type Announced = {
  readonly server: string;
  readonly key: string | undefined;
  readonly networks: readonly (readonly [string, "evm" | "conflux"])[];
  readonly program: string;
};

function announce({ server, key, networks, program }: Announced, print: Print): void {
  const shown = key ?? "<key>";
  for (const [name, family] of networks) {
    const url = `${server}/${name}/v1/${shown}`;
    const body = requestJson(1, ...GATEWAY_CALLS[family].head);
    print("");
    print(`${name}  ${url}`);
    print(`curl -s '${url}' -H 'content-type: application/json' -d '${body}'`);
  }
  print("");
  print(`To keep this as a file that you can change: ${program} init <the same URLs>`);
}
