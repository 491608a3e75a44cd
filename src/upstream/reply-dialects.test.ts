import { describe, expect, it } from "vitest";
import { DIALECT_SAMPLES, type Sample } from "../../test/support/dialect-samples.ts";
import type { Dialect } from "./error-dialects/dialect.ts";
import { DIALECTS, dialectOf, type Reply, readReply } from "./reply.ts";

const ID = 7;

const read = ([code, text, status = 200, method]: Sample): Reply => {
  const error = { code, message: text };
  const body = code === undefined ? text : JSON.stringify({ jsonrpc: "2.0", id: ID, error });
  return readReply({ kind: "answered", status, body: Buffer.from(body) }, ID, { method });
};

const wanted = ({ means, pauseMs }: Dialect, [code, message]: Sample): object => {
  if (means.kind === "refused") return { kind: "refused", code, message, lacks: means.lacks };
  return pauseMs === undefined ? means : { ...means, retryAfterMs: pauseMs };
};

const samplesOf = (row: Dialect): readonly Sample[] =>
  DIALECT_SAMPLES[DIALECTS.indexOf(row)]?.samples ?? [];

const samples = DIALECTS.flatMap((row) =>
  samplesOf(row).map((sample) => ({
    who: row.of.join(", "),
    row,
    sample,
    said: `${sample[0] ?? "text"} ${sample[1].slice(0, 70)}`,
    means: `${row.means.kind} ${"lacks" in row.means ? row.means.lacks : ""}`,
  })),
);

describe("what nodes and providers say", () => {
  it.each(samples)("$said means $means ($who)", ({ row, sample }) => {
    expect(read(sample)).toMatchObject(wanted(row, sample));
  });

  it("has a sample in every row, and a condition", () => {
    expect(DIALECT_SAMPLES.map(({ of }) => of)).toEqual(DIALECTS.map(({ of }) => of));
    for (const row of DIALECTS) {
      expect(samplesOf(row).length, row.of.join()).toBeGreaterThan(0);
      expect(row.code ?? row.status ?? row.words, row.of.join()).toBeDefined();
      expect(row.words?.flags ?? "i").toBe("i"); // with "g" a pattern keeps its last position
    }
  });

  it("is needed row by row: none only says what one before it has said", () => {
    const found = DIALECT_SAMPLES.flatMap(({ samples: own }) =>
      own.map(([code, text, status = 200, method]) => dialectOf({ status, code, text, method })),
    );
    const idle = DIALECTS.filter((row) => !found.includes(row));
    expect(idle.map(({ of, means }) => [of, means])).toEqual([]);
  });
});
