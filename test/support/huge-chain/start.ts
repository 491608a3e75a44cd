// Starts the node over a huge block.
import { fork } from "node:child_process";
import { once } from "node:events";

export type HugeNode = {
  readonly url: string;
  setHead(head: number): void;
  stop(): void;
};

export async function startHugeNode(transactions: number): Promise<HugeNode> {
  const child = fork(new URL("node.ts", import.meta.url), [String(transactions)]);
  const [{ port }] = (await once(child, "message")) as [{ port: number }];
  return {
    url: `http://127.0.0.1:${port}`,
    setHead: (head) => void child.send({ head }),
    stop: () => void child.kill(),
  };
}
