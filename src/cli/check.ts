// `headgate check`: reads the configuration, tries each upstream, and prints its findings and advice.
import type { Config, NetworkSettings, UpstreamSettings } from "../config/schema.ts";
import { secretsOf } from "../config/secrets.ts";
import { limitsOf } from "../config/vendors.ts";
import { systemClock } from "../lib/clock.ts";
import { Secrets } from "../lib/secrets.ts";
import { traitsOf } from "../methods/catalogue.ts";
import { GATEWAY_CALLS } from "../namespaces/known-method.ts";
import { certificateMistakes } from "../server/tls-front.ts";
import type { State } from "../state/state.ts";
import { adviceFor, type CheckedUpstream } from "../upstream/capabilities/advice.ts";
import { readCapabilities } from "../upstream/capabilities/capability-store.ts";
import {
  type Inspection,
  inspect,
  renderBatches,
  renderInspection,
  renderMemory,
  type TakesBatches,
} from "../upstream/capabilities/inspect.ts";
import { type Discovery, discoverChain } from "../upstream/chain-facts.ts";
import { readBatchAnswer } from "../upstream/connection/batch-answer.ts";
import { connect } from "../upstream/connection/connect.ts";
import type { Connection } from "../upstream/connection/connection.ts";
import { requestJson } from "../upstream/reply.ts";
import { answersText, askedNodes, TIMEOUT_MS as IDENTIFY_TIMEOUT_MS } from "./identify.ts";
import { oddBlockLines } from "./odd-blocks.ts";
import { CommandFailure, keptStateOf } from "./read-config.ts";

type Print = (line: string) => void;

/** @throws CommandFailure when an upstream or a certificate cannot be used. */
export async function check(config: Config, print: Print): Promise<void> {
  const mistakes = certificateMistakes(config);
  if (mistakes.length > 0) throw new CommandFailure(mistakes.join("\n"), { exitCode: 2 });
  print("The configuration is valid.");
  // The check goes on without a state that cannot be opened.
  const state = await keptStateOf(config).catch(() => undefined);
  if (config.state) print(await isReachable(state));
  const found = await withFoundNetworks(config, print);
  let { unusable } = found;
  const advice: string[] = [];
  for (const [network, settings] of Object.entries(found.networks)) {
    const upstreams = await checkNetwork({ network, settings, state }, print);
    unusable += upstreams.filter((each) => each.found.kind !== "usable").length;
    const { family, limits } = settings;
    advice.push(...adviceFor({ network, family, logBlocks: limits.logs.blocks, upstreams }));
  }
  print(advice.length > 0 ? "Advice:" : "There is no advice.");
  for (const line of advice) print(`  ${line}`);
  await state?.close();
  if (unusable > 0) {
    throw new CommandFailure(`${unusable} of the upstreams cannot be used`, { exitCode: 1 });
  }
}

/** Adds the networks whose nodes tell their chain. The upstreams of networks with an unknown chain are unusable. */
async function withFoundNetworks(
  config: Config,
  print: Print,
): Promise<{ networks: Config["networks"]; unusable: number }> {
  const networks = { ...config.networks };
  let unusable = 0;
  const parts = { clock: systemClock };
  for (const [network, settings] of Object.entries(config.unidentified ?? {})) {
    const nodes = askedNodes(settings, parts);
    const found = await discoverChain(nodes, { timeoutMs: IDENTIFY_TIMEOUT_MS }, parts);
    print(discoveryText(network, found));
    if (found.kind === "chain") networks[network] = { ...settings, ...found.facts };
    else unusable += settings.upstreams.length;
  }
  return { networks, unusable };
}

type CheckedNetwork = {
  readonly network: string;
  readonly settings: NetworkSettings;
  readonly state: State | undefined;
};

/** Tries the upstreams in parallel, since each silent one takes its whole timeout. */
async function checkNetwork(
  { network, settings, state }: CheckedNetwork,
  print: Print,
): Promise<readonly CheckedUpstream[]> {
  const looks = settings.upstreams.map(async (upstream) => ({
    upstream,
    ...(await checkUpstream(`${network} / ${upstream.name}`, { settings, upstream })),
  }));
  const checked: CheckedUpstream[] = [];
  for (const { upstream, found, takesBatches, lines } of await Promise.all(looks)) {
    for (const line of lines) print(line);
    const { name, url, vendor } = upstream;
    const kept = { network, upstream: name, url };
    const memory = state && (await readCapabilities(kept, state).catch(() => undefined));
    // The words in it may have been kept by a version that hid fewer spellings of secrets.
    const secrets = new Secrets(secretsOf(upstream));
    for (const line of memory ? renderMemory(memory) : []) print(secrets.redact(line));
    const learned = { takesBatches, widestLogs: memory?.widestLogs };
    checked.push({ name, url, vendor, found, ...learned, vendorLimits: limitsOf(vendor) });
  }
  return checked;
}

/** The result for a network whose chain the configuration does not name. */
function discoveryText(network: string, found: Discovery): string {
  if (found.kind === "chain")
    return `✓ ${network}: chain ${found.facts.chainId} (${found.facts.family}), according to its nodes`;
  const why =
    found.kind === "silent"
      ? "no node says which chain it is: start one, or set family and chainId"
      : "its nodes are on different chains: set chainId, and remove the nodes of other chains";
  return `✗ ${network}: ${why} (${answersText(found.answers)})`;
}

async function checkUpstream(
  name: string,
  { settings, upstream }: { settings: NetworkSettings; upstream: UpstreamSettings },
): Promise<{
  found: Inspection;
  takesBatches: TakesBatches | undefined;
  lines: readonly string[];
}> {
  const { responseBytes } = settings.limits;
  // This connection sends no batches, even if they are configured: `takesBatchesOf` tries one.
  const connection = connect({ ...upstream, batch: 1, responseBytes }, { clock: systemClock });
  try {
    const options = { ...settings, secrets: new Secrets(secretsOf(upstream)) };
    const found = await inspect(options, {
      ...{ connection, clock: systemClock, traitsOf: traitsOf(settings.family) },
    });
    const lines = renderInspection(name, found);
    if (found.kind === "usable" && settings.family === "evm" && settings.proof !== "off")
      lines.push(...(await oddBlockLines({ ...settings, head: found.head.number }, connection)));
    if (found.kind !== "usable" || !upstream.url.startsWith("http"))
      return { found, takesBatches: undefined, lines };
    const batches = await takesBatchesOf(settings.family, connection);
    lines.push(renderBatches(batches));
    return { found, takesBatches: batches, lines };
  } finally {
    await connection.close();
  }
}

/** Sends two calls as one batch. */
async function takesBatchesOf(
  family: NetworkSettings["family"],
  connection: Connection,
): Promise<TakesBatches> {
  const [method] = GATEWAY_CALLS[family].chainId;
  const json = `[${requestJson(1, method, "[]")},${requestJson(2, method, "[]")}]`;
  const exchange = await connection.send({ id: 0, json }, new AbortController().signal);
  const outcome = readBatchAnswer(exchange);
  if (outcome.kind === "each")
    return [1, 2].every((id) => outcome.exchanges.has(id)) ? "yes" : "no";
  return outcome.kind === "refused" ? "no" : "nobody knows";
}

const isReachable = async (state: State | undefined): Promise<string> =>
  (await state?.get("abilities none").then(
    () => true,
    () => false,
  ))
    ? "✓ the shared state can be reached"
    : "✗ the shared state cannot be reached now; a gateway starts without it";
