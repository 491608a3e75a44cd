import { describe, expect, it } from "vitest";
import { Pipeline } from "./pipeline.ts";

const AT_ONCE = 64;

function pipelined() {
  const said: string[] = [];
  const socket = {
    destroyed: false,
    pause: () => said.push("pause"),
    resume: () => said.push("resume"),
    destroy: () => said.push("destroy"),
  };
  const pipeline = new Pipeline(socket as never, { clock: { yield: async () => undefined } });
  return { pipeline, socket, said };
}

describe("the requests of one connection", () => {
  it("are worked on at once as far as there are not too many, without a promise", () => {
    const { pipeline, said } = pipelined();
    for (let index = 0; index < AT_ONCE; index += 1) expect(pipeline.begin()).toBeUndefined();
    expect(said).toEqual([]);
  });

  it("wait for earlier ones beyond that, in order, and no more are read meanwhile", async () => {
    const { pipeline, said } = pipelined();
    for (let index = 0; index < AT_ONCE; index += 1) void pipeline.begin();
    const begun: number[] = [];
    const turns = [1, 2].map(async (number) => {
      await pipeline.begin();
      begun.push(number);
    });
    expect(said).toEqual(["pause"]);
    pipeline.end();
    await turns[0];
    expect([begun, said]).toEqual([[1], ["pause"]]);
    pipeline.end();
    await turns[1];
    expect([begun, said]).toEqual([
      [1, 2],
      ["pause", "resume"],
    ]);
    for (let index = 0; index < AT_ONCE; index += 1) pipeline.end();
    expect(pipeline.begin()).toBeUndefined();
  });

  it("end the connection when they are more than anybody reads answers to", () => {
    const { pipeline, said } = pipelined();
    for (let index = 0; index <= AT_ONCE + 4_000; index += 1) void pipeline.begin();
    expect(said).toEqual(["pause", "destroy"]);
  });
});
