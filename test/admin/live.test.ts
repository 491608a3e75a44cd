// The live view of operators: the admin API's events and `headgate top`, over a real gateway and real nodes.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { EventSourceParserStream } from "eventsource-parser/stream";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import type { LiveStatus } from "../../src/admin/schemas.ts";
import { type AnvilNode, startAnvil } from "../support/anvil-node.ts";
import { ask } from "../support/ask.ts";
import { CutLine } from "../support/cut-line.ts";
import {
  type RunningGateway,
  runCommand,
  startGatewayProcess,
} from "../support/gateway-process.ts";
import { until } from "../support/processes.ts";

const TOKEN = "a-token-of-the-tests";
const READER = "another-token-of-the-tests";
const AUTHORIZED = { authorization: `Bearer ${TOKEN}` };

let own: AnvilNode;

beforeAll(async () => {
  const started = await startAnvil();
  if (!started) throw new Error("no anvil for this platform");
  own = started;
});

afterAll(() => own.close());

/** @param node A second URL of the same anvil: two anvils started in different seconds have two chains. */
const settings = (more: object = {}, node = `${own.url}/?again`) => ({
  admin: { listen: { port: 0 }, token: TOKEN },
  tail: { calls: 10, slow: "10s" },
  networks: {
    main: {
      ...{ family: "evm", chainId: 31_337 },
      upstreams: [
        { url: own.url, name: "own" },
        { url: node, name: "other" },
      ],
    },
  },
  ...more,
});

const adminOf = (gateway: RunningGateway): string => gateway.metricsUrl.replace("/metrics", "");

/** Collects the events as they come. */
async function watch(gateway: RunningGateway) {
  const leaving = new AbortController();
  const response = await fetch(`${adminOf(gateway)}/events`, {
    headers: AUTHORIZED,
    signal: leaving.signal,
  });
  const told: LiveStatus[] = [];
  const ended = (async () => {
    const events = response.body
      ?.pipeThrough(new TextDecoderStream())
      .pipeThrough(new EventSourceParserStream());
    for await (const { data } of events ?? []) told.push(JSON.parse(data) as LiveStatus);
  })().catch(() => undefined);
  const sees = (what: string, look: (network: LiveStatus["networks"][number]) => boolean) =>
    until(what, async () => {
      const network = told.at(-1)?.networks[0];
      return network !== undefined && look(network);
    });
  return { told, sees, ended, leave: () => leaving.abort() };
}

describe("the events of the admin API", () => {
  it("tell of calls by where their answers are from, and of a node that is gone", async () => {
    const doomed = new CutLine(Number(new URL(own.url).port));
    const gateway = await startGatewayProcess(settings({}, await doomed.open()));
    const { sees, told, leave, ended } = await watch(gateway);
    await sees("a head", ({ head }) => head !== undefined);
    // In the beginning the store may not have the block yet.
    await until("calls that the store answered", async () => {
      await ask(gateway.endpoint("main"), "eth_getBlockByNumber", ["0x1", false]);
      return (told.at(-1)?.networks[0]?.perSecond.store ?? 0) >= 1;
    });
    doomed.close();
    await sees("the node's illness", ({ upstreams }) => {
      const node = upstreams.find(({ upstream }) => upstream === "other");
      return node?.groups.some(({ errorRate }) => errorRate > 0) ?? false;
    });
    leave();
    await ended;
    expect(await gateway.stop()).toBe(0);
  });

  it("are those of all processes together, and end when their token does", async () => {
    const gateway = await startGatewayProcess(settings({ processes: 2 }));
    const { sees, told, ended } = await watch(gateway);
    await sees("a head", ({ head }) => head !== undefined);
    await until("calls", async () => {
      await ask(gateway.endpoint("main"), "eth_chainId");
      return (told.at(-1)?.networks[0]?.perSecond.calls ?? 0) >= 1;
    });
    await gateway.reload(
      settings({ processes: 2, admin: { listen: { port: 0 }, token: READER } }) as never,
    );
    await ended;
    expect(told.length).toBeGreaterThan(0);
    expect(await gateway.stop()).toBe(0);
  });
});

describe("headgate top", () => {
  let gateway: RunningGateway;

  beforeAll(async () => {
    gateway = await startGatewayProcess(settings());
    await ask(gateway.endpoint("main"), "eth_chainId");
  });

  afterAll(async () => {
    await gateway.stop();
  });

  const atUrl = (): string[] => ["top", "--url", adminOf(gateway)];

  it("tells once how networks and nodes do, where nobody looks on", async () => {
    const { code, stdout } = await runCommand(atUrl(), { HEADGATE_ADMIN__TOKEN: TOKEN });
    expect(stdout).toMatch(/^headgate top {2}http:\/\/127\.0\.0\.1:\d+ {2}\d\d:\d\d:\d\d UTC\n/);
    expect(stdout).toMatch(/^main +\d+ +/m);
    expect(stdout).toMatch(/^main own +\d+ +0 .* well$/m);
    expect(code).toBe(0);
  });

  it("says what to do when it is not let in, or nobody is there", async () => {
    const wrong = await runCommand(atUrl(), { HEADGATE_ADMIN__TOKEN: READER });
    expect(wrong).toMatchObject({ code: 1, stdout: "" });
    expect(wrong.stderr).toContain("401: this request needs a token of the admin API");
    const nobody = await runCommand(["top", "--url", "http://127.0.0.1:2"]);
    expect(nobody).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/^no gateway answers at http.*ECONNREFUSED/),
    });
    const noUrl = await runCommand(["top", "--url", "localhost"]);
    expect(noUrl).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("--url: expected http"),
    });
  });

  it("is refreshed on a terminal, and leaves it as it was", async () => {
    const command = `exec ${process.execPath} bin/headgate.mjs ${atUrl().join(" ")}`;
    const terminal = spawn("script", ["-qefc", command, "/dev/null"], {
      env: { ...process.env, HEADGATE_ADMIN__TOKEN: TOKEN, TERM: "xterm" },
      stdio: ["pipe", "pipe", "inherit"],
    });
    let text = "";
    terminal.stdout.on("data", (chunk) => {
      text += String(chunk);
    });
    const seen = (): number => text.split("\u001b[H").length - 1;
    onTestFinished(() => void terminal.kill("SIGKILL"));
    await until("three frames", async () => seen() >= 3 && text.includes("main own"));
    const ended = once(terminal, "exit");
    terminal.stdin.write("\u0003");
    expect(await ended).toEqual([0, null]);
    expect(text.startsWith("\u001b[?1049h\u001b[?25l")).toBe(true);
    expect(text.trimEnd().endsWith("\u001b[?25h\u001b[?1049l")).toBe(true);
  });
});
