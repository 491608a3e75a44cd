// The chain that nodes tell: asked with the methods of both families, compared between nodes, and kept.
import { describe, expect, it } from "vitest";
import { MemoryState } from "../../test/support/memory-state.ts";
import { systemClock } from "../lib/clock.ts";
import { Secrets } from "../lib/secrets.ts";
import { discoverChain, keepChainFacts, type NodeToAsk, readChainFacts } from "./chain-facts.ts";
import type { Connection, Exchange } from "./connection/connection.ts";

type Answers = Readonly<Record<string, unknown>>;

/** @param answers The results by method; the node does not know other methods. undefined: the node never answers. */
function node(
  upstream: string,
  answers: Answers | undefined,
): NodeToAsk & { closed: () => number } {
  let closed = 0;
  const send: Connection["send"] = async ({ id, json }, signal): Promise<Exchange> => {
    if (!answers)
      return new Promise((resolve) =>
        signal.addEventListener("abort", () => resolve({ kind: "timeout" }), { once: true }),
      );
    const { method } = JSON.parse(json) as { method: string };
    const answer = Object.hasOwn(answers, method)
      ? { result: answers[method] }
      : { error: { code: -32_601, message: `the method ${method} does not exist` } };
    return {
      kind: "answered",
      status: 200,
      body: Buffer.from(JSON.stringify({ jsonrpc: "2.0", id, ...answer })),
    };
  };
  const close = async (): Promise<void> => {
    closed += 1;
  };
  return {
    upstream,
    secrets: new Secrets(["secret"]),
    connect: () => ({ send, close }) as unknown as Connection,
    closed: () => closed,
  };
}

const evm = (chainId: string) => ({ eth_chainId: chainId });
const conflux = { cfx_getStatus: { chainId: "0x405" } };

const found = (...nodes: NodeToAsk[]) =>
  discoverChain(nodes, { timeoutMs: 20 }, { clock: systemClock });

describe("the nodes of a network", () => {
  it.each([
    { what: "a block network's", answers: evm("0x2105"), facts: { family: "evm", chainId: 8453 } },
    { what: "an epoch network's", answers: conflux, facts: { family: "conflux", chainId: 1029 } },
  ])("say that they are $what", async ({ answers, facts }) => {
    expect(await found(node("a", answers), node("b", answers))).toEqual({
      kind: "chain",
      facts,
      silent: [],
    });
  });

  it("leave the word to those that answer, and are let go", async () => {
    const silent = node("b", undefined);
    const all = await found(node("a", evm("0x1")), silent, node("c", {}));
    expect(all).toMatchObject({
      kind: "chain",
      facts: { family: "evm", chainId: 1 },
      silent: [
        { upstream: "b", answer: expect.stringMatching(/^no answer within 0.02 s: is the host/) },
        { upstream: "c" },
      ],
    });
    expect(silent.closed()).toBe(1);
  });

  it("count for nothing where they are of different chains, or families", async () => {
    expect((await found(node("a", evm("0x1")), node("b", evm("0x5")))).kind).toBe("disagree");
    expect((await found(node("a", evm("0x405")), node("b", conflux))).kind).toBe("disagree");
  });

  it.each([
    { what: "nothing", answers: undefined },
    { what: "no method", answers: {} },
    { what: "no number", answers: evm("mainnet") },
    { what: "zero", answers: evm("0x0") },
    { what: "a number that is too large", answers: evm(`0x${"f".repeat(64)}`) },
    { what: "null", answers: { eth_chainId: null } },
  ])("are silent that say $what", async ({ answers }) => {
    const all = await found(node("a", answers));
    expect(all).toMatchObject({
      kind: "silent",
      answers: [{ upstream: "a", answer: expect.any(String) }],
    });
  });
});

describe("why a node says nothing", () => {
  const answered = (status: number, body: object | string): Exchange => ({
    kind: "answered",
    status,
    body: Buffer.from(typeof body === "string" ? body : JSON.stringify({ id: 10, ...body })),
  });
  const TOO_LARGE: Exchange = { kind: "too large" };
  const gone = (reason: string): Exchange => ({ kind: "unreachable", reason });
  const noPlan = { error: { code: -32_600, message: "no \u001b[1m plan for secret" } };

  it.each([
    [gone("ECONNREFUSED"), "nothing listens there (ECONNREFUSED): is the node running"],
    [gone("UND_ERR_SOCKET"), "the connection was ended without an answer (UND_ERR_SOCKET): is"],
    [gone("UND_ERR_CONNECT_TIMEOUT"), "no connection in time (UND_ERR_CONNECT_TIMEOUT): is"],
    [gone("DEPTH_ZERO_SELF_SIGNED_CERT"), "its certificate is signed by an unknown authority"],
    [gone("CERT_HAS_EXPIRED"), "its certificate is not valid now, or not for this host (CERT_HAS_"],
    [gone("ERR_SSL_WRONG_VERSION_NUMBER"), "the host does not speak TLS (ERR_SSL_WRONG_VERSI"],
    [gone("EWHATEVER"), "EWHATEVER"],
    [answered(301, ""), "it redirects to another URL (HTTP 301): use that URL"],
    [answered(401, "{}"), "it refuses access (HTTP 401): is the key in the URL right"],
    [
      answered(404, "not found"),
      "no JSON-RPC is served at this path (HTTP 404): is the URL complete?",
    ],
    [
      answered(502, "bad gateway"),
      "a server in front of the node fails (HTTP 502): try again later",
    ],
    [
      answered(200, "<html>"),
      "the response is not JSON-RPC (malformed answer): is the URL complete",
    ],
    [TOO_LARGE, "the response is not JSON-RPC (the answer is larger than limits.resp"],
    [answered(429, "too many"), "it limits calls, and refuses this one: try again later"],
    [answered(200, noPlan), 'it refuses eth_chainId, saying "no [1m plan for ***"'],
  ])("is said in words that tell what to do: $1", async (exchange, said) => {
    const close = async (): Promise<void> => undefined;
    const connect = () => ({ send: async () => exchange, close });
    const all = await found({ upstream: "a", secrets: new Secrets(["secret"]), connect });
    expect(all).toMatchObject({ kind: "silent", answers: [{ answer: expect.any(String) }] });
    const [word] = all.kind === "silent" ? all.answers : [];
    expect(String(word?.answer).slice(0, said.length)).toBe(said);
  });
});

describe("what is kept of a network", () => {
  const facts = { family: "evm", chainId: 1 } as const;

  it("is what the first one wrote", async () => {
    const state = new MemoryState();
    expect(await readChainFacts("a", state)).toBeUndefined();
    expect(await keepChainFacts("a", facts, state)).toEqual(facts);
    expect(await keepChainFacts("a", { family: "evm", chainId: 5 }, state)).toEqual(facts);
    expect(await readChainFacts("a", state)).toEqual(facts);
    expect(await readChainFacts("b", state)).toBeUndefined();
  });

  it.each([
    "",
    "{",
    '{"family":"evm"}',
    '{"family":"evm","chainId":-1}',
    '{"family":"sol","chainId":1}',
  ])("is nothing where %j stands", async (text) => {
    const state = new MemoryState();
    await state.update(["chains a"], () => [text]);
    expect(await readChainFacts("a", state)).toBeUndefined();
  });
});
