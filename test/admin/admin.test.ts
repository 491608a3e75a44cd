// The admin API of the real gateway, over real HTTP; every answer must match the OpenAPI document.
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import {
  type GatewaySettings,
  type RunningGateway,
  startGatewayProcess,
} from "../support/gateway-process.ts";
import { until } from "../support/processes.ts";
import { asker, TOKEN } from "../support/scripted-admin.ts";
import { result, type ScriptedNode, startScriptedNode } from "../support/scripted-node.ts";
import { withinASecond as isSoWithinASecond } from "../support/served-time.ts";

let node: ScriptedNode;
let gateway: RunningGateway;
let settings: GatewaySettings;
let admin: string;

const ask = asker((path, init) => fetch(admin + path, init));

beforeAll(async () => {
  node = await startScriptedNode((call) => result(call, '"0x10"'));
  settings = {
    admin: { listen: { port: 0 }, token: TOKEN },
    networks: {
      main: {
        family: "evm",
        chainId: 1,
        window: { blocks: 0 },
        upstreams: [{ url: node.url, name: "node" }],
      },
    },
  };
  gateway = await startGatewayProcess(settings);
  admin = gateway.metricsUrl.replace(/\/metrics$/, "");
});
afterAll(async () => {
  await gateway.stop();
  await node.close();
});

const isTaken = async (key: string): Promise<boolean> => {
  const body = '{"jsonrpc":"2.0","id":1,"method":"eth_gasPrice"}';
  const headers = { "content-type": "application/json" };
  const response = await fetch(gateway.endpoint("main", key), { method: "POST", headers, body });
  expect([200, 401]).toContain(response.status);
  return response.status === 200;
};

const made = async (name: string): Promise<string> => {
  const { status, json } = await ask("POST", "/keys", { body: { name } });
  expect(status).toBe(201);
  return (json as { key: string }).key;
};

const withinASecond = (what: string, isSo: () => Promise<boolean>): Promise<void> =>
  isSoWithinASecond(what, isSo, gateway.process);

describe("keys", () => {
  it("work a second after they were made at the latest, and no more after they were revoked", async () => {
    const key = await made("app");
    await withinASecond("the key works", () => isTaken(key));
    expect((await ask("POST", "/keys/app/disable")).json).toMatchObject({ status: "disabled" });
    await withinASecond("the key rests", async () => !(await isTaken(key)));
    await ask("POST", "/keys/app/enable");
    await withinASecond("the key works again", () => isTaken(key));
    await ask("POST", "/keys/app/revoke");
    await withinASecond("the key is revoked", async () => !(await isTaken(key)));
  });

  it("work beside their new text while the overlap lasts", async () => {
    const old = await made("rotated");
    const { json } = await ask("POST", "/keys/rotated/rotate", { body: { overlap: "1h" } });
    const { key } = json as { key: string };
    await withinASecond("the new one works", () => isTaken(key));
    expect(await isTaken(old)).toBe(true);
    await ask("POST", "/keys/rotated/rotate", { body: { overlap: "0s" } });
    await withinASecond(
      "none of both works",
      async () => !(await isTaken(old)) && !(await isTaken(key)),
    );
  });

  it("have their bill", async () => {
    const key = await made("billed");
    await withinASecond("the key works", () => isTaken(key));
    const rows = await until("its calls are written", async () => {
      const { json } = await ask("GET", "/keys/billed/usage");
      const bill = json as { rows: { calls: number; method: string }[] };
      return bill.rows.some(({ calls }) => calls > 0) ? bill.rows : undefined;
    });
    expect(rows).toMatchObject([{ key: "billed", network: "main", method: "eth_gasPrice" }]);
    expect((await ask("GET", "/usage?key=billed&format=csv")).text).toContain(",billed,main,");
    const { hours } = (await ask("GET", "/keys/billed/usage/hours")).json as {
      hours: { calls: number }[];
    };
    expect(hours).toHaveLength(48);
    expect(hours.reduce((sum, { calls }) => sum + calls, 0)).toBeGreaterThan(0);
  });

  it("are changed, listed and shown", async () => {
    await made("changed");
    const { json } = await ask("PATCH", "/keys/changed", { body: { networks: ["main"] } });
    expect(json).toMatchObject({ settings: { networks: ["main"] } });
    expect((await ask("GET", "/keys/changed")).json).toEqual(json);
    expect((await ask("GET", "/keys")).text).toContain('"name":"changed"');
    expect((await ask("GET", "/keys/nobody")).status).toBe(404);
  });

  it("are in no line of the log, and neither is the token", async () => {
    const key = await made("silent");
    await isTaken(key);
    await ask("GET", "/keys", { headers: { authorization: "Bearer a-wrong-token-of-somebody" } });
    const log = JSON.stringify(gateway.log);
    expect(log).toContain("a key was made");
    for (const secret of [key, TOKEN, "a-wrong-token-of-somebody"])
      expect(log).not.toContain(secret);
    expect((await ask("GET", "/metrics")).text).not.toContain(key);
  });
});

describe("the operator", () => {
  it("sees how networks and upstreams do", async () => {
    const { json } = await ask("GET", "/status");
    expect(json).toMatchObject({
      networks: [
        { network: "main", chainId: 1, upstreams: [{ upstream: "node", isUsable: true }] },
      ],
    });
  });

  it("has the configuration read again; a bad one changes nothing", async () => {
    expect((await ask("POST", "/reload")).json).toEqual({ changed: [] });
    await gateway.write({ ...settings, log: { level: "trace" } });
    expect((await ask("POST", "/reload")).json).toMatchObject({
      changed: [expect.stringContaining("log.level")],
    });
    await gateway.write({ ...settings, networks: {} });
    expect((await ask("POST", "/reload")).json).toMatchObject({
      status: 422,
      mistakes: ["networks: at least one network is needed"],
    });
    await gateway.write(settings);
    expect((await ask("POST", "/reload")).status).toBe(200);
  });

  it("knows the configured keys and networks of now after a reload", async () => {
    const request = { body: { name: "filed", networks: ["second"] } };
    expect((await ask("POST", "/keys", request)).status).toBe(422);
    const { main } = settings.networks as { main: object };
    await gateway.write({
      ...settings,
      keys: [{ name: "filed", key: "filed-key" }],
      networks: { main, second: main },
    });
    expect((await ask("POST", "/reload")).status).toBe(200);
    expect((await ask("POST", "/keys", request)).status).toBe(409);
    const other = { body: { name: "of-the-second", networks: ["second"] } };
    expect((await ask("POST", "/keys", other)).status).toBe(201);
    await gateway.write(settings);
    expect((await ask("POST", "/reload")).status).toBe(200);
  });

  it("changes the token by a reload", async () => {
    const headers = { authorization: "Bearer another-token-of-16" };
    await gateway.write({
      ...settings,
      admin: { listen: { port: 0 }, token: "another-token-of-16" },
    });
    const { text } = await ask("POST", "/reload");
    expect(text).toContain("admin.token");
    expect(text).not.toContain("another-token");
    expect((await ask("GET", "/keys")).status).toBe(401);
    await gateway.write(settings);
    expect((await ask("POST", "/reload", { headers })).status).toBe(200);
    expect((await ask("GET", "/keys")).status).toBe(200);
  });

  it("reads the document that is in docs/", async () => {
    const { default: document } = await import("../../docs/openapi.json", {
      with: { type: "json" },
    });
    expect((await ask("GET", "/openapi.json")).json).toEqual(document);
  });
});
