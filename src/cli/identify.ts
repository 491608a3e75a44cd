// Finds out the chain of networks whose configuration does not name it: the state has it from an earlier time, else the
// nodes tell it, and the state keeps it. Meanwhile the gateway serves the other networks, and asks until it knows.
import type { Logger } from "pino";
import type { ChainFacts } from "../config/known-chains.ts";
import type { ParsedConfig } from "../config/parse-config.ts";
import type { Config, NetworkSettings } from "../config/schema.ts";
import { secretsOf } from "../config/secrets.ts";
import type { Facts } from "../config/short-forms.ts";
import type { Gateway } from "../gateway.ts";
import type { Clock } from "../lib/clock.ts";
import { Secrets } from "../lib/secrets.ts";
import { repeat } from "../lib/waiting.ts";
import type { State } from "../state/state.ts";
import {
  type ChainAnswer,
  type Discovery,
  discoverChain,
  keepChainFacts,
  type NodeToAsk,
  readChainFacts,
} from "../upstream/chain-facts.ts";
import { connect } from "../upstream/connection/connect.ts";
import { stateOf } from "./read-config.ts";

/** In milliseconds: how long silent nodes may delay a start or a reload. */
export const TIMEOUT_MS = 2_000;
const LOOK_AGAIN_MS = 1_000;
/** The most bytes of a response, which is only a chain id. */
const ANSWER_BYTES = 65_536;

type IdentifyParts = {
  readonly clock: Clock;
  readonly log: Pick<Logger, "info" | "warn" | "error">;
};

/** Reads a configuration, and adds the chains that it does not name. */
export class ChainIdentification {
  /** The last text that was logged about each network with an unknown chain. */
  readonly #told = new Map<string, string>();
  readonly #read: (facts: Facts, text?: string) => ParsedConfig;
  readonly #parts: IdentifyParts;
  /** The chains that the last `read` found. */
  #facts: Facts = {};
  /** How many networks have an unknown chain. */
  #waiting = 0;
  /** The state; open while the chain of some network is unknown. */
  #state: State | undefined;

  /** @param read Parses the present configuration, or another text, with these chains. */
  constructor(read: (facts: Facts, text?: string) => ParsedConfig, parts: IdentifyParts) {
    this.#read = read;
    this.#parts = parts;
  }

  /** The present configuration, with all chains that are known or that nodes tell within 2 seconds. Never rejects. */
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

  /** The configuration that a text would make, with the chains of the last `read`. */
  check(text: string): ParsedConfig {
    return this.#read(this.#facts, text);
  }

  async #closeState(): Promise<void> {
    const state = this.#state;
    this.#state = undefined;
    await state?.close();
  }

  /** Reloads the gateway whenever the chain of a further network is found, until the gateway stops. */
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
    // If the state cannot be opened, the gateway does not start either, and tells the reason then.
    this.#state ??= await stateOf(config).catch(() => undefined);
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
    // If the state does not keep the chain, the next start asks the nodes again.
    return facts && state ? keepChainFacts(name, facts, state).catch(() => facts) : facts;
  }

  async #ask(network: string, settings: NetworkSettings): Promise<ChainFacts | undefined> {
    const options = { timeoutMs: TIMEOUT_MS };
    const found = await discoverChain(askedNodes(settings, this.#parts), options, this.#parts);
    if (found.kind === "chain") {
      this.#told.delete(network);
      const without = answersText(found.silent);
      this.#parts.log.info(
        { network, ...found.facts, ...(without ? { silent: without } : {}) },
        "the nodes reported the network's chain, and it is stored",
      );
      return found.facts;
    }
    this.#tell(network, found);
    return undefined;
  }

  /** Logs a network's message, unless the last logged message was the same. */
  #tell(network: string, found: Exclude<Discovery, { kind: "chain" }>): void {
    const said = answersText(found.answers);
    if (this.#told.get(network) === said) return;
    this.#told.set(network, said);
    const { log } = this.#parts;
    if (found.kind === "disagree")
      log.error(
        { network, said },
        "the network is not served, since its nodes are on different chains: set its chainId",
      );
    else
      log.warn(
        { network, said },
        "the network is not served yet, since no node says which chain it is",
      );
  }
}

export const askedNodes = (
  { upstreams }: NetworkSettings,
  { clock }: { readonly clock: Clock },
): readonly NodeToAsk[] =>
  upstreams.map((upstream) => ({
    upstream: upstream.name,
    secrets: new Secrets(secretsOf(upstream)),
    connect: () => connect({ ...upstream, batch: 1, responseBytes: ANSWER_BYTES }, { clock }),
  }));

export const answersText = (answers: readonly ChainAnswer[]): string =>
  answers
    .map(({ upstream, answer }) =>
      typeof answer === "string"
        ? `${upstream}: ${answer}`
        : `${upstream}: chain ${answer.chainId} (${answer.family})`,
    )
    .join(", ");
