import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { CallMessage } from "../jsonrpc/plain-call.ts";
import { type AnswerJson, BatchResponseBuffer, beforeResult } from "../jsonrpc/raw-json.ts";
import type { Provenance } from "../methods/method.ts";
import { AnswerSizes, Batch, commonProvenance } from "./batch.ts";
import { explained, type RpcResponse } from "./response.ts";

const MB = 2 ** 20;

const message = (id: number): CallMessage => ({
  kind: "call",
  id: String(id),
  method: "m",
  params: [],
  json: Buffer.alloc(0),
});

/** Turns that the test ends and begins. */
class TurnsOfOthers {
  state: "on" | "over" = "on";
  #goOn: (() => void)[] = [];

  join(): "on" | "over" {
    return this.state;
  }

  next(): Promise<void> {
    return new Promise((resolve) => this.#goOn.push(resolve));
  }

  async begin(): Promise<void> {
    this.state = "on";
    for (const goOn of this.#goOn.splice(0)) goOn();
    await new Promise(setImmediate);
  }
}

/** The answer of a member that is ready at once; undefined: the test settles the member later. */
type Given = (id: number, buffer: BatchResponseBuffer) => RpcResponse | undefined;

/** The members of a batch, whose answers the test settles. */
class Members {
  readonly begun: number[] = [];
  held = 0;
  isCalm = true;
  readonly turns = new TurnsOfOthers();
  readonly buffer = new BatchResponseBuffer(100);
  readonly #settle = new Map<number, (reply: RpcResponse) => void>();

  batch(
    count: number,
    options: { mostBytes?: number; expected?: number; now?: number; given?: Given } = {},
  ): Batch {
    const { mostBytes = 1_000 * MB, expected = 10, now, given } = options;
    const messages = Array.from({ length: count }, (_, index) => message(index));
    return new Batch(
      messages,
      { mostBytes },
      {
        answer: ({ id }) => {
          this.begun.push(Number(id));
          const at = given?.(Number(id), this.buffer);
          if (at) return at;
          if (now !== undefined) return replyOf(Number(id), now);
          return new Promise((resolve) => this.#settle.set(Number(id), resolve));
        },
        expected: () => expected,
        saw: () => undefined,
        scope: {
          hold: (_kind, bytes) => {
            this.held += bytes;
          },
          restartDeadline: () => undefined,
        },
        buffer: this.buffer,
        isCalm: () => this.isCalm,
        turns: this.turns,
      },
    );
  }

  async settle(id: number, bytes: number): Promise<void> {
    this.#settle.get(id)?.(replyOf(id, bytes));
    await new Promise(setImmediate);
  }
}

const replyOf = (id: number, bytes: number): RpcResponse => ({
  status: 200,
  pieces: [Buffer.alloc(bytes, String(id % 10))],
  bytes,
});

function inBuffer(
  buffer: BatchResponseBuffer,
  id: number,
  result: string,
): RpcResponse | undefined {
  const put = buffer.put(String(id), Buffer.from(result));
  return put && { status: 200, pieces: [put], bytes: put.length };
}

const textOf = (pieces: readonly AnswerJson[]): string =>
  pieces.map((piece) => (Buffer.isBuffer(piece) ? piece.toString("latin1", 0, 1) : piece)).join("");

describe("a batch", () => {
  it("whose answers are there at once is one whole", () => {
    const members = new Members();
    const reply = members.batch(3, { now: 5 }).answer() as RpcResponse;
    expect([textOf(reply.pieces), reply.rest, members.held]).toEqual(["[0,1,2]", undefined, 0]);
  });

  it("is one piece where its answers lie one behind the other", () => {
    const members = new Members();
    const given: Given = (id, buffer) => inBuffer(buffer, id, String(id));
    const reply = members.batch(3, { given }).answer() as RpcResponse;
    const envelopes = [0, 1, 2].map((id) => `${beforeResult(String(id))}${id}}`);
    expect(reply.pieces.map(String)).toEqual([`[${envelopes.join(",")}`, "]"]);
    expect([reply.bytes, members.held]).toEqual([envelopes.join().length + 2, 0]);
  });

  it("tells within a member how it came about, wherever it lies", () => {
    const members = new Members();
    const given: Given = (id, buffer) => {
      const json = `${beforeResult(String(id))}${id}}`;
      const answer = inBuffer(id === 1 ? new BatchResponseBuffer(1) : buffer, id, String(id));
      return explained(
        answer ?? { status: 200, pieces: [json], bytes: json.length },
        "member",
        '"so"',
      );
    };
    const { pieces, bytes } = members.batch(3, { given }).answer() as RpcResponse;
    const text = pieces.map(String).join("");
    expect(JSON.parse(text)).toEqual(
      [0, 1, 2].map((id) => ({ jsonrpc: "2.0", id, result: id, headgate_explain: "so" })),
    );
    expect(bytes).toBe(text.length);
  });

  it("has its members in order, wherever each of them lies", async () => {
    const kinds = fc.array(fc.constantFrom("buffer", "text", "bytes", "large", "later"), {
      minLength: 1,
      maxLength: 60,
    });
    const property = fc.asyncProperty(kinds, async (all) => {
      const members = new Members();
      const given: Given = (id, buffer) => {
        const result = all[id] === "large" ? "0".repeat(30_000) : "1";
        const json = `${beforeResult(String(id))}${result}}`;
        if (all[id] === "later") return undefined;
        if (all[id] === "text") return { status: 200, pieces: [json], bytes: json.length };
        if (all[id] === "bytes")
          return { status: 200, pieces: [Buffer.from(json)], bytes: json.length };
        return inBuffer(buffer, id, result) ?? { status: 200, pieces: [json], bytes: json.length };
      };
      const answered = Promise.resolve(members.batch(all.length, { given }).answer());
      for (const [id, kind] of all.entries()) if (kind === "later") await members.settle(id, 3);
      const { pieces, bytes, rest } = await answered;
      const want = all.map((kind, id) =>
        kind === "later"
          ? String(id % 10).repeat(3)
          : `${beforeResult(String(id))}${kind === "large" ? "0".repeat(30_000) : "1"}}`,
      );
      let text = pieces.map(String).join("");
      for await (const more of rest ?? []) text += more.map(String).join("");
      expect(text).toBe(`[${want.join(",")}]`);
      if (!rest) expect(bytes).toBe(text.length);
    });
    await fc.assert(property, { numRuns: 60 });
  });

  it("begins all members that are expected to be small, and is in order whatever comes first", async () => {
    const members = new Members();
    const answered = members.batch(3).answer() as Promise<RpcResponse>;
    expect(members.begun).toEqual([0, 1, 2]);
    for (const id of [2, 0, 1]) await members.settle(id, 5);
    expect(textOf((await answered).pieces)).toBe("[0,1,2]");
  });

  it("has no more under way than there is room for, and at least one", async () => {
    const members = new Members();
    void members.batch(10, { expected: 0.4 * MB }).answer();
    expect(members.begun).toEqual([0, 1]);
    members.isCalm = false;
    await members.settle(0, 0);
    expect(members.begun).toEqual([0, 1]);
    await members.settle(1, 0);
    expect(members.begun).toEqual([0, 1, 2]);
  });

  it("lets others have their turn while it begins its members, and is one whole all the same", async () => {
    const members = new Members();
    members.turns.state = "over";
    const answered = members.batch(20, { now: 5 }).answer();
    expect(members.begun.length).toBe(8);
    members.turns.state = "on";
    await members.turns.begin();
    const { pieces, rest } = await answered;
    expect([members.begun.length, textOf(pieces).length, rest]).toEqual([20, 20 + 21, undefined]);
  });

  it("that is too large to be held is sent while it is made, and waits for who takes it", async () => {
    const members = new Members();
    const { pieces, rest } = (await members.batch(100, { now: 0.6 * MB }).answer()) as RpcResponse;
    expect([pieces, members.begun]).toEqual([[], [0, 1]]);
    const taken = rest?.[Symbol.asyncIterator]();
    const texts: string[] = [];
    for (let id = 0; id < 10; id += 1) texts.push(textOf((await taken?.next())?.value ?? []));
    expect(texts.join("")).toBe("[0,1,2,3,4,5,6,7,8,9");
    expect(members.begun.length).toBeLessThan(13);
    expect(members.held).toBeLessThan(2 * MB);
  });

  it("gives each member an error that has no room under the limit, and begins none after it", async () => {
    const members = new Members();
    const batch = members.batch(100, { now: 0.6 * MB, mostBytes: 2 * MB });
    const { rest } = (await batch.answer()) as RpcResponse;
    let text = "";
    for await (const pieces of rest ?? []) text += textOf(pieces);
    expect(text.slice(0, 6)).toBe("[0,1,2");
    expect(text.match(/"code":-32005/g)?.length).toBe(97);
    expect(text.match(/"id":99,/g)?.length).toBe(1);
    expect(members.begun.length).toBeLessThan(6);
  });
});

describe("the size of an answer", () => {
  it.each([
    { price: 1, want: 16_384 },
    { price: 3, want: 16_384 },
    { price: 4, want: 65_536 },
    { price: 10, want: 262_144 },
    { price: 5_000, want: 262_144 },
  ])("is guessed from a price of $price while nothing came", ({ price, want }) => {
    expect(new AnswerSizes().expected("m", () => price)).toBe(want);
  });

  it("is what came first, and then moves by an eighth of each difference", () => {
    const sizes = new AnswerSizes();
    const known = (): number => {
      return sizes.expected("m", () => {
        throw new Error("the price of what is known is not asked for");
      });
    };
    sizes.saw("m", 800);
    expect(known()).toBe(800);
    sizes.saw("m", 1_600);
    expect(known()).toBe(900);
    expect(sizes.expected("other", () => 1)).toBe(16_384);
  });

  it("is remembered of 500 methods: names may be invented by callers", () => {
    const sizes = new AnswerSizes();
    for (let index = 0; index < 501; index += 1) sizes.saw(`m${index}`, 1);
    expect(sizes.expected("m499", () => 1)).toBe(1);
    expect(sizes.expected("m500", () => 1)).toBe(16_384);
    sizes.saw("m0", 9);
    expect(sizes.expected("m0", () => 1)).toBe(2);
  });
});

const block = (number: number) => ({ number, hash: `0x${number}` });
const stored = (number: number, more: Partial<Provenance> = {}): Provenance =>
  ({ source: "store", proof: "full", block: block(number), ...more }) as Provenance;
const asked: Provenance = { source: "upstream", proof: "none" };
const local: Provenance = { source: "local" };

describe("the provenance of a batch", () => {
  it.each<{ what: string; all: readonly (Provenance | undefined)[]; want: object | undefined }>([
    { what: "of nothing that says anything", all: [undefined, undefined], want: undefined },
    { what: "of what was made here", all: [local, undefined, local], want: local },
    {
      what: "of what is stored, with the newest block",
      all: [stored(7), stored(9), local],
      want: { source: "store", proof: "full", block: block(9) },
    },
    {
      what: "of what is stored, but for one that a node told",
      all: [stored(7), asked],
      want: { source: "upstream", proof: "none", block: block(7) },
    },
    {
      what: "of blocks of which one is proven in part",
      all: [stored(7), stored(8, { proof: "partial" })],
      want: { source: "store", proof: "partial" },
    },
    {
      what: "of an answer that was cut",
      all: [stored(7), stored(8, { isCut: true })],
      want: { isCut: true },
    },
    {
      what: "of heads of which one is the stalest",
      all: [stored(7, { staleMs: 10 }), stored(8, { staleMs: 4_000 })],
      want: { staleMs: 4_000 },
    },
  ])("$what", ({ all, want }) => {
    if (want === undefined) expect(commonProvenance(all)).toBeUndefined();
    else expect(commonProvenance(all)).toMatchObject(want);
  });

  it("has no age where nothing is stale", () => {
    expect(commonProvenance([stored(7)])).not.toHaveProperty("staleMs");
  });
});
