// The audit trail of the real gateway: over HTTP, by the command line and by signals, across a restart, and in a fleet.
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import {
  type RunningGateway,
  runCommand,
  startGatewayProcess,
} from "../support/gateway-process.ts";
import { until } from "../support/processes.ts";

const TOKENS = {
  admin: "a-token-of-the-admin",
  reader: "a-token-of-a-reader",
  ci: "a-token-of-the-builds",
};
let data: string;
let gateway: RunningGateway;

const settings = (batch: number, processes = 1) => ({
  ...{ data, processes, limits: { batch } },
  admin: {
    listen: { port: 0 },
    token: TOKENS.admin,
    tokens: [
      { name: "reader", role: "read", token: TOKENS.reader },
      { name: "ci", role: "keys", token: TOKENS.ci },
    ],
  },
  networks: {
    main: {
      ...{ family: "evm", chainId: 1, window: { blocks: 0 } },
      upstreams: [{ url: "http://127.0.0.1:1" }],
    },
  },
});

beforeAll(async () => {
  data = await mkdtemp(join(tmpdir(), "headgate-audit-"));
  gateway = await startGatewayProcess(settings(100));
});
afterAll(async () => {
  await gateway.stop();
  await rm(data, { recursive: true });
});

const ask = async (who: keyof typeof TOKENS, verb: string, path: string, body?: object) => {
  const url = gateway.metricsUrl.replace("/metrics", path);
  const authorization = `Bearer ${TOKENS[who]}`;
  const headers = { authorization, "content-type": "application/json" };
  const sent = { method: verb, headers, ...(body && { body: JSON.stringify(body) }) };
  const response = await fetch(url, sent);
  const text = await response.text();
  return { status: response.status, text, json: /^\{/.test(text) ? JSON.parse(text) : undefined };
};

type Told = { who: string; from: string; what: string; key?: string; details?: string[] };
const trail = async (): Promise<Told[]> => {
  const { entries } = (await ask("reader", "GET", "/audit")).json as { entries: Told[] };
  return entries.map(({ who, from, what, key = "", details = [] }) => ({
    ...{ who, from, what, key, details },
  }));
};

describe("the audit trail", () => {
  it("tells what tokens, the command line and signals changed, and has no secret", async () => {
    const made = await ask("ci", "POST", "/keys", { name: "app", readOnly: true });
    expect(made.status).toBe(201);
    expect((await ask("reader", "POST", "/keys/app/revoke")).status).toBe(403);
    expect((await ask("ci", "POST", "/reload")).status).toBe(403);
    const command = ["keys", "disable", "app", "--config", gateway.configPath];
    expect(await runCommand(command)).toMatchObject({ code: 0, stderr: "" });
    await gateway.write(settings(99));
    expect((await ask("admin", "POST", "/reload")).json).toEqual({
      changed: ["limits.batch: 100 → 99"],
    });
    await gateway.reload(settings(98));
    // The log line of a reload comes before its entry in the trail.
    await until("all are in it", async () => (await trail()).length === 4);
    const reloaded = "the configuration was reloaded";
    const from = "127.0.0.1";
    const here = expect.any(String);
    expect(await trail()).toEqual([
      { who: "SIGHUP", from: here, what: reloaded, key: "", details: ["limits.batch: 99 → 98"] },
      { who: "admin", from, what: reloaded, key: "", details: ["limits.batch: 100 → 99"] },
      {
        who: expect.stringMatching(/^command line \(.+\)$/),
        ...{ from: here, what: "a key was disabled", key: "app", details: [] },
      },
      { who: "ci", from, what: "a key was made", key: "app", details: ["readOnly"] },
    ]);
    const everything = JSON.stringify(await trail()) + JSON.stringify(gateway.log);
    for (const secret of [...Object.values(TOKENS), made.json.key])
      expect(everything).not.toContain(secret);
    const { text } = await ask("reader", "GET", "/metrics");
    expect(text).toContain('headgate_admin_refused_total{why="role"} 2');
  });

  it("outlives the gateway, whose end is in it, and is told by the command line", async () => {
    await gateway.stop();
    gateway = await startGatewayProcess(settings(98, 2));
    const [ended, ...before] = await trail();
    expect(ended).toMatchObject({ who: "SIGTERM", what: "the gateway was told to end" });
    expect(before).toHaveLength(4);
    expect((await ask("ci", "POST", "/keys/app/enable")).status).toBe(200);
    const { stdout, code } = await runCommand(["audit", "--config", gateway.configPath]);
    expect(code).toBe(0);
    const [header, first, second] = stdout.split("\n");
    expect(header).toMatch(/^WHEN \(UTC\) +WHO +FROM +KEY +WHAT$/);
    expect(first).toMatch(/ ci +127\.0\.0\.1 +app +a key was enabled$/);
    expect(second).toMatch(/ SIGTERM .*the gateway was told to end$/);
  });

  it("is not filled by refused logins, which are counted, also over several processes", async () => {
    const before = await trail();
    const url = gateway.metricsUrl.replace("/metrics", "/keys");
    for (const authorization of ["Bearer wrong", "Bearer ", "Basic abc"])
      expect((await fetch(url, { headers: { authorization } })).status).toBe(401);
    expect(await trail()).toEqual(before);
    const { text } = await ask("reader", "GET", "/metrics");
    expect(text).toContain('headgate_admin_refused_total{why="token"} 3');
  });
});
