// The followed chain as callers see it, over a real chain whose answers nobody invented.
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ask, post } from "../support/ask.ts";
import {
  type ExecutionChain,
  executionChainAvailable,
  startExecutionChain,
} from "../support/execution-chain.ts";
import { type RunningGateway, startGatewayProcess } from "../support/gateway-process.ts";
import { until } from "../support/processes.ts";

describe.skipIf(!executionChainAvailable)("the execution-apis chain, followed", () => {
  let chain: ExecutionChain;
  let gateway: RunningGateway;

  beforeAll(async () => {
    chain = await startExecutionChain();
    const { result } = await ask(chain.url, "eth_chainId");
    gateway = await startGatewayProcess({
      networks: {
        main: { family: "evm", chainId: Number(result), upstreams: [{ url: chain.url }] },
      },
    });
    await until("the window is filled", async () =>
      gateway.log.find(({ msg }) => msg === "the window is filled"),
    );
  });

  afterAll(async () => {
    await gateway.stop();
    await chain.close();
  });

  it("is proven in full, from the genesis block on", async () => {
    for (let number = 0; number <= chain.headNumber; number += 1) {
      const response = await post(
        gateway.endpoint("main"),
        JSON.stringify({
          jsonrpc: "2.0",
          id: 1,
          method: "eth_getBlockByNumber",
          params: [`0x${number.toString(16)}`, false],
        }),
      );
      expect([number, response.headers.get("x-headgate-proof")]).toEqual([number, "full"]);
      expect(response.headers.get("x-headgate-source")).toBe("store");
      expect(response.headers.get("x-headgate-block")).toBe(
        `${number} ${chain.blockHashes[number]}`,
      );
    }
  });
});
