import { describe, expect, it } from "vitest";
import { secretsOf, withoutSecrets } from "./redact.ts";

const secretsIn = (url: string, headers: Record<string, string> = {}): string[] =>
  secretsOf({ url, headers });

describe("what must not be told of a node", () => {
  it.each([
    ["https://eth.example.com/v3/0123456789abcdef", ["0123456789abcdef", "eth.example.com"]],
    ["https://example.com/?key=k3y-k3y&x=1", ["example.com", "k3y-k3y"]],
    ["https://operator:p%40ssword@10.0.0.17/", ["operator", "p%40ssword", "p@ssword", "10.0.0.17"]],
    ["http://execution:8545/mainnet", []], // ordinary words: nodes say "execution reverted"
    ["http://us%er1:pass%word@n.io", ["pass%word", "us%er1"]],
  ])("%s", (url, want) => {
    expect(secretsIn(url).sort()).toEqual(want.sort());
  });

  it("a header's value, and the token in it", () => {
    const secrets = secretsIn("http://localhost", { Authorization: "Bearer t0k3n-t0k3n" });
    expect(secrets).toContain("t0k3n-t0k3n");
    expect(secrets[0]).toBe("Bearer t0k3n-t0k3n"); // the longest first
  });
});

describe("a refusal", () => {
  const refused = (json: string) => {
    const { code, message } = JSON.parse(json) as { code: number; message: string };
    return { kind: "refused", code, message, json } as const;
  };

  it("loses the secrets in its message and in its data", () => {
    const json =
      '{"code":-32000,"message":"https://eth.example.com/s3cr3t failed","data":["s3cr3t"]}';
    expect(withoutSecrets(refused(json), ["eth.example.com", "s3cr3t"])).toEqual({
      kind: "refused",
      code: -32000,
      message: "https://***/*** failed",
      json: '{"code":-32000,"message":"https://***/*** failed","data":["***"]}',
    });
  });

  it.each([
    ["names of members", '{"code":3,"message":"no"}', ["message"]],
    ["numbers", '{"code":-32005,"message":"no","data":{"limit":100000}}', ["100000"]],
    ["spaces and large numbers", '{ "code":3, "message":"no", "data":1e400 }', ["s3cr3t"]],
  ])("keeps its %s", (_, json, secrets) => {
    expect(withoutSecrets(refused(json), secrets)).toMatchObject({ json });
  });

  it("has no secret that hides behind an escape", () => {
    const json = '{"code":3,"message":"s3\\u0063r3t"}';
    expect(withoutSecrets(refused(json), ["s3cr3t"])).toMatchObject({ message: "***" });
  });

  it("that nests too deeply to be looked through keeps its code and message only", () => {
    const deep = `${"[".repeat(100_000)}"s3cr3t"${"]".repeat(100_000)}`;
    const json = `{"code":3,"message":"no s3cr3t","data":${deep}}`;
    const reply = { kind: "refused", code: 3, message: "no s3cr3t", json } as const;
    expect(withoutSecrets(reply, ["s3cr3t"])).toMatchObject({
      json: '{"code":3,"message":"no ***"}',
    });
  });
});
