import { describe, expect, it } from "vitest";
import { driven, failed, networkOf, result } from "../../../test/support/fake-asking.ts";
import { FakeClock } from "../../../test/support/fake-clock.ts";
import type { Reply } from "../reply.ts";
import type { Upstream } from "../upstream.ts";
import type { Arrival } from "./call-options.ts";

const hash = result('"0xab"');
const refusal = (message: string): Reply => ({
  ...{ kind: "refused", code: -32000, message },
  json: JSON.stringify({ message }),
});
const later = Symbol("later");

/** Nodes a, b, c … that say this to a transaction, or nothing until they are told to. */
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
