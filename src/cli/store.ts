// `headgate store …`: shows the content of the configured networks' stores, and forgets logs of old blocks. The command
// works while a gateway runs: LMDB lets one process write at a time, and the gateway has no copy of those logs.
import { existsSync } from "node:fs";
import { join } from "node:path";
import type { parseArgs } from "node:util";
import { BlockStore } from "../chain/block-store.ts";
import { BlockTables } from "../chain/block-tables.ts";
import { type KeptSegment, keptSegmentsOf, type SegmentSelector } from "../chain/kept-segments.ts";
import type { ProofLevel } from "../chain/stored-block.ts";
import type { Config } from "../config/schema.ts";
import type { Environment } from "../config/setting-names.ts";
import { checkEnvironment } from "../disk/check-environment.ts";
import { CommandFailure, configOf, optionsIn, readKnownConfig, WrongUsage } from "./read-config.ts";

type Print = (text: string) => void;

const OPTIONS = {
  config: { type: "string", short: "c" },
  network: { type: "string" },
  upstream: { type: "string" },
  blocks: { type: "string" },
  all: { type: "boolean" },
  json: { type: "boolean" },
} as const;

type Values = ReturnType<typeof parseArgs<{ options: typeof OPTIONS }>>["values"];

/** @param argv The words after `store`. @throws CommandFailure */
export async function store(
  argv: readonly string[],
  environment: Environment,
  print: Print,
): Promise<void> {
  const [word = "", ...rest] = argv;
  if (word !== "show" && word !== "forget") throw new WrongUsage(`unknown command store ${word}`);
  const values = optionsIn(rest, OPTIONS);
  const found = configOf(`store ${word}`, values.config, environment);
  const config = await readKnownConfig(found);
  if (values.network !== undefined && !Object.hasOwn(config.networks, values.network))
    throw new WrongUsage(
      `there is no network ${values.network} in ${found.path ?? "the environment"}`,
    );
  return word === "show" ? show(values, config, print) : forget(values, config, print);
}

async function show({ network, json }: Values, config: Config, print: Print): Promise<void> {
  const names = network === undefined ? Object.keys(config.networks) : [network];
  const views = [];
  for (const name of names) {
    const path = join(config.data, name);
    if (!existsSync(join(path, "data.mdb"))) continue;
    const opened = open(path, () => new BlockTables({ path, readOnly: true }));
    views.push({ network: name, ...describeStore(opened, keptSegmentsOf(opened)) });
    await opened.close();
  }
  if (json) return print(JSON.stringify(views, undefined, 2));
  print(views.length === 0 ? "Nothing is stored." : views.map(storeText).join("\n\n"));
}

async function forget(values: Values, config: Config, print: Print): Promise<void> {
  const { network } = values;
  if (network === undefined) throw new WrongUsage("store forget: --network is missing");
  const forgotten = chosenBy(values);
  const path = join(config.data, network);
  if (!existsSync(join(path, "data.mdb"))) return print("Nothing is stored.");
  const opened = open(path, () => new BlockStore({ path, windowBlocks: 0, bytes: 0 }));
  const segments = await opened.forgetSegments(forgotten);
  await opened.close();
  print(`${segments} ${segments === 1 ? "segment is" : "segments are"} forgotten.`);
}

function chosenBy({ upstream, blocks, all }: Values): SegmentSelector {
  const given = [upstream, blocks, all || undefined].filter((each) => each !== undefined);
  if (given.length !== 1)
    throw new WrongUsage("store forget: expected one of --upstream NAME, --blocks FROM-TO, --all");
  if (upstream !== undefined) return { of: upstream };
  if (blocks === undefined) return "all";
  const [, from, to] = /^(\d{1,10})-(\d{1,10})$/.exec(blocks) ?? [];
  if (from === undefined || to === undefined || Number(from) > Number(to))
    throw new WrongUsage("--blocks: expected two block numbers such as 1000-1999");
  return { within: { from: Number(from), to: Number(to) } };
}

/** Opens a store after a check of its file: LMDB crashes the process if a page is missing. @throws CommandFailure */
function open<Store>(path: string, opened: () => Store): Store {
  try {
    const check = checkEnvironment(path, { mayGoOn: () => true });
    if (check.kind === "damaged") throw new Error(`it is damaged: ${check.why}`);
    return opened();
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause);
    const message = `${path}: the store cannot be opened (${why})`;
    throw new CommandFailure(message, { exitCode: 1, cause });
  }
}

type StoreView = {
  readonly head: number | undefined;
  readonly tail: number | undefined;
  /** How many blocks are stored from tail to head. */
  readonly blocks: number;
  /** The size of the store on disk. */
  readonly bytes: number;
  /** How many blocks have each level of proof. */
  readonly proofs: Readonly<Record<ProofLevel, number>>;
  /** Logs of older blocks as upstreams told them. Segments that an earlier version stored have no upstream. */
  readonly segments: readonly KeptBy[];
};

type KeptBy = { readonly upstreams: string; readonly segments: number; readonly bytes: number };

type Readable = Pick<BlockTables, "head" | "tail" | "bytes" | "hashAt" | "outline">;

export function describeStore(stored: Readable, kept: readonly KeptSegment[]): StoreView {
  const { tail, bytes } = stored;
  const head = stored.head?.number;
  const proofs = { full: 0, partial: 0, none: 0 };
  let blocks = 0;
  for (let number = tail ?? 0; number <= (head ?? -1); number += 1) {
    const hash = stored.hashAt(number);
    const outline = hash === undefined ? undefined : stored.outline(hash);
    if (!outline) continue;
    blocks += 1;
    proofs[outline.proof] += 1;
  }
  return { head, tail, blocks, bytes, proofs, segments: byUpstream(kept) };
}

function byUpstream(segments: readonly KeptSegment[]): KeptBy[] {
  const kept = new Map<string, { segments: number; bytes: number }>();
  for (const { upstreams, bytes } of segments) {
    const name = upstreams.join(", ") || "?";
    const sum = kept.get(name) ?? { segments: 0, bytes: 0 };
    kept.set(name, { segments: sum.segments + 1, bytes: sum.bytes + bytes });
  }
  return [...kept].map(([upstreams, sum]) => ({ upstreams, ...sum }));
}

export function storeText({ network, ...view }: StoreView & { readonly network: string }): string {
  const { head, tail, blocks, bytes, proofs, segments } = view;
  const range = head === undefined ? "no blocks" : `${blocks} blocks, ${tail} to ${head}`;
  const { full, partial, none } = proofs;
  return [
    `${network}: ${range}, ${megabytes(bytes)}`,
    `  proof: full ${full}, partial ${partial}, none ${none}`,
    ...segments.map(
      (kept) =>
        `  logs of older blocks from ${kept.upstreams}: ${kept.segments} segments, ${megabytes(kept.bytes)}`,
    ),
  ].join("\n");
}

const megabytes = (bytes: number): string => `${(bytes / 1e6).toFixed(1)} MB`;
