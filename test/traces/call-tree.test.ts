// Traces that nodes of real networks returned, rewritten as OpenEthereum writes them. `deviations` names the
// differences from the recorded answers, with the reason.
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import {
  traceAt,
  tracesOfCallFrame,
  tracesOfFlat,
  withPosition,
} from "../../src/traces/call-tree.ts";
import { intrinsicGas } from "../../src/traces/gas.ts";

const shared = fileURLToPath(new URL("../../../shared/", import.meta.url));
const erigon = "vectors/erigon-rpc-tests/mainnet";
const besu = "vectors/besu-trace/specs";
const geth = "vectors/geth-tracetest";
const etl = "vectors/ethereum-etl";
const isThere = existsSync(`${shared}vectors`);

type Place = Parameters<typeof withPosition>[1];
type Json = { readonly [key: string]: unknown };
type Entry = {
  readonly action: Json;
  readonly error?: string;
  readonly result?: Json | null;
  readonly subtraces: number;
  readonly traceAddress: readonly number[];
  readonly transactionHash?: string | null;
  readonly type: string;
};

const read = (file: string): Json => JSON.parse(readFileSync(`${shared}${file}`, "utf8"));
const filesIn = (folder: string): readonly string[] =>
  isThere ? readdirSync(`${shared}${folder}`).map((file) => `${folder}/${file}`) : [];

const isEntry = (value: unknown): value is Entry =>
  typeof value === "object" && value !== null && "traceAddress" in value;

/** Every list of traces in an answer; the list of a block is split by transaction. */
function listsIn(answer: unknown): readonly (readonly Entry[])[] {
  if (typeof answer !== "object" || answer === null) return [];
  const members: readonly unknown[] = Object.values(answer);
  const isList = Array.isArray(answer) && members.some(isEntry);
  if (!isList) return members.flatMap(listsIn);
  const traces = members.filter(isEntry).filter(({ type }) => type !== "reward");
  const roots = traces.flatMap(({ traceAddress }, at) => (traceAddress.length === 0 ? [at] : []));
  return roots.map((root, at) => traces.slice(root, roots[at + 1]));
}

const entriesIn = (answer: unknown): readonly Entry[] => {
  if (isEntry(answer)) return [answer];
  return typeof answer === "object" && answer ? Object.values(answer).flatMap(entriesIn) : [];
};

/** The members of an entry that OpenEthereum has, with its texts for `error`. */
const expected = ({ action, error, result = null, subtraces, traceAddress, type }: Entry) => ({
  action: type === "call" ? { input: "0x", ...action } : action,
  ...(error === undefined ? { result } : { error: openEthereumWords[error] ?? error }),
  ...{ subtraces, traceAddress, type },
});

/** The error texts in these files that are not OpenEthereum's. */
const openEthereumWords: Readonly<Record<string, string>> = {
  "execution reverted": "Reverted",
  "out of gas": "Out of gas",
  "contract creation code storage out of gas": "Out of gas",
  "invalid jump destination": "Bad jump destination",
  "invalid opcode: INVALID": "Bad instruction",
};

/** Changes of the expected list, with the reason. */
const deviations: Readonly<Record<string, { why: string; change: (list: Entry[]) => unknown[] }>> =
  {
    "samples/trace_flat-10.json": {
      why: "geth tells of a create for which there is no balance; OpenEthereum never begins it",
      change: ([top, , suicide]) => [
        { ...top, subtraces: 1 },
        { ...suicide, traceAddress: [0] },
      ],
    },
    "samples/trace_flat-18.json": {
      why: "geth tells of a call for which there is no balance; OpenEthereum never begins it",
      change: ([top]) => [{ ...top, subtraces: 0 }],
    },
  };

const flatFiles: readonly string[] = [
  ...filesIn("samples").filter((file) => /trace_(flat|transaction|replay\w+|call)-\d+/.test(file)),
  ...filesIn(`${geth}/call_tracer_flat`),
  ...filesIn(`${besu}/trace-transaction`),
  ...filesIn(`${besu}/trace-block`),
  ...filesIn(`${besu}/replay-trace-transaction/flat`),
  ...filesIn(`${besu}/replay-trace-transaction/all`),
  ...[
    "trace_transaction",
    "trace_replayTransaction",
    "trace_block",
    "trace_replayBlockTransactions",
  ]
    .flatMap((method) => filesIn(`${erigon}/${method}`))
    .filter((file) => file.endsWith(".json")),
  `${etl}/test_export_traces_job/block_with_create/web3_response.trace_block_0xf44f2.json`,
];

describe.skipIf(!isThere)("recorded flat traces (skipped: ../shared is absent)", () => {
  const cases = flatFiles.flatMap((file) => {
    const lists = isThere ? listsIn(read(file)) : [];
    return lists.map((list, at) => ({ file, at, list }));
  });

  it.each(cases)("$file, list $at, is written as OpenEthereum does", ({ file, list }) => {
    const change = deviations[file]?.change ?? ((same) => same);
    expect(tracesOfFlat(list)).toEqual(change(list.map(expected) as Entry[]));
  });

  it("are this many", () => {
    expect(countsOf(cases.map(({ file }) => file))).toEqual({
      "besu-trace": 44,
      "erigon-rpc-tests": 10,
      "ethereum-etl": 2,
      "geth-tracetest": 6,
      samples: 25,
    });
  });
});

const countsOf = (files: readonly string[]): Readonly<Record<string, number>> =>
  files.reduce<Record<string, number>>((counts, file) => {
    const set = /^samples|vectors\/([^/]+)/.exec(file)?.[1] ?? "samples";
    return Object.assign(counts, { [set]: (counts[set] ?? 0) + 1 });
  }, {});

describe.skipIf(!isThere)("recorded call frames (skipped: ../shared is absent)", () => {
  /** The OpenEthereum of that time did not tell how a contract was created. */
  const named = (traces: readonly Entry[]) =>
    traces.map(({ action, ...rest }) =>
      rest.type === "create"
        ? { action: { ...action, creationMethod: "create" }, ...rest }
        : { action, ...rest },
    );

  it.each(["create", "delegatecall", "oog", "revert", "simple"])(
    "%s of geth's callTracer is what its flatCallTracer tells",
    (name) => {
      const { result } = read(`${geth}/call_tracer/${name}.json`);
      const [flat = []] = listsIn(read(`${geth}/call_tracer_flat/${name}.json`));
      expect(tracesOfCallFrame(result)).toEqual(flat.map(expected));
    },
  );

  it("of a mainnet block are what OpenEthereum told of it", () => {
    const told = read(
      `${etl}/test_extract_geth_traces_job/block_with_create/web3_response.debug_traceBlockByNumber_0xf44f2_tracer_calltracer.json`,
    );
    const frames = told["result"] as readonly { readonly result: unknown }[];
    // A geth of 2019, which did not count the intrinsic gas.
    expect(frames.map(({ result }) => tracesOfCallFrame(result))).toEqual(
      listsIn(
        read(
          `${etl}/test_export_traces_job/block_with_create/web3_response.trace_block_0xf44f2.json`,
        ),
      ).map((list) => named(list.map(expected))),
    );
  });
});

describe.skipIf(!isThere)("recorded trace_get (skipped: ../shared is absent)", () => {
  const single = `${erigon}/trace_get/test_33.json`;
  const pairs = [
    ...filesIn(`${besu}/trace-get`).map((file) => {
      const [, block] = /trace_get_0(.)/.exec(file) ?? [];
      return {
        file,
        whole: `${besu}/trace-transaction/trace_transaction_0x${block?.toUpperCase()}.json`,
      };
    }),
    { file: single, whole: `${erigon}/trace_transaction/test_11.json` },
    ...[2, 5, 6].map((at) => ({
      file: `samples/trace_get-${at}.json`,
      whole: "samples/trace_transaction-1.json",
    })),
  ];

  it.each(pairs)("$file is found in $whole", ({ file, whole }) => {
    const want = entriesIn(read(file))[0] as Entry & Place;
    const list = listsIn(read(whole)).find(
      ([top]) => top?.transactionHash === want.transactionHash,
    );
    const found = traceAt(tracesOfFlat(list) ?? [], want.traceAddress);
    // Erigon adds a result to failed calls.
    const { error, result, ...rest } = want;
    const outcome = error === undefined ? { result } : { error };
    expect(found && withPosition(found, want)).toEqual({ ...rest, ...outcome });
  });
});

describe.skipIf(!isThere)("gas of Besu's transactions (skipped: ../shared is absent)", () => {
  type Blocks = { number: string | number; transactions: { gasLimit: string }[] }[];
  const blocks = isThere
    ? (read("vectors/besu-trace/chain-data/blocks.json")["blocks"] as Blocks)
    : [];
  const cases = blocks
    .filter(({ transactions }) => transactions.length > 0)
    .slice(0, 9) // there are no traces of the later blocks
    .flatMap(({ number, transactions }) =>
      transactions.map(({ gasLimit }, position) => ({ number, position, gasLimit })),
    );

  it.each(cases)("block $number, transaction $position begins without its intrinsic gas", (one) => {
    const name = Number(one.number).toString(16).toUpperCase();
    const list = listsIn(read(`${besu}/trace-block/trace_block_0x${name}.json`))[one.position];
    const [{ action, type }] = list as readonly [Entry];
    const intrinsic = intrinsicGas(
      { input: action["input"] ?? action["init"] },
      {
        isCreate: type === "create",
        rules: { isHomestead: true, isIstanbul: true, isShanghai: false },
      },
    );
    expect(Number(action["gas"])).toBe(Number(one.gasLimit) - Number(intrinsic));
  });
});
