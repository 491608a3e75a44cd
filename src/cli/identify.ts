// Networks of which the configuration does not say which chain they are: what was found out earlier counts, else what
// their nodes say, which is kept. A gateway serves the others meanwhile, and asks again until it knows.
import type { Logger } from "pino";
import type { ChainFacts } from "../config/known-chains.ts";
import type { ParsedConfig } from "../config/parse-config.ts";
import type { Config } from "../config/schema.ts";
import type { Facts } from "../config/short-forms.ts";
import type { Gateway } from "../gateway.ts";
import type { Clock } from "../lib/clock.ts";
import { repeat } from "../lib/waiting.ts";
import type { NetworkSettings } from "../network.ts";
import { openState } from "../state/open-state.ts";
import type { State } from "../state/state.ts";
import {
  type Discovery,
  discoverChain,
  keepChainFacts,
  type NodeToAsk,
  type NodeWord,
  readChainFacts,
} from "../upstream/chain-facts.ts";
import { connect } from "../upstream/connection/connect.ts";
import { secretsOf } from "../upstream/redact.ts";

/** How long nodes are waited for, in milliseconds: no start and no reload takes longer for those that are silent. */
export const TIMEOUT_MS = 2_000;
const LOOK_AGAIN_MS = 1_000;
/** Of an answer that is a chain id. */
const ANSWER_BYTES = 65_536;

type IdentifyParts = {
  readonly clock: Clock;
  readonly log: Pick<Logger, "info" | "warn" | "error">;
};

/** Reads a configuration, and completes it. */
export class Identifying {
  /** What was last logged of networks that wait. */
  readonly #told = new Map<string, string>();
  readonly #read: (facts: Facts, text?: string) => ParsedConfig;
  readonly #parts: IdentifyParts;
  /** What was found out, also earlier. */
  #facts: Facts = {};
  /** How many networks wait. */
  #waiting = 0;
  /** Open while networks wait. */
  #state: State | undefined;

  /** @param read The configuration of now, or what a text would be in its place, with these facts. */
  constructor(read: (facts: Facts, text?: string) => ParsedConfig, parts: IdentifyParts) {
    this.#read = read;
    this.#parts = parts;
  }

  /** The configuration of now, with all that is known and can be found out within two seconds. Never rejects. */
  async read(): Promise<ParsedConfig> {
    const parsed = this.#read({});
    if (parsed.kind === "mistakes") return parsed;
    const { unidentified } = parsed.config;
    const facts = unidentified ? await this.#find(parsed.config, unidentified) : {};
    this.#facts = facts;
    const whole = Object.keys(facts).length === 0 ? parsed : this.#read(facts);
    if (whole.kind === "config")
      this.#waiting = Object.keys(whole.config.unidentified ?? {}).length;
    if (this.#waiting === 0) await this.#closeState();
    return whole;
  }

  /** What a text would be in the place of the configuration, with what is known already. */
  check(text: string): ParsedConfig {
    return this.#read(this.#facts, text);
  }

  async #closeState(): Promise<void> {
    const state = this.#state;
    this.#state = undefined;
    await state?.close();
  }

  /** Has the gateway take the configuration again when more of its networks are known; until it is stopped. */
  watch(gateway: Gateway): Gateway {
    const stopping = new AbortController();
    const look = async (): Promise<void> => {
      const waiting = this.#waiting;
      if (waiting === 0) return;
      await this.read();
      if (this.#waiting < waiting && !stopping.signal.aborted)
        await gateway.reloadFile("the gateway, which found a network");
    };
    void repeat(LOOK_AGAIN_MS, look, { clock: this.#parts.clock, signal: stopping.signal });
    const stop = async (why?: string): Promise<void> => {
      stopping.abort();
      await gateway.stop(why);
      await this.#closeState();
    };
    return { ...gateway, stop };
  }

  async #find(config: Config, networks: Record<string, NetworkSettings>): Promise<Facts> {
    const { clock } = this.#parts;
    const log = { info: () => undefined, warn: () => undefined };
    // Where it cannot be opened the gateway does not start, and says why.
    this.#state ??= await openState(config, { clock, log }).catch(() => undefined);
    const state = this.#state;
    const found = await Promise.all(
      Object.entries(networks).map(async ([name, settings]) => {
        const facts = await this.#factsOf(name, settings, state);
        return facts ? [[name, facts] as const] : [];
      }),
    );
    return Object.fromEntries(found.flat());
  }

  async #factsOf(
    name: string,
    settings: NetworkSettings,
    state: State | undefined,
  ): Promise<ChainFacts | undefined> {
    const kept = state && (await readChainFacts(name, state).catch(() => undefined));
    if (kept) return kept;
    const facts = await this.#ask(name, settings);
    // What cannot be kept is asked again at the next start.
    return facts && state ? keepChainFacts(name, facts, state).catch(() => facts) : facts;
  }

  async #ask(network: string, settings: NetworkSettings): Promise<ChainFacts | undefined> {
    const options = { timeoutMs: TIMEOUT_MS };
    const found = await discoverChain(askedNodes(settings, this.#parts), options, this.#parts);
    if (found.kind === "chain") {
      this.#told.delete(network);
      const without = wordsText(found.silent);
      this.#parts.log.info(
        { network, ...found.facts, ...(without ? { silent: without } : {}) },
        "which chain the network is was learned from its nodes, and is kept",
      );
      return found.facts;
    }
    this.#tell(network, found);
    return undefined;
  }

  /** Once, until there is something else to tell. */
  #tell(network: string, found: Exclude<Discovery, { kind: "chain" }>): void {
    const said = wordsText(found.words);
    if (this.#told.get(network) === said) return;
    this.#told.set(network, said);
    const { log } = this.#parts;
    if (found.kind === "disagree")
      log.error(
        { network, said },
        "its nodes are of different chains: write its chainId down; it is not served",
      );
    else
      log.warn({ network, said }, "no node says which chain the network is: it is not served yet");
  }
}

export const askedNodes = (
  { upstreams }: NetworkSettings,
  { clock }: { readonly clock: Clock },
): readonly NodeToAsk[] =>
  upstreams.map((upstream) => ({
    upstream: upstream.name,
    secrets: secretsOf(upstream),
    connect: () => connect({ ...upstream, batch: 1, responseBytes: ANSWER_BYTES }, { clock }),
  }));

export const wordsText = (words: readonly NodeWord[]): string =>
  words
    .map(({ upstream, said }) =>
      typeof said === "string"
        ? `${upstream}: ${said}`
        : `${upstream}: chain ${said.chainId} (${said.family})`,
    )
    .join(", ");
