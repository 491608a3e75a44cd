// A JSON-RPC node over a generated chain.
import type { GeneratedChain } from "../generated-chain.ts";
import {
  missing,
  type NodeCall,
  result,
  type ScriptedNode,
  startScriptedNode,
} from "../scripted-node.ts";
import { answerOf } from "./answers.ts";

/** @param onCall Called before each answer, so that the chain may grow between two calls. */
export const startGeneratedNode = (
  chain: GeneratedChain,
  onCall: (call: NodeCall) => void = () => undefined,
  port = 0,
): Promise<ScriptedNode> =>
  startScriptedNode((call) => {
    onCall(call);
    const json = answerOf(chain, call.method, call.params);
    return json === undefined ? missing(call) : result(call, json);
  }, port);
