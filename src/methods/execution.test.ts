import { describe, expect, it } from "vitest";
import { call, refusing } from "../../test/support/scripted-context.ts";

const to = `0x${"cd".repeat(20)}`;
const data =
  "0x08c379a00000000000000000000000000000000000000000000000000000000000000020000000000000000000000000000000000000000000000000000000000000000a75736572206572726f72";

describe("what is executed", () => {
  it.each([
    { name: "eth_estimateGas", params: [{ to }], want: [{ to }] },
    { name: "eth_estimateGas", params: [{ to }, null], want: [{ to }] },
    { name: "eth_estimateGas", params: [{ to }], isBatch: true, want: [{ to }, "0x64"] },
    {
      name: "eth_estimateGas",
      params: [{ to, gas: "0x20c85581", new: 1 }],
      want: [{ to, gas: "0x20c85580", new: 1 }],
    },
    {
      name: "eth_estimateGas",
      params: [{ to, input: "0xab" }, "0x5"],
      want: [{ to, input: "0xab", data: "0xab" }, "0x5"],
    },
    {
      name: "eth_estimateGas",
      params: [{ to }, null, { [to]: { balance: "0x1" } }],
      want: [{ to }, null, { [to]: { balance: "0x1" } }],
    },
    { name: "eth_estimateGas", params: [{ data: "0x60" }], want: [{ data: "0x60" }] },
    { name: "eth_call", params: [{ to }], want: [{ to }, "latest"] },
    {
      name: "eth_call",
      params: [{ to, gas: "0x20c85581" }, "safe"],
      want: [{ to, gas: "0x20c85581" }, "safe"],
    },
    {
      name: "eth_createAccessList",
      params: [{ to }, "latest"],
      isBatch: true,
      want: [{ to }, "0x64"],
    },
  ])("$name $params goes as $want", async ({ name, params, isBatch = false, want }) => {
    const { asked } = await call(name, params, { [name]: "0x5208" }, { isBatch });
    expect(asked).toEqual([[name, want]]);
  });

  it("keeps unknown members of strange names", async () => {
    const strange: unknown = JSON.parse(
      `{"to": "${to}", "input": "0xab", "__proto__": {"gas": "0x1"}}`,
    );
    const { asked } = await call("eth_call", [strange, "0x5"], { eth_call: "0x" });
    expect(JSON.stringify(asked)).toContain('"__proto__":{"gas":"0x1"}');
  });
});

describe.each(["eth_call", "eth_estimateGas"])("a revert of %s", (name) => {
  it.each([
    { code: 3, message: "execution reverted: user error", data },
    { code: -32000, message: "Execution reverted", data },
    { code: -32015, message: "VM execution error.", data: `Reverted ${data}` },
    { code: 3, message: `execution reverted: user error, data: "${data}"`, data },
  ])("in the words $message is code 3 with its bytes", async (error) => {
    const thrown = await call(name, [{ to }], { [name]: refusing(error) }).catch((e: unknown) => e);
    expect(thrown).toMatchObject({ code: 3, message: "execution reverted: user error" });
    const { json, data: own } = thrown as { json?: string; data?: unknown };
    expect(own ?? JSON.parse(json ?? "null").data).toBe(data);
  });

  it("is not a block that is unknown, whatever the contract says", async () => {
    const error = { code: 3, message: "execution reverted: block not found", data: "0x" };
    await expect(call(name, [{ to }], { [name]: refusing(error) })).rejects.toMatchObject({
      code: 3,
      message: error.message,
    });
  });

  it("is not seen in another failure", async () => {
    const error = { code: -32000, message: "insufficient funds for gas * price + value" };
    await expect(call(name, [{ to }], { [name]: refusing(error) })).rejects.toMatchObject(error);
  });
});
