import { describe, expect, it } from "vitest";
import { FakeClock } from "../../test/support/fake-clock.ts";
import type { Grant } from "../access/keys/key-ring.ts";
import { Scope } from "../access/scope/scope.ts";
import type { Caller } from "../calls/caller.ts";
import type { RpcResponse } from "../calls/response.ts";
import type { AnswerJson } from "../jsonrpc/raw-json.ts";
import { CallTrials, type CallTrialsParts, type TriedCall } from "./try-call.ts";

const CALL: TriedCall = {
  ...{ network: "main", key: "app", method: "eth_call", params: [1], requestId: "r1" },
};

/** Trials over a network that answers with these pieces, and a key with the scope of the settings. */
function trials(pieces: readonly AnswerJson[] = ["{}"], settings: object = {}) {
  const answered: { readonly body: string; readonly caller: Caller }[] = [];
  const held = { bodies: 0, unsent: 0, building: 0 };
  const inside: number[] = [0];
  const refusedBy: string[] = [];
  const network = {
    facts: { name: "main" },
    requests: { enter: () => inside.push(1), leave: () => inside.push(-1) },
    describe: ({ name }: Grant) => `{"openrpc":"of ${name}"}`,
  };
  const grant = {
    name: "app",
    scope: new Scope({ limits: { logs: {} }, ...settings }),
    meter: { memory: { name: "app", bytes: 0 }, charge: () => undefined },
    usage: {
      recordUnits: () => undefined,
      recordRefusal: (_: string, rule: string) => refusedBy.push(rule),
    },
  };
  const parts = {
    networks: new Map([["main", network]]),
    keys: { named: (name: string) => (name === "app" ? grant : undefined) },
    bodies: {
      answer: (body: Buffer, caller: Caller): RpcResponse => {
        answered.push({ body: body.toString(), caller });
        return { status: 200, pieces, bytes: 7, explanation: '{"ms":1}' };
      },
    },
    memory: {
      hold: (kind: keyof typeof held, bytes: number) => {
        held[kind] += bytes;
      },
      release: (kind: keyof typeof held, bytes: number) => {
        held[kind] -= bytes;
      },
      admitRequest: () => true,
    },
    turns: { join: () => "on", next: async () => undefined },
    clock: new FakeClock(),
    log: { error: () => undefined },
  } as unknown as CallTrialsParts;
  return { tries: new CallTrials({ callMs: 1_000 }, parts), answered, held, inside, refusedBy };
}

describe("a call that an operator tries", () => {
  it("is the key's own, explained, and leaves nothing behind", async () => {
    const { tries, answered, held, inside } = trials();
    expect(await tries.try(CALL)).toEqual({
      ...{ kind: "answered", status: 200, json: "{}", isWhole: true, bytes: 7 },
      explanation: '{"ms":1}',
    });
    const [{ body, caller } = { body: "", caller: undefined }] = answered;
    expect(JSON.parse(body)).toEqual({ jsonrpc: "2.0", id: 1, method: "eth_call", params: [1] });
    expect(caller?.grant.name).toBe("app");
    expect(caller?.grant.scope.mayExplain).toBe(true);
    expect(held).toEqual({ bodies: 0, unsent: 0, building: 0 });
    expect(inside.reduce((sum, each) => sum + each)).toBe(0);
    expect(caller?.scope.hasEnded).toBe(true);
  });

  it.each([
    [{ networks: ["other"] }, {}, "networks"],
    [{ origins: ["https://a.example"] }, {}, "origins"],
    [{ origins: ["https://a.example"] }, { origin: "https://b.example" }, "origins"],
    [{ origins: ["https://a.example"] }, { origin: "https://a.example" }, undefined],
    [{ addresses: ["10.0.0.0/8"] }, {}, "addresses"],
    [{ addresses: ["10.0.0.0/8"] }, { address: "11.0.0.1" }, "addresses"],
    [{ addresses: ["10.0.0.0/8"] }, { address: "10.1.2.3" }, undefined],
  ])("of a key with %j, from %j, is refused by %s", async (settings, from, rule) => {
    const { tries, answered, refusedBy } = trials(["{}"], settings);
    const outcome = await tries.try({ ...CALL, ...from });
    if (outcome.kind === "unknown") throw new Error("unknown");
    expect(answered).toHaveLength(rule === undefined ? 1 : 0);
    expect(outcome.status).toBe(rule === undefined ? 200 : 403);
    expect(refusedBy).toEqual(rule === undefined ? [] : [rule]);
    if (rule !== undefined) expect(outcome.json).toContain(`"data":{"rule":"${rule}"}`);
  });

  it("is told from its start when its answer is long, and never half a character", async () => {
    const chunks = [Buffer.from("é".repeat(100_000)), Buffer.from("é".repeat(100_000))];
    const source = { length: 400_000, heldBytes: 1, chunks: () => chunks };
    const outcome = await trials(["{", source]).tries.try(CALL);
    if (outcome.kind === "unknown") throw new Error("unknown");
    expect(outcome.isWhole).toBe(false);
    expect(outcome.json).toBe(`{${"é".repeat(131_071)}`);
  });

  it("is refused in words when it nests too deeply to be sent", async () => {
    const deep = JSON.parse(`${"[".repeat(30_000)}${"]".repeat(30_000)}`);
    const outcome = await trials().tries.try({ ...CALL, params: deep });
    expect(outcome).toMatchObject({ kind: "answered" });
  });

  it("of a network or a key that is not there is unknown", async () => {
    const { tries } = trials();
    expect(await tries.try({ ...CALL, network: "x" })).toEqual({
      kind: "unknown",
      what: "network",
    });
    expect(await tries.try({ ...CALL, key: "x" })).toEqual({ kind: "unknown", what: "key" });
    expect(await tries.describe({ network: "main", key: "x" })).toBeUndefined();
    expect(await tries.describe(CALL)).toBe('{"openrpc":"of app"}');
  });
});
