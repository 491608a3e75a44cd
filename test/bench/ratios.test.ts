// The cost of calls as a multiple of the least that Node.js does for the same answer, which does not depend on the
// machine; the bound is so wide that only a case that costs twice as much fails.
import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { expect, it } from "vitest";

type Ratio = { readonly name: string; readonly timesY: number; readonly usualTimesY: number };

const CASES = [
  ...["chain id", "receipt from", "batch of 100 receipts"],
  ...["forwarded call", "forwarded call, not merged"],
];

it("no case is twice as dear as it was", async () => {
  const only = CASES.flatMap((name) => ["--only", name]);
  const { stdout } = await promisify(execFile)(
    process.execPath,
    ["bench/run.ts", "--json", ...only],
    { env: { ...process.env, BENCH_SECONDS: "1" } },
  );
  const ratios = JSON.parse(stdout) as Ratio[];
  process.stdout.write(`${stdout}\n`);
  expect(ratios).toHaveLength(CASES.length);
  for (const { name, timesY, usualTimesY } of ratios)
    expect({ name, isCheap: timesY < 2 * usualTimesY, timesY }).toMatchObject({ isCheap: true });
}, 240_000);
