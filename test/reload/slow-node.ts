// A proxy that passes calls on to a node after a delay.
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as pause } from "node:timers/promises";
import { post } from "../support/ask.ts";

export type SlowNode = {
  readonly url: string;
  /** The methods that callers asked for. */
  readonly asked: readonly string[];
  /** The delay in milliseconds. */
  delayMs: number;
  close(): void;
};

export async function startSlowNode(behind: string): Promise<SlowNode> {
  const asked: string[] = [];
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const body = Buffer.concat(chunks).toString();
    asked.push(/"method":"(\w+)"/.exec(body)?.[1] ?? "");
    await pause(node.delayMs);
    const answer = await (await post(behind, body)).text();
    response.writeHead(200, { "content-type": "application/json" }).end(answer);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const node: SlowNode = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    asked,
    delayMs: 0,
    close: () => {
      server.close();
      server.closeAllConnections();
    },
  };
  return node;
}
