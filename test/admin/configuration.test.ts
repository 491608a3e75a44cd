// Operators read, check and replace the configuration, and make calls as a key: over the real gateway, as one process
// and as several.
import { chmod, readFile, stat } from "node:fs/promises";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { atDepth } from "../support/depth.ts";
import { type RunningGateway, startGatewayProcess } from "../support/gateway-process.ts";
import { until } from "../support/processes.ts";
import { asker, TOKEN } from "../support/scripted-admin.ts";
import { result, type ScriptedNode, startScriptedNode } from "../support/scripted-node.ts";

const KEYS_TOKEN = "a-token-of-role-keys";
const READ_TOKEN = "a-token-of-role-read";
const as = (token: string) => ({ headers: { authorization: `Bearer ${token}` } });

type Shown = { text: string; version: string; reloads: { outcome: string; lines: string[] }[] };
type Tried = {
  status: number;
  answer: string;
  story: { source: string; computeUnits: number; asked: { upstream: string }[] } | undefined;
  cost: number;
};

const fleets = atDepth([{ processes: 1 }], [{ processes: 1 }, { processes: 2 }]);

describe.each(fleets)("with $processes processes", ({ processes }) => {
  let node: ScriptedNode;
  let gateway: RunningGateway;
  let ask: ReturnType<typeof asker>;

  beforeAll(async () => {
    node = await startScriptedNode((call) => result(call, '"0x10"'));
    gateway = await startGatewayProcess(
      {
        processes,
        admin: {
          listen: { port: 0 },
          token: TOKEN,
          tokens: [
            { name: "keys", role: "keys", token: KEYS_TOKEN },
            { name: "reader", role: "read", token: READ_TOKEN },
          ],
        },
        keys: [
          // biome-ignore lint/suspicious/noTemplateCurlyInString: of the configuration.
          { name: "app", key: "${APP_KEY}" },
          {
            name: "bound",
            key: "bound-secret",
            origins: ["app.example.com"],
            methods: ["eth_*"],
          },
          { name: "poor", key: "poor-secret", computeUnits: { perDay: 3 } },
        ],
        prices: { computeUnits: 1_000_000 },
        networks: {
          main: {
            family: "evm",
            chainId: 1,
            window: { blocks: 0 },
            upstreams: [{ url: `${node.url}/secret-path`, name: "node" }],
          },
        },
      },
      { APP_KEY: "secret-of-the-environment" },
    );
    const admin = gateway.metricsUrl.replace(/\/metrics$/, "");
    ask = asker((path, init) => fetch(admin + path, init));
  });
  afterAll(async () => {
    await gateway.stop();
    await node.close();
  });

  const shown = async (): Promise<Shown> => (await ask("GET", "/configuration")).json as Shown;
  const apply = (text: string, version: string) =>
    ask("POST", "/configuration/apply", {
      body: { text },
      headers: { "if-match": `"${version}"` },
    });
  const tried = async (body: object): Promise<Tried> => {
    const { status, json } = await ask("POST", "/try", {
      body: { network: "main", key: "app", ...body },
    });
    expect(status).toBe(200);
    return json as Tried;
  };
  const maxBatch = async (): Promise<number> => {
    const call = '{"jsonrpc":"2.0","id":1,"method":"eth_gasPrice"}';
    const headers = { "content-type": "application/json" };
    const body = `[${Array.from({ length: 6 }, () => call).join()}]`;
    const response = await fetch(gateway.endpoint("main", "secret-of-the-environment"), {
      ...{ method: "POST", headers, body },
    });
    return response.status === 200 ? 6 : 5;
  };

  it("shows the file without a secret, and replaces it with them", async () => {
    await chmod(gateway.configPath, 0o600);
    const before = await readFile(gateway.configPath, "utf8");
    const { text, version } = await shown();
    expect(text).not.toMatch(/secret|a-token-of/);
    // biome-ignore lint/suspicious/noTemplateCurlyInString: of the configuration.
    expect(text).toContain("${APP_KEY}");
    const edited = text.replace(/}\s*$/, ',"limits":{"batch":5}}');
    expect((await ask("POST", "/configuration/validate", { body: { text: edited } })).json).toEqual(
      { mistakes: [], changed: ["limits.batch: 1000 → 5"] },
    );
    expect(await maxBatch()).toBe(6);
    const { status, json, headers } = await apply(edited, version);
    expect({ status, json }).toMatchObject({
      status: 200,
      json: { changed: ["limits.batch: 1000 → 5"] },
    });
    expect(await maxBatch()).toBe(5);
    const written = await readFile(gateway.configPath, "utf8");
    expect(written).toBe(before.replace(/}\s*$/, ',"limits":{"batch":5}}'));
    expect((await stat(gateway.configPath)).mode & 0o777).toBe(0o600);
    expect(headers.get("etag")).toBe(`"${(await shown()).version}"`);
    expect((await ask("GET", "/audit?limit=2")).text).toMatch(
      /configuration was reloaded.*configuration file was replaced/s,
    );
    expect((await shown()).reloads[0]).toMatchObject({
      outcome: "reloaded",
      lines: ["limits.batch: 1000 → 5"],
    });
  });

  it("changes nothing for a text with a mistake, of an old version, or without one", async () => {
    const { text, version } = await shown();
    const before = await readFile(gateway.configPath, "utf8");
    const wrong = await apply(text.replace('"batch":5', '"batch":0'), version);
    expect(wrong.json).toMatchObject({
      status: 422,
      mistakes: [expect.stringContaining("limits.batch")],
    });
    expect((await apply(text, "0".repeat(32))).status).toBe(412);
    const unnamed = await ask("POST", "/configuration/apply", { body: { text } });
    expect(unnamed.json).toMatchObject({ status: 422, mistakes: [/if-match/] });
    const restart = await apply(
      text.replace('"processes":', '"keySecret":"0123456789abcdefg","processes":'),
      version,
    );
    expect(restart.json).toMatchObject({ mistakes: ["keySecret: needs a restart"] });
    expect(
      (
        await ask("POST", "/configuration/apply", {
          body: { text: "x".repeat(300_000) },
          headers: { "if-match": version },
        })
      ).status,
    ).toBe(413);
    expect(await readFile(gateway.configPath, "utf8")).toBe(before);
    expect(await maxBatch()).toBe(5);
  });

  it("makes a call as a key, which is charged, and tells how it came about", async () => {
    const asked = () => node.calls.filter(({ method }) => method === "eth_gasPrice").length;
    const before = asked();
    const { status, answer, story, cost } = await tried({ method: "eth_gasPrice" });
    expect({ status, answer: JSON.parse(answer) }).toEqual({
      status: 200,
      answer: { jsonrpc: "2.0", id: 1, result: "0x10" },
    });
    expect(story).toMatchObject({ source: "upstream", asked: [{ upstream: "node" }] });
    expect(cost).toBe(story?.computeUnits);
    expect(asked()).toBe(before + 1);
    await until("its bill is written", async () => {
      const { json } = await ask("GET", "/keys/app/usage?rows=none");
      const { methods, rows } = json as { methods: Record<string, { calls: number }>; rows: [] };
      expect(rows).toEqual([]);
      return methods["eth_gasPrice"]?.calls;
    });
    // Tried calls are not in the audit trail, which they could fill.
    expect(JSON.stringify((await ask("GET", "/audit")).json)).not.toContain("tried");
    expect(gateway.log.filter(({ msg }) => msg === "a call was tried")).toMatchObject([
      { who: "admin", key: "app", network: "main", method: "eth_gasPrice" },
    ]);
  });

  it("holds the key to its scope, origins and limits", async () => {
    const bound = { key: "bound", method: "eth_gasPrice" };
    expect(JSON.parse((await tried(bound)).answer)).toMatchObject({
      error: { code: -32002, data: { rule: "origins" } },
    });
    const from = { ...bound, origin: "https://app.example.com" };
    expect(JSON.parse((await tried(from)).answer)).toMatchObject({ result: "0x10" });
    const other = await tried({ ...from, method: "net_version" });
    expect(other).toMatchObject({ status: 403, story: { computeUnits: 1 } });
    const statuses: number[] = [];
    for (let times = 0; times < 3; times += 1)
      statuses.push((await tried({ key: "poor", method: "eth_gasPrice" })).status);
    expect(statuses).toContain(429);
    await until("what refused it is counted", async () => {
      const { json } = await ask("GET", "/usage?rows=none");
      const { keys } = json as { keys: Record<string, Record<string, number>> };
      const counted = {
        of: keys["bound"]?.["refusedMethods"],
        day: keys["poor"]?.["refusedQuota"],
      };
      return counted.of === 1 && (counted.day ?? 0) > 0 ? true : undefined;
    });
  });

  it("knows no key and no network that do not take calls", async () => {
    const unknown = await ask("POST", "/try", {
      body: { network: "main", key: "nobody", method: "eth_gasPrice" },
    });
    expect(unknown.status).toBe(404);
    expect((await ask("GET", "/methods?network=none&key=app")).status).toBe(404);
    const wrong = await ask("POST", "/try", { body: { network: "main", address: "here" } });
    expect(wrong.json).toMatchObject({ status: 422, mistakes: [/key/, /method/, /address/] });
  });

  it("describes what a key may call", async () => {
    const { json } = await ask("GET", "/methods?network=main&key=bound");
    const { methods } = json as { methods: { name: string }[] };
    const names = methods.map(({ name }) => name);
    expect(names).toContain("eth_getBalance");
    expect(names).not.toContain("net_version");
  });

  it.each([
    { verb: "GET", path: "/configuration", least: "read" },
    { verb: "POST", path: "/configuration/validate", least: "all" },
    { verb: "POST", path: "/configuration/apply", least: "all" },
    { verb: "POST", path: "/try", least: "keys" },
    { verb: "GET", path: "/methods?network=main&key=app", least: "read" },
  ])("answers $verb $path from the role $least on", async ({ verb, path, least }) => {
    const tokens = { none: "wrong-token-of-nobody", read: READ_TOKEN, keys: KEYS_TOKEN };
    const refused = { read: ["none"], keys: ["none", "read"], all: ["none", "read", "keys"] }[
      least as "read"
    ] as (keyof typeof tokens)[];
    for (const role of Object.keys(tokens) as (keyof typeof tokens)[]) {
      const body = verb === "POST" ? { body: {} } : {};
      const { status } = await ask(verb, path, { ...body, ...as(tokens[role]) });
      const expected = role === "none" ? 401 : 403;
      if (refused.includes(role)) expect(status).toBe(expected);
      else expect([401, 403]).not.toContain(status);
    }
  });
});
