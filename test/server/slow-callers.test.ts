// Slow, silent and greedy callers, and nodes that are away: nothing blocks the server.
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ask, post } from "../support/ask.ts";
import {
  type RunningGateway,
  runCommand,
  startGatewayProcess,
} from "../support/gateway-process.ts";
import { until } from "../support/processes.ts";
import { openSocket, readToEnd } from "../support/raw-http.ts";
import {
  failure,
  missing,
  result,
  type ScriptedNode,
  startScriptedNode,
} from "../support/scripted-node.ts";

const ADDRESS = `0x${"11".repeat(20)}`;
const SECRET_PATH = "s3cr3t-project-key";

let node: ScriptedNode;
let gateway: RunningGateway;
/** Sends the node's delayed answers to eth_getBalance. */
let release: () => void = () => undefined;

const bigLogs = `[${Array.from({ length: 80_000 }, () => `{"data":"0x${"ab".repeat(300)}"}`).join(",")}]`;

beforeAll(async () => {
  node = await startScriptedNode((call, response) => {
    switch (call.method) {
      case "eth_getBalance":
        release = () => response.end(result(call, '"0x1"'));
        return undefined;
      case "eth_call":
        return undefined; // no answer
      case "eth_gasPrice":
        response.destroy();
        return undefined;
      case "eth_feeHistory":
        return failure(
          call,
          `{"code":-32000,"message":"see ${node.url}/${SECRET_PATH} for 127.0.0.1"}`,
        );
      case "eth_getTransactionReceiptsByBlock":
      case "eth_getBlockReceipts":
        return call.method === "eth_getBlockReceipts" ? result(call, bigLogs) : missing(call);
      default:
        return result(call, '"0x10"');
    }
  });
  const url = `${node.url}/${SECRET_PATH}`;
  gateway = await startGatewayProcess({
    timeouts: { headers: "300ms", body: "300ms", idle: "500ms", call: "900ms", drain: "10s" },
    networks: {
      main: { family: "evm", chainId: 1, upstreams: [{ url }] },
      brief: { family: "evm", chainId: 1, upstreams: [{ url, timeout: "100ms" }] },
      gone: { family: "evm", chainId: 1, upstreams: [{ url: "http://127.0.0.1:9" }] },
      wrong: { family: "evm", chainId: 2, upstreams: [{ url }] },
    },
  });
});

const stopLater: RunningGateway[] = [];

afterAll(async () => {
  await Promise.all(stopLater.map((each) => each.stop()));
  await gateway.stop();
  await node.close();
});

describe("a caller that is too slow", () => {
  it.each([
    ["with its headers", "POST /main/v1/test-key HTTP/1.1\r\nHost: x\r\n", "408"],
    [
      "with its body",
      "POST /main/v1/test-key HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{",
      "408",
    ],
    ["to say anything", "", "408"],
  ])("%s is let go", async (_, bytes, status) => {
    const socket = await openSocket(gateway.url);
    socket.write(bytes);
    expect((await readToEnd(socket)).split(" ")[1] ?? "").toBe(status);
  });

  it("after its answer is let go when idle", async () => {
    const socket = await openSocket(gateway.url);
    socket.write("GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n");
    expect(await readToEnd(socket)).toContain("200 OK");
  });

  it("or speaks no HTTP is told so", async () => {
    const socket = await openSocket(gateway.url);
    socket.write("\x16\x03\x01 hello\r\n\r\n");
    expect(await readToEnd(socket)).toMatch(/^HTTP\/1\.1 400/);
  });
});

describe("upstreams that do not answer", () => {
  it.each([
    ["main", "eth_call", [{ to: ADDRESS }, "0x1"], 504, "upstream timeout"], // the call's deadline
    ["brief", "eth_call", [{ to: ADDRESS }, "0x1"], 504, "upstream timeout"], // the upstream's timeout
    ["main", "eth_gasPrice", [], 502, "no upstream could answer"],
    ["gone", "eth_syncing", [], 503, "no upstream is available for this network"],
    ["wrong", "eth_syncing", [], 503, "no upstream is available for this network"],
  ])("%s %s answers %s", async (network, method, params, status, message) => {
    const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method, params });
    const response = await post(gateway.endpoint(network), body);
    expect(response.status).toBe(status);
    expect(await response.json()).toEqual({
      jsonrpc: "2.0",
      id: 1,
      error: { code: -32603, message },
    });
    const request = response.headers.get("x-request-id");
    await until("the log has the request", async () =>
      gateway.log.some((line) => line["request"] === request && line.level === 50),
    );
  });

  it("make a network not ready, and say why", async () => {
    const response = await fetch(`${gateway.url}/readyz`);
    expect(response.status).toBe(503);
    expect(await response.text()).toContain("gone: ");
  });

  it("are named in the log by name, one of another chain loudly", () => {
    const loud = gateway.log.find((line) => line.level === 50 && line["network"] === "wrong");
    expect(loud).toMatchObject({ upstream: "127.0.0.1", chainId: 1, want: 2 });
    expect(JSON.stringify(gateway.log)).not.toContain(SECRET_PATH);
  });
});

it("an upstream's own URL and key never reach a caller", async () => {
  const { error } = await ask(gateway.endpoint("main"), "eth_feeHistory", ["0x1", "0x10", []]);
  expect(error?.code).toBe(-32000);
  expect(error?.message).not.toMatch(/s3cr3t|127\.0\.0\.1/);
});

it("an answer of 50 MB passes with at most two copies in memory", async () => {
  const params = ["0x1"];
  const body = JSON.stringify({
    jsonrpc: "2.0",
    id: 1,
    method: "eth_getTransactionReceiptsByBlock",
    params,
  });
  // A gateway of its own with the default deadlines: the short ones are for slow callers, not for a slow machine.
  const upstreams = [{ url: node.url }];
  const patient = await startGatewayProcess({
    // Without a followed chain: that would start a thread beside this measurement.
    networks: { main: { family: "evm", chainId: 1, window: { blocks: 0 }, upstreams } },
  });
  stopLater.push(patient);
  const peakMiB = (): number => {
    const status = readFileSync(`/proc/${patient.process.pid}/status`, "utf8");
    return Number(/VmHWM:\s+(\d+)/.exec(status)?.[1]) / 1024;
  };
  const before = peakMiB();
  // One answer only: an earlier one that is not collected yet would count too.
  const response = await post(patient.endpoint("main"), body);
  const text = await response.text();
  expect(text.length).toBe(bigLogs.length + '{"jsonrpc":"2.0","id":1,"result":}'.length);
  expect(bigLogs.length).toBeGreaterThan(48_000_000);
  expect(peakMiB() - before).toBeLessThan((2.5 * bigLogs.length) / (1 << 20) + 20);
});

const takesNoConnection = ({ url }: RunningGateway): Promise<boolean> =>
  openSocket(url).then(
    (socket) => {
      socket.destroy();
      return false;
    },
    () => true,
  );

it("SIGTERM lets running calls end, takes no new ones, and ends with 0", async () => {
  const running = ask(gateway.endpoint("main"), "eth_getBalance", [ADDRESS, "0x1"]);
  await until("the node is asked", async () =>
    node.calls.some(({ method }) => method === "eth_getBalance"),
  );
  const ended = once(gateway.process, "exit");
  gateway.process.kill("SIGTERM");
  await until("no new connection is taken", () => takesNoConnection(gateway));
  release();
  expect(await running).toMatchObject({ result: "0x1" });
  expect(await ended).toEqual([0, null]);
});

it("a second signal ends at once", async () => {
  const other = await startGatewayProcess({
    timeouts: { call: "60s", drain: "60s" },
    networks: {
      main: { family: "evm", chainId: 1, upstreams: [{ url: node.url, timeout: "60s" }] },
    },
  });
  const before = node.calls.length;
  ask(other.endpoint("main"), "eth_call", [{ to: ADDRESS }, "0x1"]).catch(() => undefined);
  await until("the node is asked", async () =>
    node.calls.slice(before).some(({ method }) => method === "eth_call"),
  );
  const ended = once(other.process, "exit");
  other.process.kill("SIGTERM");
  await until("it drains", () => takesNoConnection(other));
  const toldAt = performance.now(); // at the latest
  await until("it is no echo", async () => performance.now() - toldAt > 1_000);
  other.process.kill("SIGTERM");
  expect(await ended).toEqual([1, null]);
});

describe("the command line", () => {
  it.each([
    [["--config", "test/server/no-such.yaml"], 2, "there is no such file"],
    [["--config", "package.json"], 2, "unknown setting"],
    [["dance"], 2, "unknown command dance"],
    [["--nope"], 2, "nope"],
    [["check"], 2, "--config is missing"],
  ])("%j ends with %i", async (args, code, text) => {
    const ended = await runCommand(args);
    expect(ended.code).toBe(code);
    expect(ended.stderr).toContain(text);
    expect(ended.stderr).not.toContain("    at "); // no stack
  });
});
