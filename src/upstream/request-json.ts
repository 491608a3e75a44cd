// The request as it goes to a node.

/** @param paramsJson A JSON array, spliced in as it is. */
export const requestJson = (id: number, method: string, paramsJson: string): string =>
  `{"jsonrpc":"2.0","id":${id},"method":${JSON.stringify(method)},"params":${paramsJson}}`;
