import { expect, it } from "vitest";
import { saying, startedPoolOf } from "../../../test/support/fake-pool.ts";
import { traitsFor } from "../../namespaces/known-method.ts";

const never = new AbortController().signal;
const simulated = traitsFor("read", { workKind: "execution", carriesSigned: true });
const plain = traitsFor("read", { workKind: "execution" });

/** A pool whose node `hidden` keeps transactions to itself; `asked` are the nodes that the call was put to. */
async function asking(traits: typeof plain, isDown = false) {
  const answer = saying('"result":"0x"');
  const failing = saying({ kind: "unreachable", reason: "ECONNRESET" });
  const parts = await startedPoolOf({ a: answer, b: answer, hidden: answer });
  const { pool, optionsOf, outcome, asked, clock } = parts;
  const options = optionsOf("a", "b", "hidden");
  const upstreams = options.upstreams.map((each) => ({
    ...each,
    isPrivate: each.name === "hidden",
  }));
  const preparing = pool.prepare({ ...options, upstreams });
  for (let ms = 0; ms < 100; ms += 20) await clock.advance(20);
  (await preparing).commit(0);
  asked.length = 0;
  if (isDown) Object.assign(parts.scripts, { hidden: failing });
  const ended = outcome("m", never, { traits });
  for (let ms = 0; ms < 10_000; ms += 500) await clock.advance(500);
  return { told: await ended, asked: [...new Set(asked.map((each) => each.split(" ")[0]))] };
}

it("a call with a signed transaction goes to a private node alone", async () => {
  expect(await asking(simulated)).toEqual({ told: '"0x"', asked: ["hidden"] });
});

it("it goes to no other node when the private one fails", async () => {
  const { told, asked } = await asking(simulated, true);
  expect([told, asked]).toEqual(["502 -32603 no upstream could answer", ["hidden"]]);
});

it("another call may go to any node", async () => {
  expect((await asking(plain)).asked).toContain("a");
});
