// The smallest thing that can ask a node: for those who need parsed results and no pool.

export type RpcCaller = {
  /** The parsed result. Rejects when the node refuses or cannot be reached. */
  call(method: string, params: readonly unknown[]): Promise<unknown>;
};
