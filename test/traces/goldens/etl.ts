// A block of mainnet as OpenEthereum traced it, and as a geth of 2019 did.
import { chainAnswers, fieldsIn } from "./chain.ts";
import type { Answer, Entry, Golden, Json, Mode, Scenario } from "./golden.ts";
import { aboutBlock, aboutTransaction, type Origin, recorded } from "./questions.ts";
import { byTransaction, readVector } from "./vectors.ts";

const source = "ethereum-etl";
const folder = `vectors/${source}`;
const BLOCK = "0xf44f2";

const read = (path: string): unknown => readVector<Json>(`${folder}/${path}`)["result"];

const TRACED = `test_export_traces_job/block_with_create/web3_response.trace_block_${BLOCK}.json`;
const TREE = `test_extract_geth_traces_job/block_with_create/web3_response.debug_traceBlockByNumber_${BLOCK}_tracer_calltracer.json`;

export function etl(): Scenario {
  const entries = read(TRACED) as readonly Entry[];
  const [{ blockHash = "", blockNumber = 0 } = {}] = entries;
  const chain = chainAnswers([
    {
      ...{ number: blockNumber, hash: blockHash },
      transactions: [...byTransaction(entries)].flatMap(([hash, [top]]) =>
        top ? [fieldsIn(top, hash, gasOf(top))] : [],
      ),
    },
  ]);
  const traced: Answer = { method: "trace_block", params: [BLOCK], result: entries };
  const tree = { result: read(TREE) };
  const options = { tracer: "callTracer" };
  const answers: Readonly<Record<string, Answer>> = {
    "etl-trace-block": traced,
    "etl-tree-by-number": { ...tree, method: "debug_traceBlockByNumber", params: [BLOCK, options] },
    "etl-tree-by-hash": { ...tree, method: "debug_traceBlockByHash", params: [blockHash, options] },
  };
  const names = Object.keys(answers);
  return {
    worlds: Object.entries(answers).map(([name, answer]) => ({
      ...{ name, chainId: 1, answers: [...chain, answer] },
    })),
    goldens: [
      ...names.flatMap((world) => aboutEach(originOf(world), entries)),
      ...names.flatMap((world) =>
        recorded(originOf(world, world === "etl-trace-block" ? "pass-through" : "derivation"), {
          ...traced,
          want: entries,
        }),
      ),
    ],
  };
}

const originOf = (world: string, mode: Mode = "derivation"): Origin => ({
  ...{ source, mode, world, name: BLOCK },
});

function aboutEach(origin: Origin, entries: readonly Entry[]): readonly Golden[] {
  const replays = [...byTransaction(entries)].map(([hash, trace], transactionPosition) => {
    const [top] = trace;
    const { blockHash = "", blockNumber = 0 } = { ...top };
    const output = String(top?.result?.["output"] ?? top?.result?.["code"] ?? "0x");
    const position = { blockHash, blockNumber, transactionHash: hash, transactionPosition };
    return { hash, output, trace, position };
  });
  return [
    ...replays.flatMap(({ trace: traces, ...one }) => aboutTransaction(origin, { ...one, traces })),
    ...aboutBlock(
      origin,
      BLOCK,
      replays.map(({ position, ...one }) => one),
    ),
  ];
}

/** The gas that the sender gave: before Homestead a creation had the same intrinsic gas as a call. */
function gasOf({ action }: Entry): string {
  const input = String(action["input"] ?? action["init"]).slice(2);
  const bytes = Buffer.from(input, "hex").map((byte) => (byte === 0 ? 4 : 68));
  return `0x${(bytes.reduce((sum, gas) => sum + gas, Number(action["gas"]) + 21_000)).toString(16)}`;
}
