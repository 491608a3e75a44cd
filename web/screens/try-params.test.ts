import { describe, expect, it } from "vitest";
import { catalogueFor } from "../../src/methods/catalogue.ts";
import { openRpcDocument } from "../../src/methods/describe.ts";
import { checkParams } from "../../src/methods/method.ts";
import { answerText, type Described, exampleDraft, methodsOf, paramsOf } from "./try-params.ts";

const served = {
  evm: catalogueFor({ family: "evm", allow: ["eth_*", "trace_*"], groups: [], deny: [] }).served,
  conflux: catalogueFor({ family: "conflux", allow: ["cfx_*"], groups: [], deny: [] }).served,
};
const describedIn = (family: keyof typeof served): Described =>
  openRpcDocument({
    ...{ network: "main", chainId: 1, forwarded: [] },
    methods: [...served[family].values()],
  }) as unknown as Described;

describe("the parameters of a method", () => {
  it.each(["evm", "conflux"] as const)("have examples that the gateway takes: %s", (family) => {
    const document = describedIn(family);
    const { schemas } = document.components;
    const refused = methodsOf(document).flatMap((method) => {
      const { params, mistakes } = paramsOf(method, exampleDraft(method, schemas), schemas);
      const declared = served[family].get(method.name);
      if (!declared || Object.keys(mistakes).length > 0) return [];
      try {
        checkParams(declared, params);
        return [];
      } catch (error) {
        return [`${method.name} ${JSON.stringify(params)}: ${error}`];
      }
    });
    expect(refused).toEqual([]);
  });

  it("are sent by position; what is left out in between is null, and at the end nothing", () => {
    const { schemas } = describedIn("evm").components;
    const method = methodsOf(describedIn("evm")).find(({ name }) => name === "eth_call");
    if (!method) throw new Error("no method");
    const call = { "call.to": `0x${"1".repeat(40)}` };
    expect(paramsOf(method, call, schemas).params).toEqual([{ to: `0x${"1".repeat(40)}` }]);
    const { params } = paramsOf(method, { ...call, stateOverrides: "{}" }, schemas);
    expect(params).toEqual([expect.anything(), null, {}]);
    expect(paramsOf(method, {}, schemas).mistakes).toEqual({ call: "this parameter is required" });
  });

  it("of what is passed on are a list of JSON", () => {
    const document = {
      ...describedIn("evm"),
      "x-headgate-passed-on": [{ name: "debug_x", kind: "read", cost: 5 }],
    };
    const method = methodsOf(document)[0];
    if (!method) throw new Error("no method");
    expect(method.name).toBe("debug_x");
    expect(paramsOf(method, { params: '["0x1", {}]' }, {}).params).toEqual(["0x1", {}]);
    expect(paramsOf(method, {}, {}).params).toEqual([]);
  });
});

describe("an answer", () => {
  it.each([
    ['{"a":1}', '{\n  "a": 1\n}'],
    ['{"a":12345678901234567890}', '{"a":12345678901234567890}'],
    ['{"a":[9007199254740993]}', '{"a":[9007199254740993]}'],
    ['{"a":"0x', '{"a":"0x'],
  ])("%s is shown as %j", (json, text) => {
    expect(answerText(json)).toBe(text);
  });
});
