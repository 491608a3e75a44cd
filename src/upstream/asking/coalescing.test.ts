import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { countedSignal } from "../../../test/support/counted-signal.ts";
import type { Pool } from "../pool.ts";
import type { CallOptions } from "./call-options.ts";
import { Coalescing } from "./coalescing.ts";

/** A coalescing whose upstream calls end when the test calls `end`; `asked` lists them in order. */
function coalesced() {
  const asked: { question: string; signal: AbortSignal; end: (how: string | Error) => void }[] = [];
  const call = (method: string, paramsJson: string, signal: AbortSignal, options?: CallOptions) =>
    new Promise<Buffer>((resolve, reject) => {
      const { variant, crossCheck } = options ?? {};
      const end = (how: string | Error): void =>
        how instanceof Error ? reject(how) : resolve(Buffer.from(how));
      asked.push({
        question: JSON.stringify([method, paramsJson, variant?.name, crossCheck?.name]),
        signal,
        end,
      });
      signal.addEventListener("abort", () => reject(new Error("aborted upstream")));
    });
  const begin: Pool["begin"] = (method, paramsJson, signal, ends, options) =>
    void call(method, paramsJson, signal as AbortSignal, options).then(
      (json) => ends.answered(json),
      (error: unknown) => ends.failed(error),
    );
  return { coalescing: new Coalescing({ begin }), asked };
}

const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
const outcomeOf = (answer: Promise<Buffer>): Promise<string> =>
  answer.then(String, (error) => String(error.message));
const never = new AbortController().signal;

describe("equal calls at the same time", () => {
  it("are one call, and all get the same bytes", async () => {
    const { coalescing, asked } = coalesced();
    const calls = [1, 2, 3].map(() => coalescing.call("m", "[1]", never));
    asked[0]?.end("7");
    const [first, ...others] = await Promise.all(calls);
    expect(String(first)).toBe("7");
    for (const other of others) expect(other).toBe(first);
    expect(asked).toHaveLength(1);
  });

  it("are told when they are merged with another, the first one is not", () => {
    const { coalescing } = coalesced();
    const merged: number[] = [];
    for (const n of [1, 2, 3]) {
      void coalescing.call("m", "[1]", never, {
        ledger: { attempted: () => undefined, merged: () => merged.push(n) },
      });
    }
    expect(merged).toEqual([2, 3]);
  });

  it("share a failure, and the next one is asked anew", async () => {
    const { coalescing, asked } = coalesced();
    const calls = [1, 2].map(() => outcomeOf(coalescing.call("m", "[]", never)));
    asked[0]?.end(new Error("no upstream could answer"));
    expect(await Promise.all(calls)).toEqual(calls.map(() => "no upstream could answer"));
    const next = outcomeOf(coalescing.call("m", "[]", never));
    asked[1]?.end("1");
    expect(await next).toBe("1");
  });

  it("are not those that differ in anything", () => {
    const { coalescing, asked } = coalesced();
    const crossCheck = (name: string) => ({ name, isUncertain: () => false });
    const variant = (name: string) => ({ name, isMissing: () => false });
    const calls: [string, string, CallOptions?][] = [
      ["m", "[]"],
      ["m", "[1]"],
      ["n", "[]"],
      ["m", "[]", { variant: variant("a") }],
      ["m", "[]", { variant: variant("b") }],
      ["m", "[]", { crossCheck: crossCheck("a") }],
      ["m", "[]", { crossCheck: crossCheck("b") }],
      ["m", "[]", { crossCheck: crossCheck("a"), variant: variant("a") }],
      ["ma", "[]"],
      ["m a", "[]"],
    ];
    for (const [method, params, options] of [...calls, ...calls])
      void coalescing.call(method, params, never, options);
    expect(asked).toHaveLength(calls.length);
  });
});

describe("a caller who leaves", () => {
  it("is told so at once, while the others go on", async () => {
    const { coalescing, asked } = coalesced();
    const [leaver, stayer] = [countedSignal(), countedSignal()];
    const left = outcomeOf(coalescing.call("m", "[]", leaver.signal));
    const stayed = outcomeOf(coalescing.call("m", "[]", stayer.signal));
    leaver.controller.abort();
    expect(await left).toBe("upstream timeout");
    expect(asked[0]?.signal.aborted).toBe(false);
    asked[0]?.end("1");
    expect(await stayed).toBe("1");
  });

  it("as the last ends the call; who comes then is not told of that end", async () => {
    const { coalescing, asked } = coalesced();
    const leavers = [countedSignal(), countedSignal()];
    const left = leavers.map(({ signal }) => outcomeOf(coalescing.call("m", "[]", signal)));
    for (const { controller } of leavers) controller.abort();
    expect(asked[0]?.signal.aborted).toBe(true);
    const next = outcomeOf(coalescing.call("m", "[]", never));
    asked[1]?.end("2");
    expect(await Promise.all(left)).toEqual(left.map(() => "upstream timeout"));
    expect(await next).toBe("2");
  });

  it("before the call began asks nobody", async () => {
    const { coalescing, asked } = coalesced();
    const call = outcomeOf(coalescing.call("m", "[]", AbortSignal.abort()));
    expect(await call).toBe("upstream timeout");
    expect(asked).toEqual([]);
  });
});

type Step =
  | { readonly kind: "join"; readonly method: string }
  | { readonly kind: "leave"; readonly who: number }
  | { readonly kind: "answer"; readonly which: number; readonly isGood: boolean };

const walk = fc.array(
  fc.oneof<fc.Arbitrary<Step>[]>(
    fc.record({ kind: fc.constant("join"), method: fc.constantFrom("a", "b") }),
    fc.record({ kind: fc.constant("leave"), who: fc.nat(20) }),
    fc.record({ kind: fc.constant("answer"), which: fc.nat(10), isGood: fc.boolean() }),
  ),
  { maxLength: 40 },
);

/** The expected behaviour as a simple model: a call is on while a caller waits for it. */
class Model {
  /** By method, the number of the call that is on. */
  readonly #on = new Map<string, number>();
  readonly callers: { readonly call: number; want: string | undefined }[] = [];
  calls = 0;

  join(method: string): void {
    const call = this.#on.get(method) ?? this.calls++;
    this.#on.set(method, call);
    this.callers.push({ call, want: undefined });
  }

  leave(who: number): void {
    const caller = this.callers[who];
    if (!caller || caller.want !== undefined) return;
    caller.want = "upstream timeout";
    if (!this.waitingFor(caller.call)) this.#end(caller.call);
  }

  answer(call: number, text: string): void {
    for (const caller of this.callers) if (caller.call === call) caller.want ??= text;
    this.#end(call);
  }

  waitingFor(call: number): boolean {
    return this.callers.some((caller) => caller.call === call && caller.want === undefined);
  }

  #end(call: number): void {
    for (const [method, number] of this.#on) if (number === call) this.#on.delete(method);
  }
}

/** Takes the steps with a real coalescing and in the model, then answers the calls that are left. */
async function run(todo: readonly Step[]) {
  const { coalescing, asked } = coalesced();
  const model = new Model();
  const callers: ReturnType<typeof countedSignal>[] = [];
  const got: (string | undefined)[] = [];
  const answer = async (which: number, isGood: boolean): Promise<void> => {
    const text = `${isGood ? "good" : "bad"} ${which}`;
    asked[which]?.end(isGood ? text : new Error(text));
    model.answer(which, text);
    await settled();
  };
  for (const step of todo) {
    if (step.kind === "join") {
      const who = callers.push(countedSignal()) - 1;
      const { signal } = callers[who] as ReturnType<typeof countedSignal>;
      void outcomeOf(coalescing.call(step.method, "[]", signal)).then((text) => {
        got[who] = got[who] === undefined ? text : "settled twice";
      });
      model.join(step.method);
    } else if (step.kind === "leave") {
      callers[step.who]?.controller.abort();
      model.leave(step.who);
    } else if (step.which < asked.length) await answer(step.which, step.isGood);
    expect(asked).toHaveLength(model.calls);
    for (const [call, { signal }] of asked.entries())
      if (model.waitingFor(call)) expect(signal.aborted).toBe(false);
  }
  const unanswered = asked.map((_, call) => model.waitingFor(call));
  for (const call of asked.keys()) await answer(call, true);
  return { model, callers, got, asked, unanswered };
}

describe("calls that come and go at random", () => {
  it("are each answered or refused once, asked once while they overlap, and leave nothing", async () => {
    await fc.assert(
      fc.asyncProperty(walk, async (todo) => {
        const { model, callers, got } = await run(todo);
        expect(got).toEqual(model.callers.map(({ want }) => want));
        for (const { listeners } of callers) expect(listeners()).toBe(0);
      }),
    );
  });

  it("end at the node when the last has left, and not before", async () => {
    await fc.assert(
      fc.asyncProperty(walk, async (todo) => {
        const withoutAnswers = todo.filter(({ kind }) => kind !== "answer");
        const { asked, unanswered } = await run(withoutAnswers);
        expect(asked.map(({ signal }) => !signal.aborted)).toEqual(unanswered);
      }),
    );
  });
});
