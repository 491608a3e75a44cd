// The samples of geth's flatCallTracer, which become OpenEthereum's traces.
import { createHash } from "node:crypto";
import { Common, Hardfork, Mainnet } from "@ethereumjs/common";
import { createLegacyTx } from "@ethereumjs/tx";
import { chainAnswers, fieldsIn, hex } from "./chain.ts";
import type { Answer, Entry, Golden, Scenario, TracePosition } from "./golden.ts";
import { aboutPositionedTraces, aboutReplay } from "./questions.ts";
import { read, resultOf, type Sample, source } from "./samples.ts";
import { filesIn } from "./vectors.ts";
import { wantedTraces } from "./wanted.ts";

/** The first block with the gas costs of Istanbul, by chain id. */
const istanbul: Readonly<Record<number, number>> = { 3: 6_485_846, 5: 1_561_651, 63: 778_507 };

export function flatSamples(): Scenario {
  const names = filesIn("samples").flatMap((file) => /trace_flat-\d+/.exec(file) ?? []);
  const chainIds = [...new Set(names.map((name) => chainIdOf(read(name))))];
  const parts = chainIds.map((chainId) => {
    const own = names.filter((name) => chainIdOf(read(name)) === chainId).map(flatSample);
    const answers = own.flatMap((one) => one.answers);
    const world = { name: `samples-flat-${chainId}`, chainId, answers };
    return { world, goldens: own.flatMap((one) => one.goldens) };
  });
  return { worlds: parts.map(({ world }) => world), goldens: parts.flatMap((one) => one.goldens) };
}

const chainIdOf = ({ network }: Sample): number => Number(/\d+/.exec(network)?.[0]);

function flatSample(name: string): { answers: readonly Answer[]; goldens: readonly Golden[] } {
  const sample = read(name);
  const entries = resultOf(name) as readonly Entry[];
  const chainId = chainIdOf(sample);
  const number = Number(sample.context.number);
  const hash = `0x${createHash("sha256").update(name).digest("hex")}`;
  const position: TracePosition = {
    blockHash: hash,
    blockNumber: number,
    transactionHash: hash,
    transactionPosition: 0,
  };
  const [told, ...below] = entries;
  if (!told) throw new Error(`${name} is empty`);
  const hardfork = number < (istanbul[chainId] ?? 0) ? Hardfork.Byzantium : Hardfork.Istanbul;
  const [top = told] = wantedTraces([
    lessIntrinsic(told, { hardfork, refund: refunds[name] ?? 0 }),
  ]);
  const traces = [top, ...wantedTraces(below)];
  const origin = { source, mode: "derivation", world: `samples-flat-${chainId}`, name } as const;
  const { output = top.result?.["code"] } = top.result ?? {};
  return {
    answers: [
      ...chainAnswers([{ number, hash, transactions: [fieldsIn(told, hash)] }]),
      {
        method: "debug_traceTransaction",
        params: [hash, { tracer: "flatCallTracer" }],
        result: entries,
      },
    ],
    goldens: [
      ...aboutPositionedTraces(origin, { hash, position, traces }),
      ...(top.error ? [] : aboutReplay(origin, hash, { output: String(output), trace: traces })),
    ],
  };
}

/** The refunds for self-destructs, at most half of the used gas. */
const refunds: Readonly<Record<string, number>> = {
  "trace_flat-10": 24_000,
  "trace_flat-11": 13_433,
};

/** geth's top frame includes the intrinsic gas and subtracts the refund; OpenEthereum's does neither. */
function lessIntrinsic(
  top: Entry,
  { hardfork, refund }: { hardfork: Hardfork; refund: number },
): Entry {
  const { to, gas, input, init } = top.action as Record<string, `0x${string}`>;
  const common = new Common({ chain: Mainnet, hardfork });
  const data = input ?? init ?? "0x";
  const tx = createLegacyTx({ data, gasLimit: gas ?? "0x0", ...(to && { to }) }, { common });
  const less = (told: unknown, more = 0): string =>
    hex(BigInt(String(told)) + BigInt(more) - tx.getIntrinsicGas());
  const { gasUsed } = top.result ?? {};
  return {
    ...top,
    action: { ...top.action, gas: less(gas) },
    ...(gasUsed !== undefined && { result: { ...top.result, gasUsed: less(gasUsed, refund) } }),
  };
}
