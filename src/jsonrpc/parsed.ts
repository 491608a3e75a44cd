// What a node writes may be anything: it must never make us throw.

/** The value that the text stands for; undefined when it is no JSON. */
export function parsed(json: Buffer | string): unknown {
  try {
    return JSON.parse(json.toString());
  } catch {
    return undefined;
  }
}
