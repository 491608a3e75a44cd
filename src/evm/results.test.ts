import { existsSync, readdirSync, readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import type { z } from "zod";
import { asRemoved, block, log, receipt, transaction, uncle } from "./results.ts";

type Sample = {
  readonly file: string;
  readonly quality: string;
  readonly network?: string;
  readonly request?: { readonly method?: string };
  readonly response?: { readonly result?: unknown };
};

// The recorded results of real networks are outside of the repository.
const folder = new URL("../../../shared/samples/", import.meta.url);
const isThere = existsSync(folder);
const samples: readonly Sample[] = isThere
  ? readdirSync(folder).map((file) => ({
      ...JSON.parse(readFileSync(new URL(file, folder), "utf8")),
      file,
    }))
  : [];

const schemaByMethod: ReadonlyMap<string, z.ZodType> = new Map<string, z.ZodType>([
  ["eth_getTransactionByHash", transaction.nullable()],
  ["eth_getTransactionReceipt", receipt.nullable()],
  ["eth_getBlockReceipts", receipt.array().nullable()],
  ["eth_getBlockByNumber", block.nullable()],
  ["eth_getBlockByHash", block.nullable()],
  ["eth_getUncleByBlockHashAndIndex", uncle.nullable()],
  ["eth_getUncleByBlockNumberAndIndex", uncle.nullable()],
  ["eth_getLogs", log.array()],
]);

const recorded = samples.filter(
  ({ quality, request, response }) =>
    quality === "recorded" &&
    schemaByMethod.has(request?.method ?? "") &&
    response?.result !== undefined,
);

describe.skipIf(!isThere)("recorded answers (skipped: ../shared is absent)", () => {
  it.each(recorded)("$file of $network is as described", ({ request, response }) => {
    const checked = schemaByMethod.get(request?.method ?? "")?.safeParse(response?.result);
    expect(checked?.error?.issues ?? []).toEqual([]);
  });
});

it.each([
  ['{"data":"0x","removed":false}', '{"data":"0x","removed":true}'],
  ['{"removed": false ,"data":"removed"}', '{"removed": true ,"data":"removed"}'],
  ['{"data":"0x"}', '{"data":"0x","removed":true}'],
  ['{"data":"0x","topics":["}"],"removed":true}', '{"data":"0x","topics":["}"],"removed":true}'],
  ['{"a":{"removed":false}}', '{"a":{"removed":false},"removed":true}'],
])("tells %s as %s", (json, want) => {
  expect(asRemoved(Buffer.from(json)).toString()).toBe(want);
});
