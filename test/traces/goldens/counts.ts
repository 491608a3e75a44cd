// The numbers of goldens, for docs/traces.md.
import type { Mode } from "./golden.ts";

type Count = {
  readonly source: string;
  readonly mode: Mode;
  /** The number of goldens without any deviation. */
  readonly equal: number;
  readonly all: number;
};

const count = (source: string, mode: Mode, [equal, all]: readonly [number, number]): Count => ({
  ...{ source, mode, equal, all },
});

export const counts: readonly Count[] = [
  count("besu-trace", "pass-through", [111, 111]),
  count("besu-trace", "derivation", [349, 379]),
  count("besu-debug-geth", "derivation", [228, 282]),
  count("geth-tracetest", "derivation", [138, 143]),
  count("erigon-rpc-tests", "pass-through", [29, 29]),
  count("erigon-rpc-tests", "derivation", [34, 35]),
  count("ethereum-etl", "pass-through", [1, 1]),
  count("ethereum-etl", "derivation", [19, 29]),
  count("samples", "pass-through", [9, 9]),
  count("samples", "derivation", [66, 78]),
];
