// What `npm start` prints for a person who has just arrived: URLs, a key, and calls to paste.
import type { SampleCall } from "../devnet/activity.ts";
import type { Devnet, DevnetNode } from "../devnet/devnet.ts";
import type { RpcCaller } from "../lib/rpc-caller.ts";

const print = (text: string): void => void process.stdout.write(`${text}\n`);

export function announce(devnet: Devnet, urls: { server: string; admin: string }): void {
  print("");
  print("Headgate runs over development nodes of its own. The demo key is `demo`.");
  for (const { network } of devnet.nodes) print(`  ${network}  ${baseUrl(urls.server, network)}`);
  print(`  metrics     ${urls.admin}/metrics`);
  print("Calls to paste follow as soon as each node has something to show (Conflux: ten seconds).");
}

/**
 * Prints a node's sample calls once there are some; a node that never comes up prints nothing. Each is
 * tried through the gateway before, which has followed the chain so far then.
 */
export async function printSamples(
  node: Pick<DevnetNode, "network" | "samples">,
  serverUrl: string,
  connect: (url: string) => RpcCaller,
): Promise<void> {
  const samples = await node.samples.catch(() => []);
  if (samples.length === 0) return;
  const gateway = connect(baseUrl(serverUrl, node.network));
  for (const { method, params } of samples)
    await gateway.call(method, params).catch(() => undefined); // some show an error
  print("");
  print(`${node.network}:`);
  for (const sample of samples) print(pasteable(sample, baseUrl(serverUrl, node.network)));
}

const baseUrl = (serverUrl: string, network: string): string => `${serverUrl}/${network}/v1/demo`;

function pasteable({ title, method, params }: SampleCall, url: string): string {
  const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method, params });
  return `# ${title}\ncurl -s ${url} -H 'content-type: application/json' -d '${body}'`;
}
