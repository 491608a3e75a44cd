import { expect, it } from "vitest";
import { FakeClock } from "../../test/support/fake-clock.ts";
import { combinedIncidents, type Evidence, Incidents } from "./incidents.ts";

const lie = (upstream: string, about = "eth_getLogs"): Evidence => ({
  ...{ upstream, kind: "false answer", about, said: "x".repeat(1_000), found: "it is not so" },
});

const redact = (text: string): string => text.replaceAll("s3cr3t", "***");

it("has no secret in any of its texts, also where one would be cut in two", () => {
  const incidents = new Incidents({ clock: new FakeClock(), redact });
  const texts = { about: "block s3cr3t", said: `${"x".repeat(237)}s3cr3t`, found: "says s3cr3t" };
  incidents.caught("main", { upstream: "a", kind: "failed proof", ...texts });
  expect(incidents.all()[0]?.evidence[0]).toMatchObject({
    ...{ about: "block ***", said: `${"x".repeat(237)}***`, found: "says ***" },
  });
});

it("has the last five of each node, the newest first, and of what was said the beginning", () => {
  const incidents = new Incidents({ clock: new FakeClock(), redact });
  for (let number = 0; number < 9; number += 1) incidents.caught("main", lie("a", `${number}`));
  incidents.caught("main", lie("b", "b"));
  const [main] = incidents.all();
  expect(main?.evidence.map(({ about }) => about)).toEqual(["b", "8", "7", "6", "5", "4"]);
  expect(main?.evidence[0]?.said).toHaveLength(240);
  incidents.forget("main");
  expect(incidents.all()).toEqual([]);
});

it("has the last five reorganisations", () => {
  const incidents = new Incidents({ clock: new FakeClock(), redact });
  const branches = { removed: [], added: [], removedCount: 1, addedCount: 2 };
  for (let number = 0; number < 7; number += 1)
    incidents.reorganised("main", { fork: { number, hash: "0x" }, ...branches });
  const numbers = incidents.all()[0]?.reorganisations.map(({ fork }) => fork.number);
  expect(numbers).toEqual([6, 5, 4, 3, 2]);
});

it("is one for all processes, by time", async () => {
  const clock = new FakeClock();
  const [one, other] = [new Incidents({ clock, redact }), new Incidents({ clock, redact })];
  one.caught("main", lie("a", "first"));
  await clock.advance(1_000);
  other.caught("main", lie("a", "second"));
  other.caught("side", lie("c", "third"));
  const combined = combinedIncidents([one, other].flatMap((each) => each.all()));
  expect(combined.get("main")?.evidence.map(({ about }) => about)).toEqual(["second", "first"]);
  expect([...combined.keys()]).toEqual(["main", "side"]);
});
