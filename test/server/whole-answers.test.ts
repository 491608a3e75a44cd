// Many concurrent callers whose right answers are known byte for byte, while others leave in the middle, pause, and go
// on: a complete answer is the right one, and a truncated one is its beginning. The gateway reuses chunks of memory
// for answers (docs/decisions/0043), so a mistake there would send one caller another caller's bytes.
import { afterAll, beforeAll, describe, expect, inject, it } from "vitest";
import { readGauge } from "../faults/watch.ts";
import { Certificates, hasOpenssl } from "../support/certificates.ts";
import { atDepth } from "../support/depth.ts";
import { type RunningGateway, startGatewayProcess } from "../support/gateway-process.ts";
import { answerOf } from "../support/generated-chain/answers.ts";
import { Random } from "../support/generated-chain/random.ts";
import { type GeneratedBlock, GeneratedChain } from "../support/generated-chain.ts";
import { until } from "../support/processes.ts";
import { missing, result, type ScriptedNode, startScriptedNode } from "../support/scripted-node.ts";
import {
  type Asked,
  type Given,
  type Manner,
  overHttp1,
  overHttp2,
  overWebSocket,
  type Place,
  type WaitingParts,
} from "../support/whole-answers.ts";

const BLOCKS = 10;
const chain = new GeneratedChain({ seed: 11, transactions: [9, 14], logs: [200, 300], busy: 3 });
chain.extend(BLOCKS);
const blocks = Array.from(
  { length: BLOCKS },
  (_, index) => chain.block(index + 1) as GeneratedBlock,
);
const hashes = blocks.flatMap(({ signed }) => signed.map(({ hash }) => hash));
const hex = (number: number): string => `0x${number.toString(16)}`;

/** The part of the ids that each request replaces by a mark of its own, in its body and in the expected answers. */
const MARK = "mark-of-request";
type Member = { readonly method: string; readonly params: readonly unknown[] };

/** Members of all kinds: read from the store, forwarded to a node, refused. */
const members: readonly ((random: Random) => Member)[] = [
  (random) => ({ method: "eth_getTransactionReceipt", params: [random.one(hashes)] }),
  (random) => ({ method: "eth_getTransactionReceipt", params: [random.one(hashes)] }),
  (random) => ({ method: "eth_getTransactionReceipt", params: [random.one(hashes)] }),
  (random) => ({ method: "eth_getTransactionByHash", params: [random.one(hashes)] }),
  (random) => ({
    method: "eth_getBlockByNumber",
    params: [hex(random.between([1, BLOCKS])), true],
  }),
  (random) => ({
    method: "eth_getBlockByNumber",
    params: [hex(random.between([1, BLOCKS])), false],
  }),
  (random) => ({ method: "eth_getBlockReceipts", params: [hex(random.between([1, BLOCKS]))] }),
  (random) => {
    const from = random.between([1, BLOCKS]);
    const to = random.between([from, BLOCKS]);
    const address = random.one([undefined, ...chain.words.addresses]);
    return { method: "eth_getLogs", params: [{ fromBlock: hex(from), toBlock: hex(to), address }] };
  },
  (random) => ({ method: "eth_getCode", params: [random.hex(20), "0x1"] }),
  () => ({ method: "eth_chainId", params: [] }),
  () => ({ method: "eth_getTransactionReceipt", params: ["0x12"] }),
  () => ({ method: "no_such", params: [] }),
];
const receiptsOnly = members.slice(0, 3);

type Body = { readonly body: string; readonly answer: string };

const memberText = ({ method, params }: Member, index: number): string =>
  JSON.stringify({ jsonrpc: "2.0", id: `${MARK}-${index}`, method, params });

function bodyOf(random: Random): string {
  const count = random.one(atDepth([1, 2, 7, 8, 30, 60, 200], [1, 2, 7, 8, 30, 100, 300]));
  const kinds = random.below(3) === 0 ? members : receiptsOnly;
  const list = Array.from({ length: count }, () => random.one(kinds)(random));
  const texts = list.map(memberText);
  return count === 1 ? (texts[0] ?? "") : `[${texts.join(",")}]`;
}

/** Compares the answer with the chain itself. */
function checkAgainstChain(body: string, answer: string): void {
  const [asked, told] = [[JSON.parse(body)].flat(), [JSON.parse(answer)].flat()];
  expect(told.map(({ id }) => id)).toEqual(asked.map(({ id }) => id));
  for (const [index, { method, params }] of (asked as Member[]).entries()) {
    const [own, right] = [told[index], answerOf(chain, method, params)];
    if (own.error !== undefined) expect([-32601, -32602, -32005]).toContain(own.error.code);
    else if (method === "eth_getCode") expect(own.result === codeOf(params[0])).toBe(true);
    else expect(own.result).toEqual(JSON.parse(right ?? "null"));
  }
}

/** Code of some kilobytes, so that the node's answers are not small. */
const codeOf = (address: unknown): string => `0x${String(address).slice(2).repeat(200)}`;

const startNode = (): Promise<ScriptedNode> =>
  startScriptedNode((call) => {
    if (call.method === "eth_getCode") return result(call, JSON.stringify(codeOf(call.params[0])));
    const json = answerOf(chain, call.method, call.params);
    return json === undefined ? missing(call) : result(call, json);
  });

const settings = (node: ScriptedNode, more: object) => ({
  log: { level: "info" },
  keys: [
    { name: "test", key: "test-key", explain: true },
    { name: "small", key: "small-key", limits: { batchResponse: "200KiB" } },
  ],
  limits: { webSocket: { compression: true, messages: 10_000 }, batch: 1_000, memory: "1GiB" },
  timeouts: { call: "60s" },
  networks: { main: { family: "evm", chainId: 1, upstreams: [{ url: node.url }] } },
  ...more,
});

const manners: readonly Manner["does"][] = [
  "goes on",
  "goes on",
  "pauses",
  "leaves",
  "resets",
  "half closes",
];

type Transport = (
  place: Place,
  asked: Asked & { readonly marks: readonly string[] },
  parts: WaitingParts,
) => Promise<readonly (Given | undefined)[]>;

const over = {
  pipelined: (place, asked, parts) => overHttp1(place, { ...asked, areAtOnce: true }, parts),
  "one by one": (place, asked, parts) => overHttp1(place, { ...asked, areAtOnce: false }, parts),
  "http/2": overHttp2,
  websocket: (place, asked, parts) =>
    overWebSocket(place, { ...asked, isCompressed: false }, parts),
  "compressed websocket": (place, asked, parts) =>
    overWebSocket(place, { ...asked, isCompressed: true }, parts),
} as const satisfies Record<string, Transport>;
const TRANSPORTS = Object.keys(over) as (keyof typeof over)[];

const TOO_MUCH =
  '{"jsonrpc":"2.0","id":null,"error":{"code":-32603,"message":"the gateway has too many answers waiting, try again"}}';

describe.each([
  { what: "one process", more: {}, isSecure: false },
  { what: "one process, TLS", more: {}, isSecure: true },
  { what: "two processes", more: { processes: 2 }, isSecure: false },
])("callers of $what", ({ more, isSecure }) => {
  let node: ScriptedNode;
  let gateway: RunningGateway;
  let made: Certificates | undefined;
  let place: Place;
  let own: object = more;
  const known: Body[] = [];
  const small: Body[] = [];
  const random = new Random(inject("seed"));

  beforeAll(async () => {
    node = await startNode();
    let ca: string | undefined;
    if (isSecure && hasOpenssl) {
      made = new Certificates();
      ca = made.read(made.authority("ca"));
      own = { ...more, listen: { port: 0, tls: made.signed("used", "ca") } };
    }
    gateway = await startGatewayProcess(settings(node, own));
    const url = new URL(gateway.endpoint("main"));
    place = { host: "127.0.0.1", port: Number(url.port), path: url.pathname, ca };
    await until("the window is full", async () => {
      const params = [{ fromBlock: "0x1", toBlock: hex(BLOCKS) }];
      const all = memberText({ method: "eth_getLogs", params }, 0);
      return (await alone(place, all)).length > 100_000;
    });
    for (let count = 0; count < atDepth(15, 60); count += 1) {
      const body = bodyOf(random);
      const answer = await alone(place, body);
      checkAgainstChain(body, answer);
      known.push({ body, answer });
      const cut = await alone(
        { ...place, path: place.path.replace("test-key", "small-key") },
        body,
      );
      checkAgainstChain(body, cut);
      small.push({ body, answer: cut });
    }
  });
  afterAll(async () => {
    await gateway?.stop();
    await node?.close();
    made?.remove();
  });

  const alone = async (where: Place, body: string): Promise<string> => {
    const manner = { afterBytes: 0, does: "goes on" } as const;
    const [given] = await overHttp1(
      where,
      { bodies: [body], manner, areAtOnce: true },
      { others: async () => undefined },
    );
    if (!given?.isWhole) throw new Error(`no answer: ${given?.text}`);
    return given.text;
  };

  let requests = 0;
  let progress = 0;
  let whole = 0;
  let watchers: { at: number; wake: () => void }[] = [];
  const others = (): Promise<void> =>
    new Promise((wake) => {
      watchers.push({ at: progress + 3, wake });
    });
  const goOn = (isOver = false): void => {
    progress += 1;
    const due = watchers.filter(({ at }) => isOver || at <= progress);
    watchers = watchers.filter((each) => !due.includes(each));
    for (const { wake } of due) wake();
  };

  const ask = async (): Promise<void> => {
    const isSmall = random.below(4) === 0;
    const where = isSmall ? { ...place, path: place.path.replace("test-key", "small-key") } : place;
    const list = Array.from({ length: random.one([1, 1, 2, 5]) }, () => {
      requests += 1;
      const mark = `${requests}`.padStart(MARK.length, "m");
      const { body, answer } = random.one(isSmall ? small : known);
      return { mark, body: body.replaceAll(MARK, mark), answer: answer.replaceAll(MARK, mark) };
    });
    const transport = random.one(TRANSPORTS.filter((each) => each !== "http/2" || place.ca));
    const manner = {
      does: random.one(manners),
      afterBytes: random.one([0, 1, 5_000, 70_000, 200_000]),
    };
    const isExplained = random.below(6) === 0 && !isSmall;
    const headers = {
      ...(random.below(3) === 0 && { "accept-encoding": "gzip" }),
      ...(isExplained && { "x-headgate-explain": "1" }),
    };
    const asked = { bodies: list.map(({ body }) => body), headers, manner };
    const marks = list.map(({ mark }) => mark);
    const given = await over[transport](where, { ...asked, marks }, { others });
    for (const [index, each] of given.entries())
      if (each && isExplained) checkExplained(each, list[index]?.answer);
      else if (each) check(each, list[index]?.answer, `${transport} ${JSON.stringify(manner)}`);
    goOn();
  };

  const check = ({ text, isWhole }: Given, answer: string | undefined, how: string): void => {
    if (isWhole) whole += 1;
    if (isWhole ? text === answer : answer?.startsWith(text)) return;
    if (text === TOO_MUCH) return;
    const at = [...text].findIndex((letter, index) => letter !== answer?.[index]);
    const around = (all = ""): string => all.slice(Math.max(0, at - 100), at + 100);
    throw new Error(`${how}, byte ${at}: ${around(text)} in the place of ${around(answer)}`);
  };

  /** Compares the answers without their explanations. */
  const checkExplained = ({ text, isWhole }: Given, answer = ""): void => {
    if (!isWhole || text === TOO_MUCH) return;
    const told = [JSON.parse(text)].flat().map(({ headgate_explain: _, ...rest }) => rest);
    expect(JSON.stringify(told) === JSON.stringify([JSON.parse(answer)].flat())).toBe(true);
  };

  /** Makes `all` requests with 24 callers at once. @param inTheMiddle Is called once. */
  async function storm(all: number, inTheMiddle: () => Promise<unknown>): Promise<void> {
    let asked = 0;
    let done: Promise<unknown> | undefined;
    const caller = async (): Promise<void> => {
      while (asked < all) {
        asked += 1;
        if (asked === Math.floor(all / 2)) done = inTheMiddle();
        await ask();
      }
    };
    await Promise.all(Array.from({ length: 24 }, () => caller().finally(() => goOn(true))));
    await done;
  }

  it("are given what they asked for, and nothing of others, over a reload too", async () => {
    const all = atDepth(120, 500);
    await storm(all, () => gateway.reload(settings(node, { ...own, log: { level: "warn" } })));
    expect(whole).toBeGreaterThan(all / 3);
    await nothingWaits();
  });

  it("are given nothing of others while the gateway ends", async () => {
    const before = whole;
    await storm(atDepth(60, 200), () => gateway.stop());
    expect(whole).toBeGreaterThan(before);
  });

  const nothingWaits = (): Promise<unknown> =>
    until("nothing waits any more", async () => {
      const names = [
        "headgate_memory_waiting_bytes",
        "headgate_http_requests_in_flight",
        "headgate_connections",
        "headgate_upstream_in_flight",
      ];
      const left = await Promise.all(names.map((name) => readGauge(gateway, name)));
      return left.every((each) => each === 0);
    });
});
