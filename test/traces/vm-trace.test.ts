// The vmTraces made from the struct logs of executed chains, compared with Besu's recorded answers, and run by a
// machine that knows only the vmTrace.
import { readdirSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { executionChainAvailable } from "../support/execution-chain.ts";
import { besuTraceAvailable, readJson, vectorFolder } from "./recorded-chains.ts";
import { traceBesuChain, traceExecutionChain } from "./traced-chains.ts";
import { begunIn, differences, framesOf, type VmTrace, vmTraceOf } from "./vm-trace-machine.ts";

type Golden = {
  request: { params: [string] };
  response: { result?: readonly { vmTrace: unknown }[] };
};

describe.skipIf(!besuTraceAvailable)("the chain of Besu's traces", () => {
  it.each(["all", "vm-trace"])("runs as Besu says, in the folder %s", async (name) => {
    const blocks = await traceBesuChain();
    const folder = `besu-trace/specs/replay-trace-transaction/${name}`;
    const goldens: unknown[] = [];
    for (const file of readdirSync(`${vectorFolder}${folder}`)) {
      const { request, response } = readJson(`${folder}/${file}`) as Golden;
      const block = blocks.find(({ number }) => number === Number(request.params[0]));
      const wanted = response.result?.map(({ vmTrace }) => vmTrace) ?? [];
      expect(block?.transactions.map(vmTraceOf) ?? [], file).toEqual(wanted);
      goldens.push(...wanted);
    }
    expect(goldens).toHaveLength(11);
    expect(goldens.flatMap((golden) => framesOf(golden as VmTrace))).toHaveLength(16);
  });
});

describe.each([
  {
    chain: "Besu's traces",
    isThere: besuTraceAvailable,
    record: async () => (await traceBesuChain()).flatMap((block) => block.transactions),
    transactions: 53,
    operations: 1_536,
  },
  {
    chain: "execution-apis",
    isThere: executionChainAvailable,
    record: traceExecutionChain,
    transactions: 249,
    operations: 12_487,
  },
])("every transaction of the chain of $chain", ({ isThere, record, transactions, operations }) => {
  it.skipIf(!isThere)("has a vmTrace with which a machine sees what ethereumjs saw", async () => {
    const recorded = await record();
    const begun = recorded.flatMap(({ frames }) => frames.flatMap(begunIn));
    expect([recorded.length, begun.length]).toEqual([transactions, operations]);
    for (const [index, traced] of recorded.entries())
      expect(differences(vmTraceOf(traced), traced), `transaction ${index}`).toEqual([]);
  });
});
