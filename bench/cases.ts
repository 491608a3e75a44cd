// What is measured: the same request at the gateway and at its yardsticks.
import type { Target } from "./measure.ts";

export type Case = { readonly name: string; readonly target: Target; readonly body: string };
type Targets = Readonly<Record<"constant" | "upstream" | "proxy" | "gateway", Target>>;

/** Of a ratio, the gateway's case and its yardstick; above 1 the gateway is the better one. */
export type Ratio = {
  readonly name: string;
  readonly gateway: string;
  readonly yardstick: string;
  readonly aim?: number;
};

const call = (method: string, params: readonly unknown[]): object => ({
  jsonrpc: "2.0",
  id: 1,
  method,
  params,
});

const code = call("eth_getCode", [`0x${"11".repeat(20)}`, "0x10"]);
const bodies = {
  sha3: JSON.stringify(call("web3_sha3", ["0x68656c6c6f20776f726c64"])),
  code: JSON.stringify(code),
  batch: JSON.stringify(Array.from({ length: 100 }, () => code)),
  logs: JSON.stringify(call("eth_getLogs", [{ fromBlock: "0x10", toBlock: "0x19" }])),
};

/** The cases of one group are measured in turns. */
export const groupsOf = ({ constant, upstream, proxy, gateway }: Targets): Case[][] => {
  const threeWays = (what: string, body: string): Case[] => [
    { name: `upstream, ${what}`, target: upstream, body },
    { name: `proxy, ${what}`, target: proxy, body },
    { name: `gateway, ${what}`, target: gateway, body },
  ];
  return [
    [
      { name: "constant server", target: constant, body: bodies.sha3 },
      { name: "gateway, web3_sha3", target: gateway, body: bodies.sha3 },
    ],
    threeWays("eth_getCode", bodies.code),
    threeWays("batch of 100", bodies.batch),
    threeWays("1 MB of logs", bodies.logs),
  ];
};

const besideProxy = (what: string): Ratio => ({
  name: `${what} / proxy`,
  gateway: `gateway, ${what}`,
  yardstick: `proxy, ${what}`,
});

export const ratios: readonly Ratio[] = [
  {
    name: "web3_sha3 / constant",
    gateway: "gateway, web3_sha3",
    yardstick: "constant server",
    aim: 0.7,
  },
  { ...besideProxy("eth_getCode"), aim: 0.6 },
  besideProxy("batch of 100"),
  besideProxy("1 MB of logs"),
];
