// The chain that Besu's authors ran in geth, with the output of geth's tracers for its blocks. The expected answers
// come from ethereumjs's execution of the same blocks.
import { bytesToHex } from "@ethereumjs/util";
import { parityDiff } from "../parity-diff.ts";
import { openEthereumTraces } from "./call-frame.ts";
import { type ChainBlock, chainAnswers, fieldsOf, hex } from "./chain.ts";
import { type ExecutedBlock, executeGethDebugChain } from "./executions.ts";
import type { Answer, Golden, Json, Scenario, World } from "./golden.ts";
import { aboutBlock, aboutReplay, aboutTransaction, type Origin, recorded } from "./questions.ts";
import { exchangesIn, filesIn } from "./vectors.ts";

const source = "besu-debug-geth";
const specs = `vectors/${source}/specs`;
/** The last block with recorded answers. */
const LAST = 10;

export async function gethDebug(): Promise<Scenario> {
  const blocks = (await executeGethDebugChain()).filter(({ number }) => number <= LAST);
  const chain = chainAnswers(blocks.map(chainBlockOf));
  const byNumber = [
    "call-tracer",
    "prestate-tracer/diff-mode-true",
    "prestate-tracer/diff-mode-false",
  ]
    .flatMap((name) => filesIn(`${specs}/${name}`))
    .flatMap(exchangesIn);
  const hashOf = (number: unknown) => blocks.find((block) => hex(block.number) === number)?.hash;
  const answersByWorld: Readonly<Record<string, readonly Answer[]>> = {
    "geth-blocks-by-number": byNumber,
    "geth-blocks-by-hash": byNumber.map((answer) => ({
      ...answer,
      method: "debug_traceBlockByHash",
      params: [hashOf(answer.params[0]), ...answer.params.slice(1)],
    })),
    "geth-transactions": byNumber.flatMap(transactionsOf),
  };
  const worlds = Object.entries(answersByWorld).map(
    ([name, answers]): World => ({ name, chainId: 1982, answers: [...chain, ...answers] }),
  );
  const goldens = worlds.flatMap(({ name: world }) =>
    blocks.flatMap((block) =>
      aboutExecuted({ source, mode: "derivation", world, name: `block ${block.number}` }, block),
    ),
  );
  return { worlds, goldens };
}

/** The same answer by transaction. */
const transactionsOf = ({ params, result }: Answer): readonly Answer[] =>
  ((result ?? []) as readonly { txHash: string; result: unknown }[]).map((one) => ({
    method: "debug_traceTransaction",
    params: [one.txHash, ...params.slice(1)],
    result: one.result,
  }));

const chainBlockOf = ({ number, hash, executed }: ExecutedBlock): ChainBlock => ({
  ...{ number, hash, header: { withdrawalsRoot: NO_WITHDRAWALS } },
  transactions: executed.map(({ transaction }) => fieldsOf(transaction)),
});

/** The empty withdrawals root: the whole chain runs under the rules of Prague. */
const NO_WITHDRAWALS = "0x56e81f171bcc55a6ff8345e692c0f86e5b48e01b996cadc001622fb5e363b421";

function aboutExecuted(
  origin: Origin,
  { number, hash: blockHash, executed }: ExecutedBlock,
): readonly Golden[] {
  const replays = executed.map(({ transaction, top, before, after }, transactionPosition) => {
    const hash = bytesToHex(transaction.hash());
    const position = { blockHash, blockNumber: number, transactionHash: hash, transactionPosition };
    const stateDiff = JSON.parse(JSON.stringify(parityDiff(before, after))) as Json;
    return { hash, position, output: top.output, trace: openEthereumTraces(top), stateDiff };
  });
  const placed = replays.flatMap(({ trace, position }) =>
    trace.map((one) => ({ ...one, ...position })),
  );
  const block = hex(number);
  return [
    ...replays.flatMap(({ hash, position, trace: traces, output, stateDiff }) => [
      ...aboutTransaction(origin, { hash, position, traces, output }),
      ...aboutReplay(origin, hash, { output, stateDiff }),
      ...aboutReplay(origin, hash, { output, trace: traces, stateDiff }),
    ]),
    ...recorded(origin, { method: "trace_block", params: [block], want: placed }),
    ...aboutBlock(
      origin,
      block,
      replays.map(({ position, ...parts }) => parts),
    ),
  ];
}
