// The vmTraces of random programs, made from the steps of two EVMs.
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type AnvilNode, startAnvil } from "../support/anvil-node.ts";
import { read } from "../support/ask.ts";
import { atDepth } from "../support/depth.ts";
import { until } from "../support/processes.ts";
import {
  CALL_DATA,
  CONTRACTS,
  type Programs,
  programsByChance,
  runPrograms,
  SENDER,
} from "./random-programs.ts";
import { differences, framesOf, type VmTrace, vmTraceOf } from "./vm-trace-machine.ts";

const RUNS = atDepth(25, 100);

it("vmTraces of programs by chance tell a machine of all that ethereumjs saw", async () => {
  let frames = 0;
  const tells = async (programs: Programs): Promise<void> => {
    const traced = await runPrograms(programs);
    const trace = vmTraceOf(traced);
    expect(differences(trace, traced)).toEqual([]);
    frames += framesOf(trace).length;
  };
  await fc.assert(fc.asyncProperty(programsByChance, tells), { numRuns: RUNS, seed: 1 });
  expect(frames).toBeGreaterThan(5 * RUNS);
});

/** anvil tells all the gas that was left as the cost of a failed operation. */
const withoutCostOfFailed = (trace: VmTrace): unknown =>
  JSON.parse(JSON.stringify(trace), (_, value) =>
    value?.ex === null ? { ...value, cost: undefined } : value,
  );

describe("the vmTraces of programs by chance", () => {
  let anvil: AnvilNode | undefined;
  beforeAll(async () => {
    anvil = await startAnvil();
  });
  afterAll(() => anvil?.close());

  async function stepsOf({ programs, gasLimit }: Programs): Promise<unknown[]> {
    const ask = <T>(method: string, ...params: unknown[]) =>
      read<T>(anvil?.url ?? "", method, ...params);
    const before = await ask("evm_snapshot");
    for (const [index, text] of programs.entries()) {
      await ask("anvil_setCode", CONTRACTS[index], `0x${text}`);
      await ask("anvil_setBalance", CONTRACTS[index], "0x3");
    }
    const transaction = { from: SENDER, to: CONTRACTS[0], data: CALL_DATA };
    const gas = `0x${gasLimit.toString(16)}`;
    const hash = await ask("eth_sendTransaction", { ...transaction, gas });
    await until("it is mined", () => ask<object | undefined>("eth_getTransactionReceipt", hash));
    const options = { enableMemory: true };
    const traced = await ask<{ structLogs: unknown[] }>("debug_traceTransaction", hash, options);
    await ask("evm_revert", before);
    return traced.structLogs;
  }

  it("are the same out of the steps of anvil and of ethereumjs", async ({ skip }) => {
    if (!anvil) return skip("there is no anvil for this machine");
    const { url } = anvil;
    await read(url, "anvil_impersonateAccount", SENDER);
    await read(url, "anvil_setBalance", SENDER, "0x56bc75e2d63100000");
    await read(url, "anvil_setCoinbase", `0x${"0".repeat(40)}`);
    for (const programs of fc.sample(programsByChance, { numRuns: atDepth(8, 25), seed: 2 })) {
      const traced = await runPrograms(programs);
      const anvils = vmTraceOf({ ...traced, structLogs: await stepsOf(programs) });
      expect(withoutCostOfFailed(anvils)).toEqual(withoutCostOfFailed(vmTraceOf(traced)));
    }
  });
});
