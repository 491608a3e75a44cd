// How many files of `src` a call passes: of three calls, the files that run each time it is made, over a real
// gateway, a store that holds the newest blocks, and a node that has all of them. `--files` lists them.
import { parseArgs } from "node:util";
import { ask } from "../test/support/ask.ts";
import { startGatewayProcess } from "../test/support/gateway-process.ts";
import { answerOf } from "../test/support/generated-chain/answers.ts";
import { GeneratedChain } from "../test/support/generated-chain.ts";
import { until } from "../test/support/processes.ts";
import { missing, result, startScriptedNode } from "../test/support/scripted-node.ts";

const { values } = parseArgs({ options: { files: { type: "boolean", default: false } } });

/** What runs beside a call, such as a look for a newer block, does not run in all of them. */
const TIMES = 12;
const WINDOW = 64;
const BLOCKS = 200;

const chain = new GeneratedChain({ seed: 3, transactions: [2, 2], logs: [3, 3] });
chain.extend(BLOCKS);
const asked: string[] = [];
const node = await startScriptedNode((call) => {
  asked.push(call.method);
  if (call.method === "eth_getBalance") return result(call, '"0x1"');
  const json = answerOf(chain, call.method, call.params);
  return json === undefined ? missing(call) : result(call, json);
});
const coverage = new URL("journeys/coverage.mjs", import.meta.url).href;
const gateway = await startGatewayProcess(
  {
    networks: {
      main: {
        ...{ family: "evm", chainId: 1, window: { blocks: WINDOW } },
        upstreams: [{ name: "node", url: node.url }],
      },
    },
  },
  { NODE_OPTIONS: `--import ${coverage}`, HEADGATE_UNBUNDLED: "1" },
);

try {
  const url = gateway.endpoint("main");
  const receiptOf = (number: number) => [chain.block(number)?.signed[0]?.hash];
  await until("the whole window is stored", async () => {
    asked.length = 0;
    await ask(url, "eth_getTransactionReceipt", receiptOf(BLOCKS - WINDOW + 2));
    return !asked.includes("eth_getTransactionReceipt");
  });
  const hex = (number: number): string => `0x${number.toString(16)}`;
  const journeys: readonly (readonly [string, string, (time: number) => readonly unknown[]])[] = [
    ["a stored receipt", "eth_getTransactionReceipt", () => receiptOf(BLOCKS)],
    ["a forwarded call", "eth_getBalance", (time) => [hex(time).padEnd(42, "1"), "latest"]],
    [
      "logs of old and of stored blocks",
      "eth_getLogs",
      (time) => [{ fromBlock: hex(BLOCKS - WINDOW - 60 + time), toBlock: "latest" }],
    ],
  ];
  for (const [name, method, params] of journeys) {
    await ask(url, method, [...params(0)]);
    await ran();
    let common: readonly string[] | undefined;
    for (let time = 1; time <= TIMES; time += 1) {
      await ask(url, method, [...params(time)]);
      const files = new Set(await ran());
      common = common ? common.filter((file) => files.has(file)) : [...files];
    }
    console.log(`${name}: ${common?.length} files`);
    if (values.files)
      console.log(
        [...(common ?? [])]
          .sort()
          .map((file) => `  ${file}`)
          .join("\n"),
      );
  }
} finally {
  await gateway.stop();
  await node.close();
}

/** The files of which a function ran since this was asked last. */
async function ran(): Promise<readonly string[]> {
  const before = gateway.log.length;
  gateway.process.kill("SIGUSR2");
  const line = await until("the gateway says what ran", async () =>
    gateway.log.slice(before).find(({ msg }) => msg === "ran"),
  );
  return line["files"] as readonly string[];
}
