// A node that gives recorded answers, byte for byte, and knows nothing else.
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { textOf } from "./request-text.ts";

export type Recording = {
  readonly method: string;
  readonly params: readonly unknown[];
  /** The member of the answer, as text: `"result":…` or `"error":…`. */
  readonly answer: string;
};

export type RecordedNode = {
  readonly url: string;
  /** Calls without a recording, as `method params`. */
  readonly unknownCalls: readonly string[];
  close(): Promise<void>;
};

/** @param ownAnswers Answers about the node itself, by method: its chain and its head. */
export async function startRecordedNode(
  recordings: readonly Recording[],
  ownAnswers: Readonly<Record<string, unknown>>,
): Promise<RecordedNode> {
  const answerByCall = new Map(
    recordings.map(({ method, params, answer }) => [callText(method, params), answer]),
  );
  const unknownCalls: string[] = [];
  const answerTo = ({ id, method, params = [] }: Call): string => {
    const text = callText(method, params);
    const own = Object.hasOwn(ownAnswers, method) ? ownAnswers[method] : undefined;
    const answer = answerByCall.get(text) ?? (own && `"result":${JSON.stringify(own)}`);
    if (!answer) unknownCalls.push(text);
    return `{"jsonrpc":"2.0","id":${JSON.stringify(id)},${answer ?? NOT_RECORDED}}`;
  };
  const server = createServer(async (request, response) => {
    const body = JSON.parse(await textOf(request)) as Call | Call[];
    const text = Array.isArray(body) ? `[${body.map(answerTo).join()}]` : answerTo(body);
    response.writeHead(200, { "content-type": "application/json" }).end(text);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    unknownCalls,
    close: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

type Call = { id: unknown; method: string; params?: readonly unknown[] };

/** This code must not make the gateway believe that the node lacks the method. */
const NOT_RECORDED = '"error":{"code":-32000,"message":"not recorded"}';

/** The same text for all forms of the same call. */
const callText = (method: string, params: readonly unknown[]): string => {
  const given = [...params];
  while (given.at(-1) === "latest" || given.at(-1) === null) given.pop();
  return `${method} ${JSON.stringify(given.map(canonical))}`;
};

/** Sorts members, and removes those without meaning: nulls, defaults, and `data` beside the same `input`. */
function canonical(value: unknown): unknown {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return value;
  const fields = value as Readonly<Record<string, unknown>>;
  const telling = Object.entries(fields).filter(
    ([name, one]) =>
      one !== null && DEFAULTS[name] !== one && !(name === "data" && fields["input"] === one),
  );
  return Object.fromEntries(telling.sort(([one], [other]) => (one < other ? -1 : 1)));
}

const DEFAULTS: Readonly<Record<string, unknown>> = {
  fromEpoch: "latest_checkpoint",
  toEpoch: "latest_state",
};
