// Plain JSON-RPC over fetch, for tests that check answers themselves.
import type { RpcCaller } from "../../src/upstream/connection/connect.ts";

export type Envelope = {
  id?: unknown;
  result?: unknown;
  error?: { code: number; message: string; data?: unknown };
};

/** Makes one call; returns the parsed envelope, whatever the HTTP status. */
export async function ask(
  url: string,
  method: string,
  params: readonly unknown[] = [],
): Promise<Envelope> {
  const response = await post(url, JSON.stringify({ jsonrpc: "2.0", id: 1, method, params }));
  return (await response.json()) as Envelope;
}

/** Makes one call that must succeed; returns its result. */
export async function read<T>(url: string, method: string, ...params: unknown[]): Promise<T> {
  const { result, error } = await ask(url, method, params);
  if (error) throw new Error(`${method}: ${error.message}`);
  return result as T;
}

export const post = (
  url: string,
  body: string | Uint8Array<ArrayBuffer>,
  headers: Record<string, string> = {},
): Promise<Response> =>
  fetch(url, { method: "POST", body, headers: { "content-type": "application/json", ...headers } });

export const fetchCaller = (url: string): RpcCaller => ({
  call: async (method, params) => {
    const { result, error } = await ask(url, method, params);
    if (error) throw new Error(error.message);
    return result;
  },
});
