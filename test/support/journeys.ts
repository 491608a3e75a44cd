// The files of `src` that a call passes: for three calls, the files that run each time, over a real gateway, a store
// with the newest blocks, and a node with all blocks.
import { ask } from "./ask.ts";
import { startGatewayProcess } from "./gateway-process.ts";
import { answerOf } from "./generated-chain/answers.ts";
import { GeneratedChain } from "./generated-chain.ts";
import { until } from "./processes.ts";
import { missing, result, startScriptedNode } from "./scripted-node.ts";

export type Journey = {
  readonly name: string;
  /** The most files that the call may pass. */
  readonly most: number;
  /** The files that the call passes, with the functions that ran in the last round. */
  readonly files: ReadonlyMap<string, readonly string[]>;
};

type Params = (time: number) => readonly unknown[];

/** Enough rounds for work beside the call, such as a look for a newer block, to be absent from some round. */
const TIMES = 12;
const WINDOW = 64;
const BLOCKS = 200;

const hex = (number: number): string => `0x${number.toString(16)}`;

export async function journeys(): Promise<readonly Journey[]> {
  const chain = new GeneratedChain({ seed: 3, transactions: [2, 2], logs: [3, 3] });
  chain.extend(BLOCKS);
  const asked: string[] = [];
  const node = await startScriptedNode((call) => {
    asked.push(call.method);
    if (call.method === "eth_getBalance") return result(call, '"0x1"');
    const json = answerOf(chain, call.method, call.params);
    return json === undefined ? missing(call) : result(call, json);
  });
  const gateway = await startGateway(node.url);
  try {
    const url = gateway.endpoint("main");
    const receiptOf = (number: number) => [chain.block(number)?.signed[0]?.hash];
    await until("the whole window is stored", async () => {
      asked.length = 0;
      await ask(url, "eth_getTransactionReceipt", receiptOf(BLOCKS - WINDOW + 2));
      return !asked.includes("eth_getTransactionReceipt");
    });
    const balance: Params = (time) => [hex(time).padEnd(42, "1"), "latest"];
    const logs: Params = (time) => [
      { fromBlock: hex(BLOCKS - WINDOW - 60 + time), toBlock: "latest" },
    ];
    const filesOf = (method: string, params: Params) => passed({ gateway, url, method, params });
    const receipt = await filesOf("eth_getTransactionReceipt", () => receiptOf(BLOCKS));
    return [
      { name: "a stored receipt", most: 25, files: receipt },
      { name: "a forwarded call", most: 48, files: await filesOf("eth_getBalance", balance) },
      {
        name: "logs of old and of stored blocks",
        most: 61,
        files: await filesOf("eth_getLogs", logs),
      },
    ];
  } finally {
    await gateway.stop();
    await node.close();
  }
}

const startGateway = (url: string) =>
  startGatewayProcess(
    {
      log: { level: "info" }, // as by default: at the level debug each call also passes through the log
      networks: {
        main: {
          ...{ family: "evm", chainId: 1, window: { blocks: WINDOW } },
          upstreams: [{ name: "node", url }],
        },
      },
    },
    {
      NODE_OPTIONS: `--import ${new URL("journeys-coverage.mjs", import.meta.url).href}`,
      HEADGATE_UNBUNDLED: "1",
    },
  );

type Gateway = Awaited<ReturnType<typeof startGateway>>;

async function passed(call: {
  readonly gateway: Gateway;
  readonly url: string;
  readonly method: string;
  readonly params: Params;
}): Promise<Journey["files"]> {
  const { gateway, url, method, params } = call;
  await ask(url, method, [...params(0)]);
  await ran(gateway);
  let common: Journey["files"] | undefined;
  for (let time = 1; time <= TIMES; time += 1) {
    await ask(url, method, [...params(time)]);
    const files = await ran(gateway);
    const before = common;
    common = new Map([...files].filter(([file]) => before?.has(file) ?? true));
  }
  return common ?? new Map();
}

/** The files whose functions ran since the last call of this function. */
async function ran(gateway: Gateway): Promise<Journey["files"]> {
  const before = gateway.log.length;
  gateway.process.kill("SIGUSR2");
  const line = await until("the gateway says what ran", async () =>
    gateway.log.slice(before).find(({ msg }) => msg === "ran"),
  );
  const files = line["files"] as readonly { file: string; functions: readonly string[] }[];
  return new Map(files.map(({ file, functions }) => [file, functions]));
}
