// One upstream: sends calls to it, and learns its health, budget, capabilities and head from the replies.
import { secretsOf } from "../config/secrets.ts";
import type { Signal } from "../lib/cancellation.ts";
import { Secrets } from "../lib/secrets.ts";
import type { MethodTraits, WorkKind } from "../namespaces/known-method.ts";
import { RateBudget } from "./budget/rate-budget.ts";
import { BatchSizes } from "./capabilities/batch-sizes.ts";
import { type CallPosition, Capabilities } from "./capabilities/capabilities.ts";
import { CapabilityStore } from "./capabilities/capability-store.ts";
import { Prober } from "./capabilities/prober.ts";
import { WordCheck } from "./capabilities/word-check.ts";
import { Health, type OpenCall } from "./health/health.ts";
import { Identity, type IdentityState, readChainId } from "./identity.ts";
import { NodeAnnouncements, type NodeHead } from "./node-announcements.ts";
import {
  budgetWaitMs,
  endingOf,
  isSuspicious,
  learnFrom,
  type NodeCall,
  NodeRequests,
  ResultChecker,
  type Urgency,
  voiceOf,
} from "./node-requests.ts";
import { NodeTurns, type NoTurn, type Turn } from "./node-turns.ts";
import { withoutSecrets } from "./redact.ts";
import { hasOwnWords, headInReply, type RefusedReply, type Reply } from "./reply.ts";
import type { AskOptions, UpstreamOptions, UpstreamParts } from "./upstream-options.ts";

/** The timeout of a call that follows the chain, where there are other upstreams: `times` the p95 of the work kind. */
const FOLLOW_TIMEOUT = { leastMs: 2_000, times: 4 };

export class Upstream {
  readonly name: string;
  readonly options: UpstreamOptions;
  readonly health: Health;
  readonly budget: RateBudget;
  /** The turns of calls that callers make. */
  readonly turns: NodeTurns;
  readonly capabilities: Capabilities;
  /** The heads and pending transactions that the node announces, and subscriptions of others. */
  readonly announcements: NodeAnnouncements;
  readonly #sizes: BatchSizes;
  /** The newest block that the node told of. */
  head: NodeHead | undefined;
  /** Whether the node's head is on another branch than the followed one. */
  isOnOtherBranch = false;
  #state: IdentityState = "checking";
  #isClosed = false;
  readonly #resultChecker: ResultChecker;
  readonly #identity: Identity;
  readonly #kept: CapabilityStore;
  /** undefined where the configuration turns probes off. */
  readonly #prober: Prober | undefined;
  readonly #wordCheck: WordCheck;
  /** Texts that nobody may see. */
  readonly secrets: Secrets;
  readonly #requests: NodeRequests;
  readonly #onChange: () => void;
  readonly #parts: UpstreamParts;

  /** @param onChange Is called when the node becomes usable or stops being usable. */
  constructor(options: UpstreamOptions, parts: UpstreamParts, onChange: () => void) {
    const { name, network, rate, url } = options;
    this.name = name;
    this.options = options;
    this.#parts = parts;
    this.#onChange = onChange;
    this.capabilities = new Capabilities(parts);
    this.#sizes = new BatchSizes(
      { configured: batchOf(options) },
      { ...parts, onLimited: (size) => this.capabilities.batchLimitedTo(size) },
    );
    this.turns = new NodeTurns({ slots: slotsOf(options) }, { ...parts, sizes: this.#sizes });
    this.budget = new RateBudget({ network, upstream: name, ...rate }, parts);
    this.#resultChecker = new ResultChecker({ network, upstream: name }, parts);
    const { capabilities } = this;
    this.#kept = new CapabilityStore({ network, upstream: name, url }, { ...parts, capabilities });
    this.#prober = options.probe ? this.#makeProber() : undefined;
    this.#wordCheck = this.#makeWordCheck();
    // When a breaker opens or the node stops answering, the identity check asks the node until it answers.
    this.health = new Health(parts, () => this.#recheckIdentity());
    this.secrets = new Secrets(secretsOf(options));
    const connection = parts.connect(options, {
      clock: parts.clock,
      sizes: this.#sizes,
      onReopened: () => this.#recheckIdentity(),
    });
    this.#requests = new NodeRequests({ network, upstream: name }, { ...parts, connection });
    this.announcements = new NodeAnnouncements(options, {
      requests: this.#requests,
      missing: capabilities.missing,
      onHead: (head) => this.noteHead(head, false), // until the follower corrects it
    });
    this.#identity = this.#makeIdentity();
  }

  get state(): IdentityState {
    return this.#state;
  }

  /** Whether the upstream is closed: then nothing asks it any more. */
  get isClosed(): boolean {
    return this.#isClosed;
  }

  /** Whether the node is known to be usable or not: it answered, or was silent long enough for a log line. */
  get isSettled(): boolean {
    return this.#state !== "checking" || this.#identity.isReported;
  }

  isMissing(method: string): boolean {
    return this.capabilities.missing.has(method);
  }

  /** @param name A method, or the name of a variant of one. */
  rememberMissing(name: string): void {
    this.capabilities.missing.remember(name);
  }

  /** Notes the node's head. @param isOnOtherBranch Whether the head is on another branch than the followed one. */
  noteHead(head: NodeHead, isOnOtherBranch: boolean): void {
    this.head = head;
    this.isOnOtherBranch = isOnOtherBranch;
    if (!isOnOtherBranch) this.#parts.heads.saw(head.number);
  }

  /**
   * Makes one call to this node. The reply has no secrets of the upstream's address or headers. Rejects only where
   * `options.isFalse` throws.
   *
   * No function on this path is async: each would hold as much memory as the call itself, and thousands wait at once.
   */
  ask(
    method: string,
    paramsJson: string,
    signal: Signal,
    options: AskOptions = {},
  ): Promise<Reply> {
    const { traits = this.#parts.traitsOf(method) } = options;
    const asked: Asked = { method, paramsJson, signal, options, traits };
    const turn = this.#beginTurn(traits, options, signal);
    return turn instanceof Promise
      ? turn.then((begun) => this.#askInTurn(asked, begun))
      : this.#askInTurn(asked, turn);
  }

  #askInTurn(asked: Asked, turn: Turn | NoTurn | undefined): Promise<Reply> {
    const { method, options, traits } = asked;
    if (turn && turn.kind !== "turn") return Promise.resolve(withoutTurn(turn));
    const sentAtMs = this.#parts.clock.now();
    const waitMs = this.#takeBudget(method, options, sentAtMs);
    if (waitMs > 0) {
      if (turn) this.turns.end(turn);
      return Promise.resolve({ kind: "busy", retryAfterMs: waitMs });
    }
    const { attempt, purpose } = options;
    const call = this.health.open(traits.workKind, sentAtMs);
    if (attempt) attempt.call = call;
    const timeoutMs = purpose === "follow" ? this.#followTimeoutMs(call.workKind) : undefined;
    return this.#requests.send(asked, { turn, sentAtMs, timeoutMs }, ({ reply, cameAtMs }) => {
      const sent: SentCall = { asked, turn, call, sentAtMs, cameAtMs };
      const checked = this.#resultChecker.checked(reply, method, options);
      return checked instanceof Promise
        ? checked.then((believed) => this.#heard(believed, sent))
        : this.#heard(checked, sent);
    });
  }

  #heard(reply: Reply, sent: SentCall): Reply | Promise<Reply> {
    const { asked, turn, sentAtMs } = sent;
    const { paramsJson, options, traits } = asked;
    const { position } = options;
    // The turn ends only after the reply was checked: otherwise replies would pile up.
    if (turn) this.turns.end(turn, { sentAtMs, isCutOff: reply.kind === "aborted" });
    this.#learn(reply, sent);
    if (reply.kind === "refused") return this.#refused(reply, asked);
    if (reply.kind === "busy" && reply.byWords === "to a caller") void this.#wordCheck.askIfBusy();
    this.capabilities.learnFrom(traits, reply, position);
    if (position) this.capabilities.correctClaims(asked, reply, position);
    const head = headInReply(traits, paramsJson, reply);
    if (head !== undefined) this.noteHead({ number: head, hash: undefined }, this.isOnOtherBranch);
    return hasOwnWords(reply, traits) ? withoutSecrets(reply, traits, this.secrets) : reply;
  }

  /** Hides secrets in a refusal, and learns from it. */
  #refused(reply: RefusedReply, asked: Asked): Reply | Promise<Reply> {
    const { method, options, traits } = asked;
    const said = withoutSecrets(reply, traits, this.secrets) as RefusedReply;
    if (voiceOf(asked) === "anyone") return this.#doubted(said, asked);
    const { capabilities } = this;
    capabilities.learnFrom(traits, reply, options.position);
    if (said.doubt !== "unknown" || !capabilities.words.has(method, said)) return said;
    this.checkReach(traits, options.position);
    return { ...said, doubt: "unable" };
  }

  /**
   * Handles a refusal whose words may be the caller's: they teach nothing, so that the gateway asks the node itself. The
   * reply of an only node is `busy` where it refuses the gateway's own call, too.
   */
  #doubted(said: RefusedReply, asked: Asked): Reply | Promise<Reply> {
    const { doubt, lacks } = said;
    const { method, options, traits } = asked;
    if (doubt === "busy") {
      const verdict = this.#wordCheck.askIfBusy();
      if (this.#parts.hasOthers()) return said;
      return verdict.then((isBusy) => (isBusy ? { kind: "busy", retryAfterMs: undefined } : said));
    }
    if (doubt === "missing") this.#wordCheck.method(method, traits);
    if (doubt === "failed") this.#wordCheck.execution(traits);
    if (lacks) this.checkReach(traits, options.position);
    return said;
  }

  /** Asks the node itself, in the background, whether it has the data that a call of these traits needs at a block. */
  checkReach(traits: Pick<MethodTraits, "workKind">, position: CallPosition | undefined): void {
    if (position && !this.#isClosed) this.#wordCheck.reach(traits, position);
  }

  /** @returns undefined: the call goes at once and by itself. */
  #beginTurn(
    traits: MethodTraits,
    { asker, reader }: AskOptions,
    signal: Signal,
  ): Turn | NoTurn | Promise<Turn | NoTurn> | undefined {
    const group = reader ? undefined : this.#sizes.groupOf(traits);
    if (asker) return this.turns.begin(asker, signal, group);
    return group && this.#sizes.isConfigured ? this.turns.ownTurn(group) : undefined;
  }

  #learn(reply: Reply, { asked, call, sentAtMs, cameAtMs }: SentCall): void {
    const { method, signal, options } = asked;
    const { purpose, variant = method } = options;
    const isNoFault = purpose === "probe"; // a probe may ask for data that the node is not made for
    // An upstream whose reply is too long for the gateway is healthy.
    if (reply.kind === "failed" && (reply.isTooLarge || reply.isCrowded)) {
      this.health.close(call, "missing", cameAtMs);
      return;
    }
    this.health.close(call, endingOf(reply, { signal, isNoFault }), cameAtMs);
    const { budget, capabilities } = this;
    learnFrom(reply, { variant, sentAtMs }, { budget, missing: capabilities.missing });
    if (reply.kind === "busy") this.#sizes.failed(call.workKind, sentAtMs); // the node may count each member of a batch
    if (!isNoFault && isSuspicious(reply)) this.#recheckIdentity();
  }

  /** Takes the call's cost from the budget, unless the call has to wait. @returns The wait in milliseconds, or 0. */
  #takeBudget(method: string, urgency: Urgency, now: number): number {
    const cost = this.budget.costOf(method);
    const waitMs = budgetWaitMs(this.budget, cost, urgency, now);
    if (waitMs <= 0) this.budget.take(cost, now);
    return waitMs;
  }

  /** Reads the kept budget and capabilities, then checks the node's chain id in the background until it is right. */
  async start(): Promise<void> {
    await this.budget.start();
    await this.#kept.start();
    const { batch } = this.capabilities;
    if (batch !== undefined) this.#sizes.limitTo(batch);
    this.#identity.check();
  }

  /** Asks the node once more which chain it is of. @returns Whether it has just told the chain of this network. */
  confirmIdentity(): Promise<boolean> {
    return this.#identity.confirm();
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#prober?.close();
    this.#wordCheck.close();
    this.#identity.close();
    await this.#requests.close();
    const kept = [this.#kept.close(), this.budget.close()];
    for (const ended of await Promise.allSettled(kept))
      if (ended.status === "rejected")
        this.#parts.log.error(
          { upstream: this.name, err: ended.reason },
          "the upstream's learned capabilities or month's use could not be stored",
        );
  }

  #makeIdentity(): Identity {
    const { name, chainId, family } = this.options;
    const { clock, log } = this.#parts;
    const readId = (signal: Signal): Promise<number | string> =>
      readChainId(family, (method) => this.ask(method, "[]", signal, { purpose: "check" }));
    return new Identity(
      { name, chainId },
      { clock, log, readChainId: readId, onLooked: (state) => this.#become(state) },
    );
  }

  #makeProber(): Prober {
    const { capabilities } = this;
    return new Prober(
      { family: this.options.family },
      {
        clock: this.#parts.clock,
        capabilities,
        isUsable: () => this.#state === "usable",
        ask: (method, paramsJson, signal) =>
          this.ask(method, paramsJson, signal, { purpose: "probe" }),
      },
    );
  }

  #makeWordCheck(): WordCheck {
    const { capabilities } = this;
    return new WordCheck(
      { family: this.options.family },
      {
        clock: this.#parts.clock,
        capabilities,
        ask: (method, paramsJson, purpose, signal) =>
          this.ask(method, paramsJson, signal, { purpose }),
      },
    );
  }

  /** Calls that follow the chain can go to other nodes, so they do not wait for this one as long as callers do. */
  #followTimeoutMs(workKind: WorkKind): number | undefined {
    if (!this.#parts.hasOthers()) return undefined;
    const { p95Ms = 0 } = this.health.ofKind(workKind);
    return Math.max(FOLLOW_TIMEOUT.leastMs, FOLLOW_TIMEOUT.times * p95Ms);
  }

  /** Checks the chain id of a failing node before the gateway uses it again: at once, so that a slip costs nothing. */
  #recheckIdentity(): void {
    if (this.#state !== "usable") return;
    this.#become("checking");
    this.#identity.check();
  }

  #become(state: IdentityState): void {
    if (this.#isClosed) return;
    const wasUsable = this.#state === "usable";
    this.#state = state;
    const { network } = this.options;
    this.#parts.metrics.upstreamUsable(network, this.name, state === "usable");
    if (wasUsable === (state === "usable")) return;
    if (state === "usable") this.#prober?.begin();
    this.#onChange();
  }
}

/** A call to the upstream. */
type Asked = NodeCall & { readonly options: AskOptions; readonly traits: MethodTraits };

type SentCall = {
  readonly asked: Asked;
  readonly turn: Turn | undefined;
  readonly call: OpenCall;
  readonly sentAtMs: number;
  readonly cameAtMs: number;
};

const withoutTurn = ({ kind, waitMs }: NoTurn): Reply =>
  kind === "left" ? { kind: "aborted" } : { kind: "occupied", waitMs };

/** The most requests at the same time over one WebSocket or IPC socket, which has no limit of its own. */
const ON_ONE_SOCKET = 512;

const isHttp = ({ url }: UpstreamOptions): boolean => /^https?:/i.test(url);

/** The most requests that the connections to a node carry at the same time. */
const slotsOf = (options: UpstreamOptions): number =>
  isHttp(options) ? options.connections : ON_ONE_SOCKET;

/** The configured number of calls in one request; undefined: `BatchSizes` learns it. */
const batchOf = (options: UpstreamOptions): number | undefined =>
  isHttp(options) ? options.batch : 1;
