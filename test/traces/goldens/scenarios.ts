// All scenarios: the calls, and the nodes that answer them.
import { besuBlocks, besuItself } from "./besu.ts";
import { besuByBlocks } from "./besu-blocks.ts";
import { besuByTracers } from "./besu-debug.ts";
import { erigonByItsOther, erigonItself } from "./erigon.ts";
import { erigonByBlocks } from "./erigon-blocks.ts";
import { etl } from "./etl.ts";
import { executeBesuChain } from "./executions.ts";
import { flatSamples } from "./flat-samples.ts";
import { gethDebug } from "./geth-debug.ts";
import { gethVectors } from "./geth-vectors.ts";
import { type Scenario, together } from "./golden.ts";
import { samplesThemselves } from "./samples.ts";

export async function allScenarios(): Promise<Scenario> {
  const blocks = besuBlocks(await executeBesuChain());
  return together([
    besuItself(blocks),
    besuByBlocks(blocks),
    besuByTracers(blocks),
    await gethDebug(),
    await gethVectors(),
    erigonItself(),
    erigonByItsOther(),
    erigonByBlocks(),
    etl(),
    samplesThemselves(),
    flatSamples(),
  ]);
}
