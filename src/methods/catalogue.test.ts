import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { opensByPattern } from "../namespaces/known-method.ts";
import { isNeverServed } from "../namespaces/known-methods.ts";
import {
  type CatalogueOptions,
  catalogueFor,
  declaredMethods,
  forwardedMethods,
} from "./catalogue.ts";

const catalogue = (settings: Partial<CatalogueOptions>) =>
  catalogueFor({ family: "evm", allow: [], groups: [], deny: [], ...settings });

const EVERYTHING = ["eth_*", "net_*", "web3_*", "trace_*"];
const evm = catalogue({ allow: EVERYTHING, deny: ["eth_getProof", "eth_getH*"] });
const conflux = catalogue({ family: "conflux", allow: ["cfx_*", "pos_*"] });
const closed = catalogue({ deny: ["trace_*", "eth_getCode"] });
const star = {
  evm: catalogue({ allow: ["*"] }),
  conflux: catalogue({ family: "conflux", allow: ["*"] }),
};

describe("the catalogue", () => {
  it.each([
    { of: "evm", name: "eth_getLogs", want: 10 },
    { of: "evm", name: "eth_getCode", want: 2 },
    { of: "evm", name: "eth_getBalance", want: 2 },
    { of: "evm", name: "eth_newFilter", want: 2 },
    { of: "evm", name: "eth_getBlockReceipts", want: 10 },
    { of: "evm", name: "eth_estimateGas", want: 5 },
    { of: "evm", name: "eth_chainId", want: 1 },
    { of: "evm", name: "web3_sha3", want: 1 },
    { of: "evm", name: "net_listening", want: 1 }, // passed on unchanged, like the next three
    { of: "evm", name: "trace_blockOpcodeGas", want: 25 },
    { of: "evm", name: "eth_simulateV1", want: 5 },
    { of: "evm", name: "eth_sendBundle", want: 3 },
    { of: "evm", name: "eth_sendRawTransactionSync", want: 5 },
    { of: "conflux", name: "cfx_getLogs", want: 10 },
    { of: "conflux", name: "cfx_epochNumber", want: 1 },
    { of: "conflux", name: "web3_sha3", want: 1 },
    { of: "conflux", name: "pos_getStatus", want: 3 },
    { of: "closed", name: "rpc.discover", want: 1 },
  ] as const)("has $name for $want units", ({ of, name, want }) => {
    expect({ evm, conflux, closed }[of].served.get(name)?.cost).toBe(want);
  });

  it.each([
    "debug_traceTransaction", // not allowed here
    "eth_getProof", // denied
    "eth_getHeaderByHash", // denied by pattern
    "eth_sendTransaction",
    "eth_sendTransactionSync",
    "eth_sendUnsignedTransaction",
    "eth_sign",
    "eth_signTypedData_v4",
    "eth_getWork",
    "eth_getTokenBalance", // an unknown name
    "admin_peers",
    "personal_unlockAccount",
    "engine_newPayloadV3",
    "debug_subscribe",
    "parity_unsubscribe",
    "cfx_getLogs", // a method of the other family
    "ETH_getLogs",
    "eth_getLogs ",
    " eth_getLogs",
    "eth_getLog\u017f",
    "eth_bad name",
    "eth_\n",
    `eth_${"x".repeat(200)}`,
    "__proto__",
    "constructor",
    "",
  ])("does not have %j", (name) => {
    expect(evm.served.get(name)).toBeUndefined();
  });

  it.each([
    ["evm", "debug_traceTransaction", true],
    ["evm", "eth_sendTransaction", true],
    ["evm", "debug_subscribe", true],
    ["evm", "admin_peers", true],
    ["evm", "admin_of_tomorrow", true],
    ["evm", "eth_getProof", true],
    ["evm", "eth_getLogs", false],
    ["evm", "eth_getTokenBalance", false],
    ["evm", "cfx_getStatus", false],
    ["conflux", "pos_stop_voting", true],
    ["conflux", "eth_call", false],
  ] as const)("says of what is closed that it is: of %s, %s: %s", (family, name, want) => {
    expect({ evm, conflux }[family].isClosed(name)).toBe(want);
  });

  it.each([
    ["debugTrace", "debug_traceBlockByHash", "debug_traceBlockFromFile"],
    ["debugRaw", "debug_getRawReceipts", "debug_traceCall"],
    ["txpool", "txpool_content", "debug_getRawHeader"],
  ] as const)("opens the reads of the group %s: %s, not %s", (group, open, shut) => {
    const has = catalogue({ groups: [group] });
    expect(has.served.get(open)?.kind).toBe("read");
    expect(has.served.get(shut)).toBeUndefined();
  });

  it("opens node control by its full name, and what nobody knows as a write that reads anything", () => {
    const names = ["debug_setHead", "anvil_mine", "alchemy_getTokenBalances", "eth_newThing"];
    const has = catalogue({ allow: names });
    expect(names.map((name) => has.served.get(name)?.kind)).toEqual([
      "node control",
      "node control",
      "write",
      "write",
    ]);
    expect(has.served.get("eth_newThing")?.contractsOf?.([])).toBeUndefined();
    expect(has.served.get("debug_setHeads")).toBeUndefined();
    expect(
      catalogue({ allow: names, deny: ["debug_*"] }).served.get("debug_setHead"),
    ).toBeUndefined();
  });

  it("opens what is never served by no name at all", () => {
    const names = [
      ...forwardedMethods.map(({ name }) => name).filter(isNeverServed),
      ...["ADMIN_peers", "Eth_Sign", "eth_signNew", "eth_SENDtransaction", "x_resend"],
      ...["other_subscribe", "klay_sendTransaction"],
    ];
    const has = catalogue({ allow: names });
    for (const name of names) expect([name, has.served.get(name)]).toEqual([name, undefined]);
    expect(has.forwarded).toEqual([]);
  });

  it("has the methods of the specification without being told, unless they are denied", () => {
    expect(closed.served.get("eth_getLogs")).toBeDefined();
    expect(closed.served.get("eth_getUncleCountByBlockHash")).toBeDefined();
    expect(closed.served.get("eth_getBalance")).toBeUndefined();
    expect(closed.served.get("eth_getCode")).toBeUndefined();
    expect(closed.served.get("trace_get")).toBeUndefined();
    expect(closed.methods.map(({ name }) => name)).not.toContain("trace_get");
  });

  it("declares every method once, with optional parameters last", () => {
    const names = declaredMethods.map(({ name }) => name);
    expect(new Set(names).size).toBe(names.length);
    for (const { parameters } of declaredMethods) {
      const flags = parameters === "any" ? [] : parameters.map(({ isOptional }) => isOptional);
      expect(flags).toEqual([...flags].sort());
    }
  });
});

describe("what is known by name", () => {
  it("is known once in each family, and not declared as well, but for traces", () => {
    const ids = forwardedMethods.map(({ name, family }) => `${family} ${name}`);
    expect(ids.filter((id, at) => ids.indexOf(id) !== at)).toEqual([]);
    const declared = new Set(declaredMethods.map(({ name, family }) => `${family} ${name}`));
    expect(ids.filter((id) => declared.has(id))).toEqual([]);
  });

  it.each(forwardedMethods.map(({ name, family, kind }) => [name, family, kind] as const))(
    "%s of %s is open under `*` when it reads or writes: %s",
    (name, family, kind) => {
      const isOpen = opensByPattern(kind) && !isNeverServed(name);
      expect(star[family as "evm"].served.get(name)?.kind).toBe(isOpen ? kind : undefined);
      const named = catalogue({ family: family as "evm", allow: [name] }).served.get(name);
      expect(named?.kind).toBe(isNeverServed(name) ? undefined : kind);
    },
  );

  it("is no control and no signing whatever pattern is written", () => {
    const control = forwardedMethods.filter(({ kind }) => !opensByPattern(kind));
    const literal = fc.oneof(
      fc.constantFrom("", "_", "eth_", "debug_", "pos_", "anvil_", "admin_", "set", "s", "S", "."),
      fc.constantFrom(...control.map(({ name }) => name)),
      fc.string({ maxLength: 4 }),
    );
    const pattern = fc
      .array(literal, { minLength: 2, maxLength: 5 })
      .map((parts) => parts.join("*"));
    fc.assert(
      fc.property(
        fc.array(pattern, { maxLength: 4 }),
        fc.constantFrom("evm" as const, "conflux" as const),
        (allow, family) => {
          const has = catalogue({ family, allow, groups: ["debugTrace", "debugRaw", "txpool"] });
          expect(has.forwarded.filter(({ kind }) => !opensByPattern(kind))).toEqual([]);
          for (const { name } of control) if (has.served.get(name)) throw new Error(name);
        },
      ),
      { numRuns: 300 },
    );
  });
});
