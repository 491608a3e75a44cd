// A node over a chain of mainnet-sized blocks in a file: `FOLDER BLOCKS`. It generates a missing file, which takes
// about a minute for 1,000 blocks (600 MB).
import {
  closeSync,
  existsSync,
  openSync,
  readFileSync,
  readSync,
  renameSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { createServer, type ServerResponse } from "node:http";
import { join } from "node:path";
import { GeneratedChain } from "../../test/support/generated-chain.ts";
import { textOf } from "../../test/support/request-text.ts";
import { listen } from "./listen.ts";

type Place = {
  readonly hash: string;
  readonly at: number;
  readonly block: number;
  readonly receipts: number;
};
type Call = { readonly id: unknown; readonly method: string; readonly params: readonly unknown[] };

const [folder = "", count = "1000"] = process.argv.slice(2);
const blocks = Number(count);
const name = join(folder, `mainnet-${blocks}`);
if (!existsSync(`${name}.index`)) make();
const places = JSON.parse(readFileSync(`${name}.index`, "utf8")) as Place[];
const numbers = new Map(places.map(({ hash }, number) => [hash, number]));
const file = openSync(`${name}.blocks`, "r");

function make(): void {
  const chain = new GeneratedChain({
    ...{ seed: 1, transactions: [200, 200], logs: [400, 400] },
    ...{ addresses: 300, topics: 3000 },
  });
  const written = openSync(`${name}.blocks`, "w");
  const made: Place[] = [];
  let at = 0;
  for (let number = 0; number < blocks; number += 1) {
    if (number > 0) chain.extend(1);
    const { hash, blockJson, receiptsJson } = chain.head;
    writeSync(written, blockJson + receiptsJson);
    made.push({ hash, at, block: blockJson.length, receipts: receiptsJson.length });
    at += blockJson.length + receiptsJson.length;
    chain.forget();
  }
  closeSync(written);
  writeFileSync(`${name}.part`, JSON.stringify(made));
  renameSync(`${name}.part`, `${name}.index`);
}

const NAMED: Readonly<Record<string, number>> = {
  earliest: 0,
  latest: blocks - 1,
  safe: blocks - 9,
  finalized: blocks - 17,
};

function placeOf(reference: unknown): Place | undefined {
  const text = String(reference);
  return places[numbers.get(text) ?? NAMED[text] ?? Number(text)];
}

function read(at: number, length: number): Buffer {
  const bytes = Buffer.allocUnsafe(length);
  readSync(file, bytes, 0, length, at);
  return bytes;
}

const NOTHING = Buffer.from("null");

function resultOf(method: string, [reference, isFull]: readonly unknown[]): Buffer | undefined {
  if (method === "eth_chainId") return Buffer.from('"0x1"');
  if (method === "eth_syncing") return Buffer.from("false");
  if (method === "eth_blockNumber") return Buffer.from(`"0x${(blocks - 1).toString(16)}"`);
  const place = placeOf(reference);
  if (method === "eth_getBlockReceipts")
    return place ? read(place.at + place.block, place.receipts) : NOTHING;
  if (method !== "eth_getBlockByNumber" && method !== "eth_getBlockByHash") return undefined;
  if (!place) return NOTHING;
  const whole = read(place.at, place.block);
  if (isFull) return whole;
  const block = JSON.parse(whole.toString()) as { transactions: { hash: string }[] };
  return Buffer.from(
    JSON.stringify({ ...block, transactions: block.transactions.map(({ hash }) => hash) }),
  );
}

function send(response: ServerResponse, parts: readonly Buffer[]): void {
  const length = parts.reduce((sum, part) => sum + part.length, 0);
  response.writeHead(200, { "content-type": "application/json", "content-length": length });
  for (const part of parts) response.write(part);
  response.end();
}

function answer({ id, method, params }: Call): Buffer[] {
  const result = resultOf(method, params ?? []);
  const end = Buffer.from("}");
  return result
    ? [Buffer.from(`{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":`), result, end]
    : [
        Buffer.from(
          `{"jsonrpc":"2.0","id":${JSON.stringify(id)},"error":{"code":-32601,"message":"not found"}`,
        ),
        end,
      ];
}

listen(
  createServer(async (request, response) => {
    const asked = JSON.parse(await textOf(request)) as Call | Call[];
    if (!Array.isArray(asked)) return send(response, answer(asked));
    const separated = asked.flatMap((call, index) => [
      Buffer.from(index === 0 ? "[" : ","),
      ...answer(call),
    ]);
    send(response, [...separated, Buffer.from("]")]);
  }),
);
