// The process of the nodes, apart from the load and the gateway. Carries out the orders of `nodes.ts`.
import { FaultyNode } from "./faulty-node.ts";
import type { Order } from "./nodes.ts";
import { WorldChain, type WorldTime } from "./world-chain.ts";

const time = JSON.parse(process.argv[2] ?? "{}") as WorldTime;
const chain = new WorldChain(time);
const nodes: FaultyNode[] = [];

process.on("message", ({ number, order }: { number: number; order: Order }) => {
  void obey(order).then((value) => process.send?.({ number, value }));
});

// The parent process is gone.
process.on("disconnect", () => process.exit());

async function obey(order: Order): Promise<unknown> {
  switch (order.kind) {
    case "open": {
      const node = new FaultyNode({ seed: time.seed + nodes.length }, { chain });
      nodes.push(node);
      return { index: nodes.length - 1, url: await node.open() };
    }
    case "fault":
      return nodes[order.node]?.setFault(order.fault);
    case "count":
      return nodes[order.node]?.counts();
    case "close":
      return nodes[order.node]?.close();
  }
}
