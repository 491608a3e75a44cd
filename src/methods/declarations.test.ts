import { globSync, readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import type { WorkKind } from "../namespaces/known-method.ts";
import { unknownMethod } from "../namespaces/known-methods.ts";
import { declaredMethods, forwardedMethods, traitsOf } from "./catalogue.ts";

const named = (name: string) => traitsOf(name.startsWith("cfx_") ? "conflux" : "evm")(name);

describe("the kind of work", () => {
  it.each<{ workKind: WorkKind; methods: string }>([
    {
      workKind: "chain",
      methods:
        "eth_blockNumber eth_chainId eth_gasPrice eth_feeHistory eth_syncing net_version web3_clientVersion cfx_epochNumber cfx_getStatus",
    },
    {
      workKind: "blocks",
      methods:
        "eth_getBlockByNumber eth_getBlockByHash eth_getBlockReceipts eth_getTransactionByHash eth_getTransactionReceipt eth_getBlockTransactionCountByHash eth_getUncleByBlockHashAndIndex cfx_getBlockByEpochNumber cfx_getBlocksByEpoch cfx_getEpochReceipts",
    },
    {
      workKind: "state",
      methods:
        "eth_getBalance eth_getCode eth_getStorageAt eth_getTransactionCount eth_getProof cfx_getNextNonce cfx_getAccount",
    },
    {
      workKind: "execution",
      methods:
        "eth_call cfx_call eth_estimateGas cfx_estimateGasAndCollateral eth_createAccessList eth_simulateV1",
    },
    { workKind: "logs", methods: "eth_getLogs cfx_getLogs" },
    {
      workKind: "traces",
      methods:
        "trace_transaction trace_block trace_call debug_traceTransaction debug_traceBlockByNumber",
    },
    {
      workKind: "submission",
      methods:
        "eth_sendRawTransaction cfx_sendRawTransaction eth_sendBundle eth_cancelBundle eth_sendUserOperation debug_batchSendRawTransaction",
    },
    {
      workKind: "other",
      methods: "eth_getFilterChanges txpool_content txpool_status eth_getCompilers m",
    },
  ])("is $workKind for $methods", ({ workKind, methods }) => {
    for (const method of methods.split(" "))
      expect(`${method} ${named(method).workKind}`).toBe(`${method} ${workKind}`);
  });

  it("is told by the name of what nobody declared", () => {
    for (const [name, workKind] of [
      ["klay_getLogs", "logs"],
      ["klay_call", "execution"],
      ["klay_getBalance", "state"],
      ["klay_getBlockByNumber", "blocks"],
      ["trace_everything", "traces"],
      ["klay_sendRawTransaction", "submission"], // goes only to private nodes where there are any
      ["eth_getLogs7", "other"],
    ] as const)
      expect(`${name} ${unknownMethod(name, "evm").workKind}`).toBe(`${name} ${workKind}`);
  });
});

describe("what is done by asking", () => {
  it.each([
    {
      is: "may be asked twice",
      methods:
        "eth_call eth_getLogs eth_blockNumber trace_block eth_sendRawTransaction cfx_sendRawTransaction debug_storageRangeAt eth_mining klay_getLogs",
      isRepeatable: true,
      isStateful: false,
    },
    {
      is: "is on one node, and moved by asking",
      methods:
        "eth_newFilter eth_newBlockFilter eth_newPendingTransactionFilter eth_getFilterChanges eth_getFilterLogs eth_uninstallFilter cfx_getFilterChanges",
      isRepeatable: false,
      isStateful: true,
    },
    {
      is: "acts",
      methods:
        "evm_mine evm_revert anvil_setBalance hardhat_impersonateAccount debug_setHead debug_freezeClient cfx_mine eth_submitWork klay_setHead",
      isRepeatable: false,
      isStateful: false,
    },
  ])("$methods $is", ({ methods, isRepeatable, isStateful }) => {
    for (const method of methods.split(" ")) {
      const isHedgeable = isRepeatable;
      const want = { isRepeatable, isHedgeable, isStateful };
      expect({ method, ...named(method) }).toMatchObject({ method, ...want });
    }
  });

  it.each([
    ...[
      "eth_sendRawTransaction",
      "eth_sendRawTransactionSync",
      "eth_sendRawTransactionConditional",
    ],
    ...[
      "cfx_sendRawTransaction",
      "eth_sendBundle",
      "eth_sendUserOperation",
      "eea_sendRawTransaction",
    ],
    ...["eth_callBundle", "eth_estimateGasBundle", "mev_simBundle", "trace_rawTransaction"],
    ...[
      "debug_traceBlock",
      "debug_batchSendRawTransaction",
      "zks_sendRawTransactionWithDetailedOutput",
    ],
    ...["klay_traceRawTransaction", "nobodys_simulateBundle", "nobodys_decodeSignedTransaction"],
  ])("%s carries signed transactions", (name) => {
    expect(named(name)).toMatchObject({ carriesSigned: true });
  });

  it("shows a transaction that is only executed to no second node beside a slow one", () => {
    for (const name of ["eth_callBundle", "mev_simBundle", "trace_rawTransaction"])
      expect(named(name)).toMatchObject({ isHedgeable: false, isRepeatable: true });
  });

  it.each([
    ...["eth_call", "eth_callMany", "eth_simulateV1", "eth_getRawTransactionByHash"],
    ...[
      "debug_getRawTransaction",
      "debug_traceBlockByHash",
      "klay_getRawTransaction",
      "trace_call",
    ],
  ])("%s carries no signed transaction", (name) => {
    expect(named(name)).toMatchObject({ carriesSigned: false });
  });

  it.each([
    { name: "eth_call", isBatchable: true, isMergeable: true },
    { name: "eth_getFilterChanges", isBatchable: true, isMergeable: false },
    { name: "net_listening", isBatchable: true, isMergeable: false },
    { name: "eth_sendRawTransaction", isBatchable: false, isMergeable: false },
    { name: "eth_cancelBundle", isBatchable: false, isMergeable: false },
    { name: "evm_mine", isBatchable: false, isMergeable: false },
    { name: "klay_getLogs", isBatchable: true, isMergeable: false },
    { name: "klay_sendBundle", isBatchable: false, isMergeable: false },
  ])(
    "$name goes with others in one request: $isBatchable, and for several callers: $isMergeable",
    ({ name, ...want }) => {
      expect(named(name)).toMatchObject(want);
    },
  );
});

/** The files that may name a method beside its declaration, and the reasons. */
const NAMED_BESIDE: readonly (readonly [path: RegExp, why: string])[] = [
  [/^chain\//, "the chain is followed by calls of the gateway's own"],
  [/^namespaces\/known-method\./, "what the gateway itself asks of nodes"],
  [
    /^upstream\/capabilities\/(probes|claims|word-check)\./,
    "nodes are asked what they can do, and hold",
  ],
  [/^upstream\/capabilities\/advice\./, "operators are told what a node lacks"],
  [/^upstream\/(node-requests|connection\/conversation)\./, "and to announce heads"],
  [/^upstream\/asking\/node-order\./, "for whom blocks are read from"],
  [/^upstream\/error-dialects\/|^evm\/log-refusals\./, "what nodes say"],
  [
    /^methods\/(?!catalogue|method|forwarding)/,
    "methods are declared here, and ask nodes for others",
  ],
  [
    /^filters\/(formatters|node-chain|relayed-subscriptions)\./,
    "what is told whole, and what was missed, is asked for",
  ],
  [/^jsonrpc\/rpc-error\./, "what callers are told to do instead"],
  [/\/fake-|\/memory-state\./, "fakes of tests"],
];

/** The files that may judge a method by its name: for unknown methods, and for the words of nodes. */
const GUESSES =
  /^namespaces\/known-methods\.|^upstream\/error-dialects\/|^evm\/log-refusals\.|^methods\/tracing\/sources\./;

/** The code of a file without its comments, which may name methods. */
const codeOf = (path: string): string =>
  readFileSync(new URL(`../${path}`, import.meta.url), "utf8")
    .replace(/\/\*[\s\S]*?\*\//g, "")
    .replace(/(^|\s)\/\/.*$/gm, "");

describe("a method", () => {
  const names = new Set([...declaredMethods, ...forwardedMethods].map(({ name }) => name));
  const files = globSync("**/*.ts", { cwd: new URL("..", import.meta.url) })
    .map((path) => path.replaceAll("\\", "/"))
    .filter((path) => !path.endsWith(".test.ts"));
  const isAllowed = (path: string): boolean => NAMED_BESIDE.some(([pattern]) => pattern.test(path));

  it("is named where it is declared, and elsewhere only by those who ask nodes for it", () => {
    const found = files.flatMap((path) => {
      const code = codeOf(path);
      const strings = [...code.matchAll(/["'`]([a-z][a-zA-Z0-9]*[_.]\w+)["'`]/g)];
      return strings
        .map(([, name = ""]) => name)
        .filter((name) => names.has(name) && !isAllowed(path))
        .map((name) => `${path}: ${name}`);
    });
    expect(found).toEqual([]);
  });

  it("is told from others by its declaration, never by what its name looks like", () => {
    const patterns =
      /\/[^/\n]*(?:eth|cfx|trace|debug|rpc|headgate)[|)]*(?:_|\\\.)[^/\n]*\/|\/[^/\n]*_\(?(?:send|sub|un\)?sub)[^/\n]*\//g;
    const prefixes = /(?:startsWith|includes)\("(?:eth|cfx|trace|debug|net|rpc)[_.]/g;
    const found = files
      .filter((path) => !GUESSES.test(path))
      .flatMap((path) =>
        [...codeOf(path).matchAll(patterns), ...codeOf(path).matchAll(prefixes)].map(
          ([text]) => `${path}: ${text}`,
        ),
      );
    expect(found).toEqual([]);
  });
});
