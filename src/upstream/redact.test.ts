import { describe, expect, it } from "vitest";
import { Secrets } from "../lib/secrets.ts";
import { traitsOf } from "../methods/catalogue.ts";
import { withoutSecrets } from "./redact.ts";

const declared = traitsOf("evm");

describe("a refusal", () => {
  const refused = (json: string) => {
    const { code, message } = JSON.parse(json) as { code: number; message: string };
    return { kind: "refused", code, message, json } as const;
  };

  it("loses the secrets in its message and in its data", () => {
    const json =
      '{"code":-32000,"message":"https://eth.example.com/s3cr3t failed","data":["s3cr3t"]}';
    expect(
      withoutSecrets(
        refused(json),
        declared("eth_call"),
        new Secrets(["eth.example.com", "s3cr3t"]),
      ),
    ).toEqual({
      kind: "refused",
      code: -32000,
      message: "https://***/*** failed",
      json: '{"code":-32000,"message":"https://***/*** failed","data":["***"]}',
    });
  });

  it.each([
    ["own members", '{"code":3,"message":"no"}', ["message"]],
    ["numbers", '{"code":-32005,"message":"no","data":{"limit":100000}}', ["100000"]],
    ["spaces and large numbers", '{ "code":3, "message":"no", "data":1e400 }', ["s3cr3t"]],
  ])("keeps its %s", (_, json, secrets) => {
    expect(withoutSecrets(refused(json), declared("eth_call"), new Secrets(secrets))).toMatchObject(
      { json },
    );
  });

  it("loses the secrets in the names of members", () => {
    const json = '{"code":3,"message":"no","data":{"https://s3cr3t":[{"s3cr3t":1}]}}';
    expect(
      withoutSecrets(refused(json), declared("eth_call"), new Secrets(["s3cr3t"])),
    ).toMatchObject({
      json: '{"code":3,"message":"no","data":{"https://***":[{"***":1}]}}',
    });
  });

  it("has no secret that hides behind an escape", () => {
    const json = '{"code":3,"message":"s3\\u0063r3t"}';
    expect(
      withoutSecrets(refused(json), declared("eth_call"), new Secrets(["s3cr3t"])),
    ).toMatchObject({
      message: "***",
    });
  });

  it("that nests too deeply to be looked through keeps its code and message only", () => {
    const deep = `${"[".repeat(100_000)}"s3cr3t"${"]".repeat(100_000)}`;
    const json = `{"code":3,"message":"no s3cr3t","data":${deep}}`;
    const reply = { kind: "refused", code: 3, message: "no s3cr3t", json } as const;
    expect(withoutSecrets(reply, declared("eth_call"), new Secrets(["s3cr3t"]))).toMatchObject({
      json: '{"code":3,"message":"no ***"}',
    });
  });
});

describe("a result", () => {
  const cleaned = (method: string, json: string): string => {
    const reply = withoutSecrets(
      { kind: "result", json: Buffer.from(json) },
      declared(method),
      new Secrets(["s3cr3t"]),
    );
    return reply.kind === "result" ? reply.json.toString() : reply.kind;
  };

  it.each([
    ["web3_clientVersion", '"Geth at https://node/s3cr3t"', '"Geth at https://node/***"'],
    ["eth_protocolVersion", '"s3\\u0063r3t"', '"***"'],
    ["erigon_nodeInfo", '[{"s3cr3t":"by s3cr3t"}]', '[{"***":"by ***"}]'],
  ])("in words loses the secrets: %s", (method, json, want) => {
    expect(cleaned(method, json)).toBe(want);
  });

  it.each([
    ["eth_getBlockByNumber", '{ "extraData":"s3cr3t" }'], // data of the chain stays as it came
    ["eth_getCode", '"0xs3cr3t"'],
    ["web3_clientVersion", ' "Geth" '],
    ["net_version", '"1"'],
    ["txpool_content", `["${"x".repeat(20_000)}s3cr3t"]`],
  ])("that is the chain's, clean or long is what came: %s", (method, json) => {
    expect(cleaned(method, json)).toBe(json);
  });

  it("that nests too deeply to be looked through, or is no JSON, is none", () => {
    expect(cleaned("web3_clientVersion", "[NaN]")).toBe("failed");
  });
});
