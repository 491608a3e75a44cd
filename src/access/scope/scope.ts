// The rules of a key: the networks, methods and contracts it may be used for, and the places it may be used from. A scope
// is prepared once and asked on every call.

import type { KeySettings } from "../../config/key-settings.ts";
import { readAddress } from "../../conflux/address.ts";
import { isWild, matcherOf } from "../../lib/pattern.ts";
import { type MethodKind, opensByPattern } from "../../namespaces/known-method.ts";
import { addressMatcher } from "./client-address.ts";

export type ScopeSettings = Pick<
  KeySettings,
  "networks" | "methods" | "origins" | "addresses" | "contracts" | "readOnly" | "explain" | "limits"
>;

export type RequestContext = {
  readonly network: string;
  readonly origin: string | undefined;
  /** Read only when the key is bound to addresses. */
  readonly address: () => string | undefined;
};

/** The parts of a method's declaration that the scope needs. */
export type GuardedMethod = {
  readonly name: string;
  readonly kind: MethodKind;
  readonly contractsOf?:
    | ((params: readonly unknown[]) => readonly unknown[] | undefined)
    | undefined;
};

export type GuardedCall = {
  readonly message: { readonly method: string; readonly params: readonly unknown[] };
  /** undefined: the network does not serve the method. */
  readonly method: GuardedMethod | undefined;
};

export type RequestRule = "networks" | "origins" | "addresses";
export type CallRule = "methods" | "readOnly" | "contracts";

/** The rules of one key. A rule that the key does not have is undefined. */
export class Scope {
  readonly largestBatch: number | undefined;
  /** The most bytes of the response to one batch. */
  readonly batchResponseBytes: number | undefined;
  readonly logBlocks: number | undefined;
  readonly upstreamCalls: number | undefined;
  /** Whether callers may ask for the story of a call. */
  readonly mayExplain: boolean;
  readonly #networks: ReadonlySet<string> | undefined;
  /** Tests whether the key names a method in full, or has a pattern that fits its name. */
  readonly #isMethod: Record<"named" | "fitting", (method: string) => boolean> | undefined;
  readonly #isOrigin: ((origin: string | undefined) => boolean) | undefined;
  readonly #isAddress: ((address: string) => boolean) | undefined;
  readonly #isContract: ((address: unknown) => boolean) | undefined;
  readonly #isReadOnly: boolean;
  readonly #settings: ScopeSettings;

  constructor(settings: ScopeSettings) {
    this.#settings = settings;
    const { networks, methods, origins, addresses, contracts, readOnly, limits } = settings;
    this.mayExplain = settings.explain === true;
    this.largestBatch = limits.batch;
    this.batchResponseBytes = limits.batchResponse;
    this.logBlocks = limits.logs.blocks;
    this.upstreamCalls = limits.upstreamCalls;
    this.#networks = networks && new Set(networks);
    this.#isMethod = methods && {
      named: matcherOf(methods.filter((method) => !isWild(method))),
      fitting: matcherOf(methods.filter(isWild)),
    };
    this.#isOrigin = origins && originMatcher(origins);
    this.#isAddress = addresses && addressMatcher(addresses);
    this.#isContract = contracts && contractMatcher(contracts);
    this.#isReadOnly = readOnly === true;
  }

  /** This scope with `mayExplain`. */
  explaining(): Scope {
    return this.mayExplain ? this : new Scope({ ...this.#settings, explain: true });
  }

  /** The rule that forbids every request to this network from this origin and address; undefined when none does. */
  forbidsRequest({ network, origin, address }: RequestContext): RequestRule | undefined {
    if (this.#networks && !this.#networks.has(network)) return "networks";
    if (this.#isOrigin && !this.#isOrigin(origin)) return "origins";
    if (!this.#isAddress) return undefined;
    const from = address();
    return from !== undefined && this.#isAddress(from) ? undefined : "addresses";
  }

  /**
   * The rule that forbids the call. A method that the network does not serve is forbidden only by `methods`: otherwise
   * the caller is told that there is no such method.
   */
  forbidsCall({ message, method }: GuardedCall): CallRule | undefined {
    if (!this.#isOpen(message.method, method?.kind)) return "methods";
    if (!method) return undefined;
    if (this.#isReadOnly && method.kind !== "read") return "readOnly";
    if (!this.#isContract || !method.contractsOf) return undefined;
    // undefined: the declaration cannot tell which contracts the call reads, so it may read any contract.
    const contracts = method.contractsOf(message.params);
    return contracts?.every(this.#isContract) ? undefined : "contracts";
  }

  /** Whether some call of the method may be allowed; for the list of methods that the key may call. */
  offers(method: Pick<GuardedMethod, "name" | "kind">): boolean {
    return this.withholds(method) === undefined;
  }

  /** The rule that forbids every call of the method, with any parameters. */
  withholds({ name, kind }: Pick<GuardedMethod, "name" | "kind">): CallRule | undefined {
    return this.forbidsCall({
      message: { method: name, params: [] },
      method: { name, kind },
    });
  }

  /** The value of Access-Control-Allow-Origin; undefined when the key's origins exclude the page. */
  allowedOrigin(origin: string | undefined): string | undefined {
    if (!this.#isOrigin) return "*";
    return this.#isOrigin(origin) ? origin : undefined;
  }

  /** @param kind undefined: the network does not serve the method, so that a pattern opens a name of any kind. */
  #isOpen(method: string, kind: MethodKind | undefined): boolean {
    if (!this.#isMethod || this.#isMethod.named(method)) return true;
    return (kind === undefined || opensByPattern(kind)) && this.#isMethod.fitting(method);
  }
}

/**
 * A test for the web origins that a key may be used from.
 *
 * `https://app.example.com` is one origin; `app.example.com` is that host with any scheme and on any port,
 * `app.example.com:8080` on that port. `*.example.com` covers the subdomains, not `example.com`; `*` all origins.
 */
export function originMatcher(
  patterns: readonly string[],
): (origin: string | undefined) => boolean {
  const tests = patterns.map((pattern) => testOf(pattern.toLowerCase()));
  return (origin) => {
    if (origin === undefined) return false;
    const parts = partsOf(origin.toLowerCase());
    return tests.some((test) => test(parts));
  };
}

/** The parts of a browser's Origin header; undefined for `null` and for any other text without a scheme and a host. */
type Origin = { scheme: string; host: string; port: string | undefined } | undefined;

const ORIGIN = /^([a-z][a-z0-9+.-]*):\/\/([a-z0-9._-]+|\[[0-9a-f:.]+\])(?::(\d{1,5}))?$/;

function partsOf(text: string): Origin {
  const [, scheme, host, port] = ORIGIN.exec(text) ?? [];
  return scheme !== undefined && host !== undefined
    ? { scheme, host, port: DEFAULT_PORTS.get(scheme) === port ? undefined : port }
    : undefined;
}

/** The ports that browsers leave out of an origin. */
const DEFAULT_PORTS = new Map([
  ["http", "80"],
  ["https", "443"],
]);

function testOf(pattern: string): (origin: Origin) => boolean {
  if (pattern === "*") return () => true;
  const [, scheme, authority = ""] = /^(?:([^:/]+):\/\/)?(.*)$/.exec(pattern) ?? [];
  const [, host = "", written] = /^(.*?)(?::(\d+))?$/.exec(authority) ?? [];
  const isHost = hostTest(host);
  const port = DEFAULT_PORTS.get(scheme ?? "") === written ? undefined : written;
  const isAnyPort = scheme === undefined && port === undefined;
  return (origin) =>
    origin !== undefined &&
    (scheme === undefined || origin.scheme === scheme) &&
    (isAnyPort || origin.port === port) &&
    isHost(origin.host);
}

function hostTest(pattern: string): (host: string) => boolean {
  if (!pattern.startsWith("*.")) return (host) => host === pattern;
  const domain = pattern.slice(1);
  return (host) => host.length > domain.length && host.endsWith(domain);
}

/**
 * A test for the contracts that a key may read, by address: hex on block networks, BASE32 on epoch networks. A value that
 * is no address is in no list.
 */
function contractMatcher(contracts: readonly string[]): (address: unknown) => boolean {
  const known = new Set(contracts.flatMap(spellings));
  return (address) =>
    typeof address === "string" && (known.has(address) || known.has(usual(address)));
}

/** The usual spellings of an address: decoding BASE32 on each call would cost more than the rest of the check. */
const spellings = (contract: string): readonly string[] => {
  const address = read(contract);
  if (!address) return HEX.test(contract) ? [contract.toLowerCase()] : [];
  const { short, verbose } = address;
  return [short, verbose, short.toUpperCase(), verbose.toUpperCase()];
};

const HEX = /^0x[0-9a-fA-F]{40}$/;

/** The same text for all spellings of an address. A text that is no address stays as it is, and is in no list. */
const usual = (address: string): string =>
  HEX.test(address) ? address.toLowerCase() : (read(address)?.short ?? address);

/** Reads a BASE32 address of any network: the check of the parameters refuses those of other networks. */
function read(address: string): { short: string; verbose: string } | undefined {
  const reading = readAddress(address);
  return reading.kind === "address" ? reading.address : undefined;
}
