// A proxy before a node: it answers some calls itself, and passes the others on.
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { post } from "./ask.ts";
import { textOf } from "./request-text.ts";
import type { NodeCall } from "./scripted-node.ts";

export type PassingNode = { readonly url: string; close(): Promise<void> };

/** @param own The proxy's own answer as text; undefined: it asks the node, whose absence ends the connection. */
export async function startPassingNode(
  behind: string,
  own: (call: NodeCall) => string | undefined,
): Promise<PassingNode> {
  const server = createServer(async (request, response) => {
    const body = await textOf(request);
    const passOn = () => post(behind, body).then((one) => one.text());
    const text = own(JSON.parse(body)) ?? (await passOn().catch(() => undefined));
    if (text === undefined) request.destroy();
    else response.writeHead(200, { "content-type": "application/json" }).end(text);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}
