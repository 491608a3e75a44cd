import { describe, expect, it } from "vitest";
import { parseConfig } from "./parse-config.ts";
import type { Config } from "./schema.ts";
import { secretsInEvidence, secretsInLog, secretsOf } from "./secrets.ts";

const secretsIn = (url: string, headers: Record<string, string> = {}): string[] =>
  secretsOf({ url, headers });

describe("what must not be told of a node", () => {
  it.each([
    ["https://eth.example.com/v3/0123456789abcdef", ["0123456789abcdef", "eth.example.com"]],
    ["https://example.com/?key=k3y-k3y&x=1", ["example.com", "k3y-k3y"]],
    ["https://operator:p%40ssword@10.0.0.17/", ["operator", "p%40ssword", "p@ssword", "10.0.0.17"]],
    ["https://k3yk3yk3yk3y.eth.example.com", ["k3yk3yk3yk3y", "k3yk3yk3yk3y.eth.example.com"]],
    ["wss://eth-0123456789abcdef.example.com", ["eth-0123456789abcdef", "0123456789abcdef"]],
    ["http://us%er1:pass%word@n.io", ["pass%word", "us%er1"]],
    ["https://localhost/?0123456789abcdef", ["0123456789abcdef"]],
  ])("%s", (url, want) => {
    expect(secretsIn(url)).toEqual(expect.arrayContaining(want));
  });

  it("does not hold ordinary words: nodes say 'execution reverted'", () => {
    expect(secretsIn("http://execution:8545/mainnet?apikey=")).toEqual([]);
  });

  it("holds credentials as they are sent, and what was sent as credentials", () => {
    const base64 = Buffer.from("operator:p@ssw0rd?").toString("base64");
    const inUrl = secretsIn("https://operator:p%40ssw0rd%3F@localhost/");
    expect(inUrl).toEqual(expect.arrayContaining([base64, base64.replace(/=+$/, "")]));
    const inHeader = secretsIn("http://localhost", { Authorization: `Basic ${base64}` });
    expect(inHeader).toEqual(expect.arrayContaining([base64, "operator", "p@ssw0rd?"]));
  });

  it("a header's value, and the token in it", () => {
    const secrets = secretsIn("http://localhost", { Authorization: "Bearer t0k3n-t0k3n" });
    expect(secrets).toContain("t0k3n-t0k3n");
    expect(secrets).toContain("Bearer t0k3n-t0k3n");
  });
});

const configOf = (networks: object, others: object = {}): Config => {
  const parsed = parseConfig(JSON.stringify({ networks, ...others }), {});
  if (parsed.kind === "mistakes") throw new Error(parsed.mistakes.join());
  return parsed.config;
};

const EVM = { family: "evm", chainId: 1 };

describe("what no evidence and no log line shows", () => {
  const url = "https://operator:passw0rd@10.0.0.17/eth-main-1/0123456789abcdef";
  const headers = { "x-client": "headgate", authorization: "Bearer t0k3n-t0k3n" };
  const upstream = { url, headers, name: "node-1" };
  const others = {
    state: "redis://:r3d1s-w0rd@127.0.0.1:6379",
    tracing: { endpoint: "http://127.0.0.1/c0ll3ct0r", headers: { auth: "0tlp-t0k3n" } },
  };
  const config = configOf({ "eth-main-1": { ...EVM, upstreams: [upstream] } }, others);

  it("are credentials; names are no secrets, although a URL may have them", () => {
    const [evidence, log] = [secretsInEvidence(config), secretsInLog(config)];
    for (const each of [evidence, log]) {
      expect(each).toEqual(expect.arrayContaining(["passw0rd", "0123456789abcdef", "t0k3n-t0k3n"]));
      expect(each).not.toContain("eth-main-1");
    }
  });

  it("is the host of a URL in evidence, but not in the log, which has other addresses, too", () => {
    expect(secretsInEvidence(config)).toContain("10.0.0.17");
    expect(secretsInLog(config)).not.toContain("10.0.0.17");
  });

  it("are the passwords of the shared state and the collector in the log, but no ordinary words", () => {
    const log = secretsInLog(config);
    expect(log).toEqual(expect.arrayContaining(["r3d1s-w0rd", "c0ll3ct0r", "0tlp-t0k3n"]));
    expect(log).not.toContain("headgate");
    expect(log).not.toContain("operator");
  });

  it("is the credential of a network whose chain is not known yet, too", () => {
    const unknown = configOf({ somewhere: { upstreams: [upstream] } });
    expect(secretsInLog(unknown)).toContain("passw0rd");
    expect(secretsInEvidence(unknown)).toContain("passw0rd");
  });
});
