// The steps of a call before its answer, their prices, the record of its end, and its entry in the usage of its key.
import { type Logger, pino } from "pino";
import { describe, expect, it } from "vitest";
import { errors, type RateLimit, type RpcError } from "../jsonrpc/rpc-error.ts";
import { catalogueFor } from "../methods/catalogue.ts";
import type { Answer, Method } from "../methods/method.ts";
import type { Call } from "./call.ts";
import { type LifeParts, recordUsage, runCall } from "./life-of-a-call.ts";

const PRICE = 7;
const SHORT: RateLimit = { limit: 10, remaining: 0, retryAfter: 2, rule: "rate" };

const declared = catalogueFor({ family: "evm", allow: ["eth_*"], groups: [], deny: [] }).served.get(
  "eth_getBalance",
) as Method;
/** The declared method with another `answer`. It inherits all other members from the declared one. */
const methodWith = (answer: (args: object) => Answer): Method =>
  Object.create(declared, { answer: { value: answer } }) as Method;
const ADDRESS = `0x${"11".repeat(20)}`;

type Given = {
  readonly answer?: () => Answer;
  readonly params?: readonly unknown[];
  readonly rule?: string;
  readonly isUnknown?: boolean;
  readonly isInBatch?: boolean;
  readonly ambiguity?: string;
  readonly network?: object;
  /** The meter's answer to the charge. */
  readonly charged?: RateLimit | Promise<RateLimit | undefined>;
  /** The meter's answer to one more call at the same time. */
  readonly begun?: RateLimit;
  readonly isScarce?: boolean;
  readonly log?: Logger;
};

/** A call over fake parts. `told` lists the invocations of the parts, in order. */
function world(given: Given) {
  const told: string[] = [];
  const tell = <Value>(what: string, value: Value): Value => {
    told.push(what);
    return value;
  };
  let nowMs = 0;
  const answer = (args: object): Answer => {
    told.push(`answer ${JSON.stringify(args)}`);
    nowMs += 250;
    return given.answer?.() ?? '"0x1"';
  };
  const meter = {
    begin: () => tell("begin", given.begun),
    end: () => void told.push("end"),
    charge: (units: number) => tell(`charge ${units}`, given.charged),
  };
  const call = {
    caller: {
      grant: {
        name: "k",
        scope: { forbidsCall: () => given.rule },
        meter,
        usage: { record: () => undefined },
      },
      requestId: "r",
      scope: { refused: 0, hasEnded: false },
    },
    message: {
      id: "1",
      json: Buffer.alloc(0),
      method: "eth_getBalance",
      params: given.params ?? [ADDRESS, "latest"],
      ambiguity: given.ambiguity,
    },
    method: given.isUnknown ? undefined : methodWith(answer),
    network: { name: "n", family: "evm", chainId: 1, ...given.network },
    isInBatch: given.isInBatch ?? false,
    label: given.isUnknown ? "other" : "eth_getBalance",
    chargedUnits: 0,
    get computeUnits(): number {
      return this.chargedUnits;
    },
    notFound: () => errors.methodNotFound("eth_getBalance"),
    end: () => undefined,
  };
  const parts = {
    clock: { now: () => nowMs },
    costs: { of: () => PRICE },
    log: given.log ?? pino({ level: "silent" }),
    memory: { admitCall: () => tell("memory", !given.isScarce) },
    metrics: {
      callEnded: ({ outcome, computeUnits, seconds }: Record<string, unknown>) =>
        void told.push(`ended ${outcome} ${computeUnits} ${seconds}`),
      callBounded: (_: string, why: string) => void told.push(`bounded ${why}`),
    },
  } as unknown as LifeParts;
  const live = () => runCall(call as unknown as Call, parts);
  /** The result, or the message of the error. */
  const ended = async (): Promise<string> => {
    const { result, error } = JSON.parse((await live()).pieces.join(""));
    return error ? error.message : JSON.stringify(result);
  };
  return { told, live, ended };
}

describe("a call", () => {
  it("is begun, charged and answered without waiting, and recorded last", () => {
    const { told, live } = world({});
    expect(live()).toMatchObject({ pieces: ['{"jsonrpc":"2.0","id":1,"result":"0x1"}'] });
    expect(told).toEqual([
      ...["memory", "begin", `charge ${PRICE}`],
      `answer {"address":"${ADDRESS}","block":"latest"}`,
      ...["end", `ended ok ${PRICE} 0.25`],
    ]);
  });

  it("counts as running until its answer is there", async () => {
    const { promise, resolve } = Promise.withResolvers<string>();
    const { told, ended } = world({ answer: () => promise });
    const answered = ended();
    expect(told).not.toContain("end");
    resolve('"0x2"');
    expect(await answered).toBe('"0x2"');
    expect(told.slice(-2).sort()).toEqual(["end", `ended ok ${PRICE} 0.25`]);
  });

  it("waits for units that are under way, and is answered then", async () => {
    const { promise, resolve } = Promise.withResolvers<undefined>();
    const { told, ended } = world({ charged: promise });
    const answered = ended();
    expect(told.join()).not.toContain("answer");
    resolve(undefined);
    expect(await answered).toBe('"0x1"');
    expect(told).toContain(`ended ok ${PRICE} 0.25`);
    expect(told.filter((each) => each === "end")).toHaveLength(1);
  });
});

describe("a call that is refused", () => {
  it.each<{ what: string; given: Given; message: string; told: readonly string[] }>([
    {
      what: "by the key's methods pays for its reading only",
      given: { rule: "methods" },
      message: "method not available for this key",
      told: ["charge 1", "ended refused 1 0"],
    },
    {
      what: "by the key's contracts pays for its reading only",
      given: { rule: "contracts" },
      message: "rejected by API key settings",
      told: ["charge 1", "ended refused 1 0"],
    },
    {
      what: "by the key's methods, and has no unit left, is told of the limit",
      given: { rule: "methods", charged: SHORT },
      message: "rate limit exceeded",
      told: ["charge 1", "ended refused 0 0"],
    },
    {
      what: "by the key's methods waits for no units that are under way",
      given: { rule: "methods", charged: Promise.resolve(undefined) },
      message: "method not available for this key",
      told: ["charge 1", "ended refused 0 0"],
    },
    {
      what: "for too many at once pays nothing, and does not end what it did not begin",
      given: { begun: { ...SHORT, rule: "concurrent" } },
      message: "rate limit exceeded",
      told: ["memory", "begin", "ended refused 0 0"],
    },
    {
      what: "for want of units is not answered",
      given: { charged: SHORT },
      message: "rate limit exceeded",
      told: ["memory", "begin", `charge ${PRICE}`, "end", "ended refused 0 0"],
    },
    {
      what: "for want of units after it waited for them is not answered",
      given: { charged: Promise.resolve(SHORT) },
      message: "rate limit exceeded",
      told: ["memory", "begin", `charge ${PRICE}`, "end", "ended refused 0 0"],
    },
    {
      what: "for want of memory is not begun",
      given: { isScarce: true },
      message: "the gateway has too many answers waiting, try again",
      told: ["memory", "ended unavailable 0 0"],
    },
    {
      what: "because there is no such method pays its price",
      given: { isUnknown: true },
      message: "the method eth_getBalance does not exist/is not available",
      told: ["memory", "begin", `charge ${PRICE}`, "end", `ended refused ${PRICE} 0`],
    },
    {
      what: "for its parameters pays its price",
      given: { params: ["0x1"] },
      message: "invalid argument 0: want 20 bytes",
      told: ["memory", "begin", `charge ${PRICE}`, "end", `ended refused ${PRICE} 0`],
    },
    {
      what: "because nodes may read other parameters pays its price",
      given: { ambiguity: "a member twice" },
      message: "invalid params: a member twice",
      told: ["memory", "begin", `charge ${PRICE}`, "end", `ended refused ${PRICE} 0`],
    },
  ])("$what", async ({ given, message, told: expected }) => {
    const { told, ended } = world(given);
    expect(await ended()).toBe(message);
    expect(told).toEqual(expected);
  });

  it("for an address of another Conflux network, wherever it stands, is not answered", async () => {
    const mainnet = "cfx:aasm4c231py7j34fghntcfkdt2nm9xv1tu6jd3r1s7";
    const given = {
      params: [ADDRESS, { to: mainnet }],
      network: { family: "conflux", chainId: 1 },
    };
    const { told, ended } = world(given);
    expect(await ended()).toMatch(/^invalid argument 1: /);
    expect(told.join()).not.toContain("answer");
  });
});

it("the memory of a batch was asked for already: its members are begun whatever is scarce", async () => {
  const { told, ended } = world({ isInBatch: true, isScarce: true });
  expect(await ended()).toBe('"0x1"');
  expect(told).not.toContain("memory");
});

describe("the end of a call is told as", () => {
  it.each([
    { want: "refused", error: errors.unknownBlock() },
    { want: "refused", error: errors.tooMuchWork(3) },
    { want: "unavailable", error: errors.stateUnavailable() },
    { want: "failed", error: errors.internal("r", undefined) },
    { want: "failed", error: new TypeError("a bug"), message: "internal error" },
  ])("$want: $error.message", async ({ want, error, message = error.message }) => {
    const later = world({ answer: () => Promise.reject(error) });
    expect(await later.ended()).toBe(message);
    expect(later.told.at(-1)).toBe(`ended ${want} ${PRICE} 0.25`);
    const now = world({
      answer: () => {
        throw error;
      },
    });
    expect(await now.ended()).toBe(message);
    expect(now.told.at(-1)).toBe(`ended ${want} ${PRICE} 0.25`);
    expect(now.told.includes("bounded work")).toBe(error.message.includes("calls to nodes"));
    expect(now.told.filter((each) => each === "end")).toHaveLength(1);
  });

  it("one line at the level debug", async () => {
    const lines: string[] = [];
    const log = pino(
      { level: "debug", base: null, timestamp: false },
      { write: (line) => lines.push(line) },
    );
    await world({ log }).ended();
    await world({ log, isUnknown: true }).ended();
    expect(lines.map((line) => JSON.parse(line))).toEqual([
      {
        level: 20,
        request: "r",
        network: "n",
        key: "k",
        method: "eth_getBalance",
        outcome: "ok",
        seconds: 0.25,
        msg: "call",
      },
      {
        level: 20,
        request: "r",
        network: "n",
        key: "k",
        method: "other",
        outcome: "refused",
        code: -32601,
        seconds: 0,
        msg: "call",
      },
    ]);
  });
});

/** The usage and the metric that `recordUsage` writes after such an answer. */
function recorded(answer: { bytes: number; error?: RpcError }, saving?: string) {
  const usageLines: object[] = [];
  const saved: unknown[] = [];
  const call = {
    network: { name: "main" },
    label: "eth_call",
    computeUnits: 7,
    upstreamCalls: 2,
    saving,
    message: { json: Buffer.alloc(40) },
    caller: { grant: { usage: { record: (line: object) => usageLines.push(line) } } },
  } as unknown as Call;
  const metrics = { callSaved: (...told: unknown[]) => saved.push(told) };
  recordUsage(call, answer, { metrics } as unknown as Parameters<typeof recordUsage>[2]);
  return { line: usageLines[0], saved };
}

describe("the usage of a call", () => {
  it("has its price, its bytes both ways, and how often nodes were asked", () => {
    const { line, saved } = recorded({ bytes: 16 });
    expect(line).toEqual({
      ...{ network: "main", method: "eth_call", computeUnits: 7, outcome: "ok", saved: undefined },
      ...{ bytes: 16, requestBytes: 40, upstreamCalls: 2 },
    });
    expect(saved).toEqual([]);
  });

  it("says where a node was saved", () => {
    const { line, saved } = recorded({ bytes: 0 }, "store");
    expect(line).toMatchObject({ saved: "store" });
    expect(saved).toEqual([["main", "store"]]);
  });

  const limit = { rule: "rate" } as unknown as Parameters<typeof errors.rateLimited>[0];
  it.each([
    { what: "the key may not make it", error: errors.methodNotForKey("methods"), want: "refused" },
    { what: "the key is out of units", error: errors.rateLimited(limit), want: "refused" },
    { what: "there is no such method", error: errors.methodNotFound("x"), want: "error" },
    { what: "a node refused", error: errors.refusedByNode(-32000, "no", "{}"), want: "error" },
    { what: "nobody expected it", error: errors.internal("r", undefined), want: "error" },
  ])("$what: $want, and nothing is saved", ({ error, want }) => {
    const { line, saved } = recorded({ bytes: 2, error }, "store");
    expect(line).toMatchObject({ outcome: want, saved: undefined });
    expect(saved).toEqual([]);
  });
});
