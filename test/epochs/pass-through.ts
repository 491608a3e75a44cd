// A proxy before a real node: it passes calls on, or fails as a test wants. Two of them stand for two nodes with one
// chain.
import { post } from "../support/ask.ts";
import {
  failure,
  type NodeCall,
  type ScriptedNode,
  startScriptedNode,
} from "../support/scripted-node.ts";

/** `hangs`: the proxy answers no call. */
export type Conduct = "passes" | "hangs" | "limits" | "fails" | "babbles";

export type PassThrough = ScriptedNode & { conduct: Conduct };

export async function startPassThrough(nodeUrl: string): Promise<PassThrough> {
  const state: { conduct: Conduct } = { conduct: "passes" };
  const node = await startScriptedNode((call, response) => {
    switch (state.conduct) {
      case "passes":
        passOn(nodeUrl, call).then(
          (text) => response.writeHead(200, { "content-type": "application/json" }).end(text),
          () => response.destroy(),
        );
        return undefined;
      case "hangs":
        return undefined;
      case "limits":
        return failure(call, '{"code":-32005,"message":"rate limit exceeded"}');
      case "fails":
        response.writeHead(503).end();
        return undefined;
      case "babbles":
        return "<html>";
    }
  });
  return Object.assign(state, node);
}

async function passOn(nodeUrl: string, { id, method, params }: NodeCall): Promise<string> {
  const response = await post(nodeUrl, JSON.stringify({ jsonrpc: "2.0", id, method, params }));
  return response.text();
}
