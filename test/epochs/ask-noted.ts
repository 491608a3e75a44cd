// A call, with the provenance in the headers of the gateway's answer.
import { type Envelope, post } from "../support/ask.ts";

export type NotedReply = Envelope & {
  readonly source: string | null;
  /** The number and the hash of the answer's block. */
  readonly block: string | null;
  readonly isCut: boolean;
};

/** Makes one call; returns its answer and the provenance headers. */
export async function askNoted(
  url: string,
  method: string,
  params: unknown[],
): Promise<NotedReply> {
  const response = await post(url, JSON.stringify({ jsonrpc: "2.0", id: 1, method, params }));
  const isCut = response.headers.get("x-headgate-truncated") === "true";
  const source = response.headers.get("x-headgate-source");
  const block = response.headers.get("x-headgate-block");
  return { ...((await response.json()) as Envelope), source, block, isCut };
}
