import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { WorkKind } from "../../namespaces/known-method.ts";
import { type AttemptEnding, Health, type OpenCall } from "./health.ts";

/** A node's health, and functions that send calls to the node and end them. */
function healthAt(startMs = 1_000) {
  let nowMs = startMs;
  const suspected: number[] = [];
  const health = new Health({ clock: { now: () => nowMs } }, () => void suspected.push(nowMs));
  const pass = (ms: number): void => {
    nowMs += ms;
  };
  /** Sends a call. @returns Functions that end the call, or report it as late. */
  const send = (group: WorkKind = "blocks") => {
    const call: OpenCall = health.open(group);
    const end = (ending: AttemptEnding): void => health.close(call, ending);
    const late = (): void => health.late(call);
    return { end, late, isSilent: (): boolean => health.isSilent(call) };
  };
  const ask = (ending: AttemptEnding, ms = 10): void => {
    pass(1);
    const { end } = send();
    pass(ms);
    end(ending);
  };
  const breaker = (): string => health.ofKind("blocks").breaker;
  return { health, pass, send, ask, breaker, suspected, now: (): number => nowMs };
}

/** A node with an open breaker, whose pause is over. */
function recovering() {
  const node = healthAt();
  for (let count = 0; count < 5; count += 1) node.ask("failed");
  node.pass(1_000);
  expect(node.breaker()).toBe("half-open");
  return node;
}

describe("what counts against a node", () => {
  it.each<{ ending: AttemptEnding; failures: number; answers: number }>([
    { ending: "result", failures: 0, answers: 1 },
    { ending: "refused", failures: 0, answers: 1 }, // the node understood the call, and refused it
    { ending: "missing", failures: 0, answers: 0 },
    { ending: "busy", failures: 0, answers: 0 }, // concerns the budget
    { ending: "aborted", failures: 0, answers: 0 }, // the caller disconnected
    { ending: "superseded", failures: 1, answers: 0 }, // and the node sent no reply at all
    { ending: "failed", failures: 1, answers: 0 },
    { ending: "timeout", failures: 1, answers: 0 },
  ])("$ending: $failures failures, $answers answers", ({ ending, failures, answers }) => {
    const { health, ask, suspected } = healthAt();
    for (let count = 0; count < 20; count += 1) ask(ending);
    expect(health.ofKind("blocks")).toMatchObject({
      failures: 20 * failures,
      answers: 20 * answers,
    });
    expect(health.ofKind("blocks").breaker).toBe(failures ? "open" : "closed");
    expect(suspected).toHaveLength(20 * failures); // the node sent no reply at all
    expect(health.inFlight).toBe(0);
  });

  it("ended in reported failures: failures of a node that is there, suspected once it is given up", () => {
    const { health, ask, breaker, suspected } = healthAt();
    for (let count = 0; count < 5; count += 1) {
      expect(suspected).toEqual([]);
      ask("reported failure");
    }
    expect(health.ofKind("blocks")).toMatchObject({ failures: 5, answers: 0 });
    expect(breaker()).toBe("open");
    expect(suspected).toHaveLength(1);
  });

  it("is counted for each kind of work by itself", () => {
    const { health, ask } = healthAt();
    for (let count = 0; count < 5; count += 1) ask("failed");
    expect(health.ofKind("blocks").breaker).toBe("open");
    expect(health.ofKind("logs")).toMatchObject({ breaker: "closed", failures: 0 });
    expect(health.workKinds).toEqual(["blocks", "logs"]);
  });

  it("tells how long a call took that another node won, or that ran out of time", () => {
    const { health, ask } = healthAt();
    ask("superseded", 400);
    expect(health.ofKind("blocks").meanMs).toBeCloseTo(400, -1);
  });
});

describe("a node that says nothing", () => {
  it("to a call is one of which nothing was heard since, of this kind of work", () => {
    const { pass, send, ask } = healthAt();
    ask("result");
    pass(60_000);
    const { isSilent } = send();
    expect(isSilent()).toBe(true);
    pass(1);
    const other = send();
    const logs = send("logs");
    other.end("result");
    expect(isSilent()).toBe(false);
    expect(logs.isSilent()).toBe(true);
  });

  it("is not blamed for one long call by another that was sent just now", () => {
    const { health, pass, send } = healthAt();
    const trace = send("logs");
    pass(5_000);
    send().end("result");
    pass(25);
    send().late();
    expect(health.isStalled("blocks")).toBe(false);
    trace.end("result");
    expect(health.ofKind("logs")).toMatchObject({ failures: 0, answers: 1 });
  });

  it.each<{ ending: AttemptEnding; hasReplied: boolean }>([
    { ending: "result", hasReplied: true },
    { ending: "refused", hasReplied: true },
    { ending: "missing", hasReplied: true },
    { ending: "busy", hasReplied: true },
    { ending: "reported failure", hasReplied: true },
    { ending: "failed", hasReplied: false },
    { ending: "timeout", hasReplied: false },
    { ending: "aborted", hasReplied: false },
    { ending: "superseded", hasReplied: false },
  ])("is heard in $ending: $hasReplied", ({ ending, hasReplied }) => {
    const { pass, send } = healthAt();
    const { isSilent } = send();
    const { end } = send();
    pass(100);
    end(ending);
    expect(isSilent()).toBe(!hasReplied);
  });

  it("has failed each call in which it was superseded, and not when it was heard meanwhile", () => {
    const { health, pass, send } = healthAt();
    const superseded = (whatElse: () => void): number => {
      pass(1);
      const { end } = send();
      pass(1_000);
      whatElse();
      end("superseded");
      return health.ofKind("blocks").failures;
    };
    expect(superseded(() => undefined)).toBe(1);
    expect(superseded(() => send().end("result"))).toBe(1);
    expect(superseded(() => send().end("busy"))).toBe(1);
    expect(superseded(() => send("logs").end("result"))).toBe(2);
  });
});

describe("a call that takes long", () => {
  it.each([25, 1_000, 30_000])("is no failure when the answer comes after %i ms", (ms) => {
    const { health, pass, send, breaker } = healthAt();
    for (let count = 0; count < 5; count += 1) {
      const { late, end } = send();
      pass(ms);
      late();
      expect(breaker()).toBe("closed");
      end("result");
      pass(1);
    }
    expect(health.ofKind("blocks")).toMatchObject({ failures: 0, errorRate: 0 });
    expect(health.isStalled("blocks")).toBe(false);
  });

  it("is one however often it is looked at", () => {
    const { health, pass, send } = healthAt();
    const { late } = send();
    pass(50);
    for (let count = 0; count < 9; count += 1) late();
    expect(health.isStalled("blocks")).toBe(false);
  });

  it("and two more keep others away from the node at once, until it is heard", () => {
    const { health, pass, send, breaker, suspected } = healthAt();
    const [first, second, third, fourth] = [send(), send(), send(), send()];
    pass(50);
    first.late();
    second.late();
    expect(breaker()).toBe("closed");
    third.late();
    expect(breaker()).toBe("open");
    expect(health.isStalled("blocks")).toBe(true);
    fourth.end("result");
    expect(breaker()).toBe("closed");
    expect(health.isStalled("blocks")).toBe(false);
    expect(suspected).toEqual([]);
    expect(health.ofKind("blocks").failures).toBe(0);
  });

  it("counts for all kinds of work while nothing is heard, and for its own when others are", () => {
    const { health, pass, send } = healthAt();
    const stalled = (): boolean[] =>
      (["blocks", "logs", "state"] as const).map((group) => health.isStalled(group));
    const calls = [send(), send(), send("logs")];
    pass(50);
    for (const { late } of calls) late();
    expect(stalled()).toEqual([true, true, true]);
    send("state").end("result");
    expect(stalled()).toEqual([false, false, false]);
    const third = send();
    pass(50);
    third.late();
    expect(stalled()).toEqual([true, false, false]);
    send("logs").end("result");
    expect(stalled()).toEqual([true, false, false]);
    third.end("refused");
    expect(stalled()).toEqual([false, false, false]);
  });

  it("does not keep others away any more once it has ended, however it did", () => {
    const { pass, send, breaker } = healthAt();
    const late = [send(), send(), send()];
    pass(50);
    for (const call of late) call.late();
    late[0]?.end("aborted");
    expect(breaker()).toBe("closed");
  });

  it("does not count when something was heard since it was sent", () => {
    const { pass, send, breaker } = healthAt();
    const calls = [send(), send(), send()];
    pass(50);
    send().end("result");
    for (const { late } of calls) late();
    expect(breaker()).toBe("closed");
  });

  it("is a failure when nothing is heard until the end: five of them, and the node is given up", () => {
    const { health, pass, send, breaker } = healthAt();
    const calls = Array.from({ length: 5 }, () => send());
    pass(1_050);
    for (const { end } of calls) {
      expect(breaker()).toBe("closed");
      end("superseded");
    }
    expect(breaker()).toBe("open");
    expect(health.ofKind("blocks").failures).toBe(5);
  });
});

describe("a node is suspected to be another one, or none", () => {
  it("when a call fails and nothing at all was heard since it was sent", () => {
    const { pass, ask, suspected, now } = healthAt();
    ask("result");
    pass(1);
    ask("failed");
    expect(suspected).toEqual([now()]);
    ask("missing");
    ask("aborted");
    expect(suspected).toHaveLength(1);
  });

  it("when it answers others, only once: as it is given up", () => {
    const { pass, send, suspected, breaker } = healthAt();
    for (let count = 0; count < 8; count += 1) {
      expect(suspected).toHaveLength(count < 5 ? 0 : 1);
      const { end } = send();
      pass(10);
      send("logs").end("result");
      end("failed");
    }
    expect(breaker()).toBe("open");
  });
});

describe("a node that was given up", () => {
  it("is tried by one call at a time, and is as before after three answers", () => {
    const { health, send, breaker, pass } = recovering();
    for (let count = 0; count < 3; count += 1) {
      expect(breaker()).toBe("half-open");
      const { end } = send();
      expect(breaker()).toBe("open"); // to other calls
      pass(10);
      end("result");
    }
    expect(breaker()).toBe("closed");
    expect(health.ofKind("blocks")).toMatchObject({ failures: 0, answers: 0, isUntried: true });
  });

  it.each<AttemptEnding>(["aborted", "missing", "busy"])(
    "is tried again when a try ends as %s",
    (ending) => {
      const { ask, breaker } = recovering();
      ask(ending);
      expect(breaker()).toBe("half-open");
    },
  );

  it.each<AttemptEnding>(["failed", "timeout", "superseded"])(
    "is left alone when a try ends as %s",
    (ending) => {
      const { ask, breaker, pass, suspected } = recovering();
      const before = suspected.length;
      ask(ending);
      pass(1_999);
      expect(breaker()).toBe("open");
      pass(1);
      expect(breaker()).toBe("half-open");
      expect(suspected).toHaveLength(before + 1);
    },
  );

  it.each<AttemptEnding>(["failed", "timeout", "superseded", "result", "aborted"])(
    "is not judged by what was sent before, such as a call that ends as %s",
    (ending) => {
      const { health, pass, send, ask, breaker } = healthAt();
      const old = send();
      for (let count = 0; count < 5; count += 1) ask("failed");
      pass(1_000);
      const attempt = send();
      old.end(ending);
      expect(breaker()).toBe("open"); // the same call still tries the node
      attempt.end("result");
      expect(breaker()).toBe("half-open");
      expect(health.inFlight).toBe(0);
    },
  );

  it("is not given up again for calls that hung when it was", () => {
    const { pass, send, ask, breaker } = healthAt();
    const hanging = Array.from({ length: 20 }, () => send());
    for (let count = 0; count < 5; count += 1) ask("failed");
    pass(1_000);
    for (let count = 0; count < 3; count += 1) ask("result");
    for (const { end } of hanging) end("timeout");
    expect(breaker()).toBe("closed");
  });

  it("is new to those who ask, with a small share, until it gave ten answers", () => {
    const { health, ask, pass } = recovering();
    for (let count = 0; count < 3 + 10; count += 1) {
      expect(health.ofKind("blocks").isUntried).toBe(true);
      ask("result");
    }
    pass(50);
    expect(health.ofKind("blocks").isUntried).toBe(false);
  });
});

describe("whatever happens to a node", () => {
  const happening = fc.record({
    afterMs: fc.oneof(fc.constant(0), fc.nat(2_500)),
    what: fc.constantFrom("send", "send", "end", "end", "end", "late"),
    which: fc.nat(5),
    ending: fc.constantFrom<AttemptEnding>(
      "failed",
      "failed",
      "timeout",
      "superseded",
      "result",
      "aborted",
    ),
  });

  it("is tried by one call at a time, and closes again once it answers", () => {
    fc.assert(
      fc.property(fc.array(happening, { minLength: 20, maxLength: 100 }), (happenings) => {
        const { health, pass, send, ask, breaker } = healthAt();
        const running: { call: ReturnType<typeof send>; isTry: boolean }[] = [];
        for (const { afterMs, what, which, ending } of happenings) {
          pass(afterMs);
          const kind = breaker();
          if (what === "send" && kind !== "open") {
            running.push({ call: send(), isTry: kind === "half-open" });
            if (kind === "half-open") expect(breaker()).toBe("open");
          }
          if (what === "late") running[which]?.call.late();
          const [ended] = what === "end" ? running.splice(which, 1) : [];
          ended?.call.end(ending);
          expect(running.filter(({ isTry }) => isTry).length).toBeLessThanOrEqual(1);
          if (running.length < 3) expect(health.isStalled("blocks")).toBe(false);
        }
        for (const { call } of running) call.end("aborted");
        expect(health.inFlight).toBe(0);
        pass(5_000);
        for (let count = 0; count < 3; count += 1) ask("result");
        expect(breaker()).toBe("closed");
      }),
    );
  });
});
