// A gateway over a node whose transactions have very many steps.
import { type RunningGateway, startGatewayProcess } from "../support/gateway-process.ts";
import { type SteppingNode, startSteppingNode } from "../support/stepping-node.ts";

const running: { stop?(): unknown; close?(): unknown }[] = [];

export async function stopOverSteps(): Promise<void> {
  for (const one of running.splice(0).reverse()) await (one.stop?.() ?? one.close?.());
}

/** @param traces The network's `limits.traces`. */
export async function startOverSteps(
  steps: number,
  traces = {},
): Promise<{ gateway: RunningGateway; node: SteppingNode; url: string }> {
  const node = await startSteppingNode(steps, 2);
  const upstreams = [{ url: node.url }];
  const network = {
    family: "evm",
    chainId: 1,
    upstreams,
    window: { blocks: 0 },
    limits: { traces },
  };
  const gateway = await startGatewayProcess({
    timeouts: { call: "120s" },
    networks: { eth: network },
  });
  running.push(node, gateway);
  return { gateway, node, url: gateway.endpoint("eth") };
}
