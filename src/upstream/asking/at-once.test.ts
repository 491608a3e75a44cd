import { describe, expect, it } from "vitest";
import { FakeClock } from "../../../test/support/fake-clock.ts";
import { driven, failed, networkOf, result } from "../../../test/support/scripted-call.ts";
import { RpcError } from "../../jsonrpc/rpc-error.ts";
import type { Reply } from "../reply.ts";
import type { Upstream } from "../upstream.ts";
import type { Arrival } from "./call-options.ts";

type Answer = Reply | Promise<Reply>;

const ok = (text: string): Reply => ({ kind: "result", json: Buffer.from(`"${text}"`) });
const DOWN: Reply = { kind: "failed", reason: "ECONNREFUSED" };
const BEHIND: Reply = {
  kind: "refused",
  code: -32000,
  message: "header not found",
  json: '{"code":-32000,"message":"header not found"}',
  lacks: "block",
};
const silence = new Promise<Reply>(() => undefined);

/** Nodes by name; each gives its answers in turn and repeats the last one. The first letter of a name is the vendor. */
function election(answers: Record<string, readonly Answer[]>, rule = { ask: 3, agree: 2 }) {
  const asked: string[] = [];
  const dissenters: string[] = [];
  const evidence: object[] = [];
  const signals: AbortSignal[] = [];
  const clock = new FakeClock();
  const nodes = Object.entries(answers).map(([name, given]) => {
    let turn = 0;
    return {
      name,
      isMissing: () => false,
      options: { vendor: name[0] },
      ask: async (_method: string, _params: string, signal: AbortSignal) => {
        asked.push(name);
        signals.push(signal);
        turn += 1;
        return given[Math.min(turn, given.length) - 1] ?? DOWN;
      },
    };
  });
  const isUncertain = (reply: Reply) => reply.kind === "result" && String(reply.json) === '"null"';
  const network = {
    ...networkOf(nodes as unknown as Upstream[]),
    redact: (text: string) => text.replaceAll("s3cr3t-1", "***"),
    dissented: (name: string, _method: string, texts: object) => {
      dissenters.push(name);
      evidence.push(texts);
    },
  };
  const caller = new AbortController();
  const vote = async (): Promise<string> => {
    try {
      const { signal } = caller;
      const call = {
        method: "m",
        signal,
        rule,
        options: { crossCheck: { name: "null", isUncertain } },
      };
      const said = await driven(call, { clock, network });
      return said.kind === "result" ? String(said.json) : said.message;
    } catch (error) {
      return error instanceof RpcError ? `${error.status} ${error.message}` : String(error);
    }
  };
  return { vote, asked, dissenters, evidence, signals, clock, caller };
}

describe("what several vendors are asked", () => {
  it.each<[string, Record<string, readonly Answer[]>, string, string[], string[]]>([
    ["all agree", { a: [ok("1")], b: [ok("1")], c: [ok("1")] }, '"1"', ["a", "b", "c"], []],
    ["one lies", { a: [ok("2")], b: [ok("1")], c: [ok("1")] }, '"1"', ["a", "b", "c"], ["a"]],
    ["one is silent", { a: [ok("1")], b: [silence], c: [ok("1")] }, '"1"', ["a", "b", "c"], []],
    [
      "one is down, and another one stands by",
      { a: [DOWN], b: [ok("1")], c: [ok("2")], d: [ok("1")] },
      '"1"',
      ["a", "b", "c", "d"],
      ["c"],
    ],
    [
      "two are of one vendor",
      { a1: [ok("2")], a2: [ok("2")], b: [ok("1")], c: [ok("1")] },
      '"1"',
      ["a1", "b", "c"],
      ["a1"],
    ],
    [
      "nobody agrees",
      { a: [ok("1")], b: [ok("2")], c: [ok("3")] },
      "502 the upstreams of this network disagree",
      ["a", "b", "c"],
      ["a", "b", "c"],
    ],
    [
      "too many are down",
      { a: [ok("1")], b: [DOWN], c: [DOWN] },
      "502 no upstream could answer",
      ["a", "b", "c"],
      ["a"],
    ],
    [
      "there are too few",
      { a1: [ok("1")], a2: [ok("1")] },
      "503 2 vendors must agree on the answer to this method, and fewer vendors of this network can be asked",
      [],
      [],
    ],
    [
      "two may lag",
      { a: [ok("null")], b: [ok("null")], c: [ok("null")] },
      '"null"',
      ["a", "b", "c"],
      [],
    ],
  ])("when %s", async (_, answers, want, asked, dissenters) => {
    const election1 = election(answers);
    expect(await election1.vote()).toBe(want);
    expect(election1.asked).toEqual(asked);
    expect(election1.dissenters).toEqual(dissenters);
  });

  it("is asked again of who does not have the newest block yet", async () => {
    const { vote, asked, clock } = election({ a: [ok("1")], b: [BEHIND, BEHIND, ok("1")] });
    const voted = vote();
    for (const ms of [0, 250, 250]) await clock.advance(ms);
    expect(await voted).toBe('"1"');
    expect(asked).toEqual(["a", "b", "b", "b"]);
    expect(clock.waiting).toBe(0);
  });

  it("is told of who dissents after the others agreed", async () => {
    let late: (reply: Reply) => void = () => undefined;
    const answer = new Promise<Reply>((resolve) => {
      late = resolve;
    });
    const { vote, dissenters } = election({ a: [answer], b: [ok("1")], c: [ok("1")] });
    expect(await vote()).toBe('"1"');
    late(ok("2"));
    await new Promise(setImmediate);
    expect(dissenters).toEqual(["a"]);
  });

  it("tells what a dissenter said and what the others did, from a little before where they part", async () => {
    const same = "x".repeat(10_000);
    const long = election({ a: [ok(`${same}2`)], b: [ok(`${same}1`)], c: [ok(`${same}1`)] });
    await long.vote();
    const common = `…${"x".repeat(40)}`;
    expect(long.evidence).toEqual([
      { said: `${common}2"`, found: `the other nodes said ${common}1"` },
    ]);
    const split = election({ a: [ok("1")], b: [ok("2")], c: [BEHIND] }, { ask: 2, agree: 2 });
    await split.vote();
    expect(split.evidence).toEqual([
      { said: '"1"', found: 'the nodes that were asked disagree; b said "2"' },
      { said: '"2"', found: 'the nodes that were asked disagree; a said "1"' },
    ]);
  });

  it("tells no node's secret, also where the answers part within one", async () => {
    const [one, other] = [`"at ${"x".repeat(50)} s3cr3t-1`, `"at ${"x".repeat(50)} s3cr3t-2`];
    const { vote, evidence } = election({ a: [ok(one)], b: [ok(other)], c: [ok(other)] });
    await vote();
    expect(JSON.stringify(evidence)).not.toContain("s3cr3t-1");
  });

  it("ends with the caller", async () => {
    const { vote, caller, signals } = election({ a: [silence], b: [silence] });
    const voted = vote();
    caller.abort();
    expect(await voted).toBe("504 upstream timeout");
    expect(signals.every(({ aborted }) => aborted)).toBe(true);
  });
});

const hash = result('"0xab"');
const refusal = (message: string): Reply => ({
  ...{ kind: "refused", code: -32000, message },
  json: JSON.stringify({ message }),
});
const later = Symbol("later");

/** Sends a transaction to nodes a, b, c …, which reply with `says`; a `later` node replies when `answer` is called. */
function sending(count: number, says: readonly (Reply | typeof later)[]) {
  const clock = new FakeClock();
  const sent: string[] = [];
  const signals: AbortSignal[] = [];
  const answers = new Map<string, (reply: Reply) => void>();
  const nodes = says.map((reply, index) => {
    const name = "abcdef"[index] ?? "z";
    return {
      isMissing: () => false,
      ask: (_method: string, _params: string, signal: AbortSignal): Promise<Reply> => {
        sent.push(name);
        signals.push(signal);
        if (reply !== later) return Promise.resolve(reply);
        return new Promise((resolve) => answers.set(name, resolve));
      },
    };
  });
  const arrivalOf = ({ message }: { message: string }): Arrival =>
    message === "known" ? 2 : message === "nonce too low" ? 1 : 0;
  const network = networkOf(nodes as unknown as Upstream[]);
  const caller = new AbortController();
  const method = "eth_sendRawTransaction";
  const outcome = driven(
    { method, signal: caller.signal, copies: count, options: { arrivalOf } },
    { clock, network },
  ).then(
    (said) => (said.kind === "result" ? String(said.json) : said.message),
    (error) => `${error.status} ${error.message}`,
  );
  const answer = (name: string, reply: Reply): void => answers.get(name)?.(reply);
  return { outcome, sent, answer, clock, caller, signals };
}

describe("a transaction that is sent to two at once", () => {
  it("is answered when the first has taken it, and the other is left to finish", async () => {
    const { outcome, sent, signals } = sending(2, [later, hash, hash]);
    expect(await outcome).toBe('"0xab"');
    expect(sent).toEqual(["a", "b"]);
    expect(signals.some(({ aborted }) => aborted)).toBe(false);
  });

  it.each([
    ["refuses", refusal("insufficient funds")],
    ["knows it", refusal("known")],
    ["fails", failed],
    ["is busy", { kind: "busy", retryAfterMs: 9 } satisfies Reply],
  ])("is answered when one %s and the other takes it", async (_, reply) => {
    const { outcome, answer } = sending(2, [reply, later]);
    answer("b", hash);
    expect(await outcome).toBe('"0xab"');
  });

  it("goes to a third when one fails, not when one refuses", async () => {
    const { outcome, sent } = sending(2, [failed, refusal("too low"), hash]);
    expect(await outcome).toBe('"0xab"');
    expect(sent).toEqual(["a", "b", "c"]);
    const refused = sending(2, [refusal("one"), refusal("other"), hash]);
    expect(await refused.outcome).toBe("one");
    expect(refused.sent).toEqual(["a", "b"]);
  });

  it("is refused with the words that say most", async () => {
    const says = [refusal("no"), refusal("nonce too low"), refusal("known"), refusal("never")];
    expect(await sending(4, says).outcome).toBe("known");
    expect(await sending(2, says).outcome).toBe("nonce too low");
  });

  it("waits a second for another node after a refusal, not longer", async () => {
    const { outcome, clock } = sending(2, [refusal("no"), later]);
    await clock.advance(0);
    expect(clock.waiting).toBe(1);
    await clock.advance(1_000);
    expect(await outcome).toBe("no");
  });

  it("fails when all fail", async () => {
    expect(await sending(2, [failed, failed, failed]).outcome).toBe("502 no upstream could answer");
  });

  it("ends with the caller's time", async () => {
    const { outcome, caller, signals } = sending(2, [later, later]);
    caller.abort();
    expect(await outcome).toBe("504 upstream timeout");
    expect(signals.every(({ aborted }) => aborted)).toBe(true);
  });
});
