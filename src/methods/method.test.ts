import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { blockNumberOrTag, blockReference } from "../evm/block-reference.ts";
import { callObject } from "../evm/call-object.ts";
import { logFilter } from "../evm/log-filter.ts";
import * as values from "../evm/values.ts";
import { RpcError } from "../jsonrpc/rpc-error.ts";
import { unknownMethod } from "../namespaces/known-methods.ts";
import { declaredMethods, forwardedMethod } from "./catalogue.ts";
import { checkParams, type Method, quickTestOf } from "./method.ts";

const hash = `0x${"ab".repeat(32)}`;
const address = `0x${"cd".repeat(20)}`;

const methodNamed = (name: string): Method => {
  const found = declaredMethods.find((method) => method.name === name);
  if (!found) throw new Error(`${name} is not declared`);
  return found;
};

const complaint = (name: string, params: readonly unknown[]): unknown => {
  try {
    return checkParams(methodNamed(name), params);
  } catch (thrown) {
    return thrown;
  }
};

describe("bad parameters", () => {
  it.each([
    { name: "eth_getTransactionByHash", params: [], want: "missing value for required argument 0" },
    {
      name: "eth_getTransactionByHash",
      params: [null],
      want: "missing value for required argument 0",
    },
    { name: "eth_getBlockByHash", params: [hash], want: "missing value for required argument 1" },
    {
      name: "eth_getTransactionByHash",
      params: [hash, 1],
      want: "too many arguments, want at most 1",
    },
    { name: "eth_blockNumber", params: [null], want: "too many arguments, want at most 0" },
    // As geth does, the gateway reports the first mistake.
    {
      name: "eth_getTransactionByHash",
      params: ["0x1", 1],
      want: "invalid argument 0: want 32 bytes",
    },
    {
      name: "eth_getTransactionByHash",
      params: [7],
      want: "invalid argument 0: want a hex string",
    },
    {
      name: "eth_getBlockByHash",
      params: [hash, "true"],
      want: "invalid argument 1: want true or false",
    },
    {
      name: "eth_getBlockByNumber",
      params: ["0x01", true],
      want: "invalid argument 0: hex number with leading zero digits",
    },
    {
      name: "eth_getCode",
      params: [address, "newest"],
      want: "invalid argument 1: want a block number, latest, earliest, pending, safe or finalized",
    },
    {
      name: "eth_getCode",
      params: [address, { blockHash: "0x1" }],
      want: "invalid argument 1: blockHash: want 32 bytes",
    },
    {
      name: "eth_getLogs",
      params: [{ address: [address, "0x12"] }],
      want: "invalid argument 0: address[1]: want 20 bytes",
    },
    {
      name: "eth_getLogs",
      params: [{ address: 5 }],
      want: "invalid argument 0: address: want an address or an array of addresses",
    },
    {
      name: "eth_getLogs",
      params: [{ topics: [null, [hash, "0xzz"]] }],
      want: "invalid argument 0: topics[1][1]: invalid hex string",
    },
    {
      name: "eth_getLogs",
      params: [{ topics: [null, null, null, null, null] }],
      want: "invalid argument 0: topics: want at most 4 topics",
    },
    {
      name: "eth_getLogs",
      params: ["latest"],
      want: "invalid argument 0: want a log filter object",
    },
    {
      name: "trace_replayTransaction",
      params: [hash, ["trace", "all"]],
      want: "invalid argument 1: [1]: want vmTrace, trace or stateDiff",
    },
    {
      name: "web3_sha3",
      params: ["68656c6c6f"],
      want: "invalid argument 0: hex string without 0x prefix",
    },
  ])("$name $params: $want", ({ name, params, want }) => {
    const error = complaint(name, params);
    expect(error).toBeInstanceOf(RpcError);
    expect(error).toMatchObject({ code: -32602, message: want });
    expect(error).toHaveProperty("status", name === "web3_sha3" ? 400 : 200);
  });

  it("are not read to the end when there are too many", () => {
    const error = complaint("trace_get", [hash, Array(200_000).fill("x")]);
    expect(error).toMatchObject({ message: "invalid argument 1: want at most 1024 indexes" });
  });

  it("are never echoed at length", () => {
    const long = "x".repeat(100_000);
    for (const params of [[long], [{ [long]: 1 }], [{ topics: long }], [{ address: [long] }]]) {
      expect(String(complaint("eth_getLogs", params)).length).toBeLessThan(200);
    }
  });
});

describe("good parameters", () => {
  it.each([
    { params: [address], want: { address } },
    { params: [address, null], want: { address, block: undefined } },
    { params: [address, "latest"], want: { address, block: "latest" } },
  ])("$params become $want", ({ params, want }) => {
    expect(complaint("eth_getCode", params)).toStrictEqual(want);
  });

  it("stay the very values that came, strange members too", () => {
    const filter: unknown = JSON.parse('{"__proto__": {"fromBlock": "0x1"}, "new": 1}');
    const args = checkParams(methodNamed("eth_getLogs"), [filter]);
    expect(args["filter"]).toBe(filter);
    expect((args["filter"] as { fromBlock?: unknown }).fromBlock).toBeUndefined();
  });

  it("are any, of a method that is only forwarded", () => {
    expect(checkParams(forwardedMethod(unknownMethod("eth_new", "evm")), [1, "x", null])).toEqual(
      {},
    );
  });
});

describe("any parameters", () => {
  it.each(declaredMethods.map(({ name }) => name))("of %s pass or are refused", (name) => {
    const method = methodNamed(name);
    fc.assert(
      fc.property(fc.array(fc.jsonValue(), { maxLength: 6 }), (params) => {
        try {
          checkParams(method, params);
        } catch (thrown) {
          expect(thrown).toBeInstanceOf(RpcError);
        }
      }),
      { numRuns: 30 },
    );
  });
});

describe("a quick test of a parameter", () => {
  const digits = fc.string({
    unit: fc.constantFrom(..."0123456789abcdefABCDEFxg\n "),
    maxLength: 70,
  });
  const exactly = fc
    .constantFrom(40, 64)
    .chain((length) =>
      fc.string({ unit: fc.constantFrom(..."01f"), minLength: length, maxLength: length }),
    );
  const text = fc.oneof(digits, exactly).map((each) => `0x${each}`);
  const maybe = fc.oneof(
    { weight: 3, arbitrary: text },
    fc.constantFrom(null, undefined, 7, "latest"),
  );
  const list = fc.array(maybe, { maxLength: 5 });
  const member = fc.oneof(maybe, list, fc.array(list, { maxLength: 2 }));
  const objects = fc.record(
    Object.fromEntries(
      ["to", "gas", "data", "fromBlock", "address", "topics", "blockHash", "__proto__"].map(
        (name) => [name, name === "topics" ? member : maybe],
      ),
    ),
    { requiredKeys: [] },
  );
  const nearly = fc.oneof(
    fc.constantFrom("latest", "earliest", "pending", "safe", "finalized", "0x", "0x0", "Latest"),
    ...[text, objects, list],
    fc.record({ blockNumber: fc.constantFrom("latest", "x") }),
    fc.anything(),
  );

  it.each([
    ["quantity", values.quantity],
    ["hash", values.hash],
    ["address", values.address],
    ["a block's number or tag", blockNumberOrTag],
    ["a block's reference", blockReference],
    ["an optional one", blockReference.optional()],
    ["data", values.data],
    ["a list", z.array(values.quantity.nullable()).max(3)],
    ["a call", callObject],
    ["a filter of logs", logFilter],
  ])("lets nothing pass that its schema refuses: %s", (_, schema) => {
    const passes = quickTestOf(schema);
    let passed = 0;
    const property = fc.property(nearly, (value) => {
      if (!passes?.(value)) return;
      passed += 1;
      expect(schema.safeParse(value).success).toBe(true);
    });
    fc.assert(property, { numRuns: 2_000 });
    expect(passed).toBeGreaterThan(20);
  });

  it("is there for what it understands alone", () => {
    const others = [
      ...[z.number(), z.string().min(3), values.data.superRefine(() => undefined)],
      ...[z.array(values.data).min(1), z.array(z.number()), z.looseObject({ a: z.number() })],
      ...[z.object({ a: values.data }), z.strictObject({ a: values.data })],
      z.looseObject({ a: values.data }).refine(() => true),
    ];
    expect(others.map(quickTestOf)).toEqual(others.map(() => undefined));
  });
});
