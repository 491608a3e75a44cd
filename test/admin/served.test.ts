// The admin port's answers to browsers, over the real gateway: the console's files, sessions, and draining a node.
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { brotliDecompressSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { processesOf } from "../processes/callers.ts";
import { type AnvilNode, startAnvil } from "../support/anvil-node.ts";
import { ask } from "../support/ask.ts";
import { atDepth } from "../support/depth.ts";
import {
  type GatewaySettings,
  type RunningGateway,
  startGatewayProcess,
} from "../support/gateway-process.ts";
import { until } from "../support/processes.ts";

const TOKEN = "a-token-of-the-tests";
const READER = "another-token-of-the-tests";
const AUTHORIZED = { authorization: `Bearer ${TOKEN}` };

let anvil: AnvilNode;
let gateway: RunningGateway;
let url: string;

const settings = (more: object = {}): GatewaySettings => ({
  admin: {
    ...{ listen: { port: 0 }, token: TOKEN },
    tokens: [{ name: "grafana", role: "read", token: READER }],
  },
  networks: {
    main: {
      ...{ family: "evm", chainId: 31_337, window: { blocks: 0 } },
      upstreams: [
        { url: anvil.url, name: "own" },
        // A second URL of the same anvil: two anvils started in different seconds have two chains.
        { url: `${anvil.url}/?again`, name: "other" },
      ],
    },
  },
  ...more,
});

beforeAll(async () => {
  const started = await startAnvil();
  if (!started) throw new Error("no anvil for this platform");
  anvil = started;
  gateway = await startGatewayProcess(settings());
  url = adminOf(gateway);
});
afterAll(async () => {
  await gateway.stop();
  anvil.close();
});

const adminOf = ({ metricsUrl }: RunningGateway): string => metricsUrl.replace("/metrics", "");

const PAGE = { accept: "text/html,application/xhtml+xml,*/*;q=0.8" };

describe("the console's files", () => {
  it("are a page without any script or style of its own, and what it names, kept for ever", async () => {
    const page = await fetch(`${url}/`, { headers: PAGE });
    expect(page.status).toBe(200);
    const policy = page.headers.get("content-security-policy");
    expect(policy).toContain("default-src 'none'");
    expect(policy).toContain("frame-ancestors 'none'");
    expect(policy).not.toContain("unsafe");
    expect(page.headers.get("x-content-type-options")).toBe("nosniff");
    expect(page.headers.get("referrer-policy")).toBe("no-referrer");
    expect(page.headers.get("cache-control")).toBe("no-store");
    const text = await page.text();
    expect(text).not.toMatch(/<style|style=|<script(?![^>]*src=)| on\w+=|https?:/);
    const named = [...text.matchAll(/"(assets\/[^"]+)"/g)].map(([, path]) => path);
    expect(named).toHaveLength(3);
    const sizes = await Promise.all(
      named.map(async (path) => {
        const file = await fetch(`${url}/${path}`, { headers: { "accept-encoding": "br" } });
        expect(file.headers.get("cache-control")).toContain("immutable");
        expect(file.headers.get("x-content-type-options")).toBe("nosniff");
        expect(file.headers.get("content-encoding")).toBe("br");
        return brotliSizeOf(`${url}/${path}`);
      }),
    );
    const total = sizes.reduce((sum, size) => sum + size, 0);
    expect(total).toBeGreaterThan(20_000);
    expect(total).toBeLessThan(150_000);
  });

  it("are for browsers: a program is told as before, and needs its token", async () => {
    expect((await fetch(`${url}/`)).status).toBe(401);
    expect((await fetch(`${url}/`, { headers: AUTHORIZED })).status).toBe(404);
    const stranger = await fetch(`${url}/assets/..%2f..%2fpackage.json`, { headers: PAGE });
    expect(stranger.status).toBe(401);
    const posted = await fetch(`${url}/`, { method: "POST", headers: { ...PAGE, ...AUTHORIZED } });
    expect(posted.status).toBe(404);
  });
});

/** The size of a file as the gateway sends it, in bytes. */
async function brotliSizeOf(path: string): Promise<number> {
  const { get } = await import("node:http");
  const chunks: Buffer[] = [];
  await new Promise<void>((resolve, reject) => {
    get(path, { headers: { "accept-encoding": "br" } }, (response) => {
      response.on("data", (chunk: Buffer) => chunks.push(chunk)).on("end", resolve);
    }).on("error", reject);
  });
  const bytes = Buffer.concat(chunks);
  expect(brotliDecompressSync(bytes).length).toBeGreaterThan(bytes.length);
  return bytes.length;
}

describe("a session", () => {
  const login = (token: string, headers: Record<string, string> = {}) =>
    fetch(`${url}/session`, {
      method: "POST",
      headers: { "content-type": "application/json", origin: url, ...headers },
      body: JSON.stringify({ token }),
    });
  const cookieOf = (response: Response): string =>
    (response.headers.get("set-cookie") ?? "").split(";")[0] ?? "";

  it("lets a browser in, ends its streams when it ends, and no other site's page does anything with it", async () => {
    const began = await login(READER);
    expect(await began.json()).toMatchObject({ operator: { name: "grafana", role: "read" } });
    const cookie = cookieOf(began);
    const stream = await fetch(`${url}/events`, { headers: { cookie } });
    expect(stream.status).toBe(200);
    const events = stream.body?.pipeThrough(new TextDecoderStream()).getReader();
    expect((await events?.read())?.value).toContain("event: status");
    const change = (headers: Record<string, string>) =>
      fetch(`${url}/session/end`, {
        method: "POST",
        headers: { cookie, "content-type": "application/json", ...headers },
      });
    expect((await change({ origin: "http://evil.example.com" })).status).toBe(403);
    expect((await change({ origin: url, "sec-fetch-site": "cross-site" })).status).toBe(403);
    const drain = await fetch(`${url}/networks/main/upstreams/own/drain`, {
      method: "POST",
      headers: { cookie, origin: url, "x-headgate-console": "1" },
    });
    expect(drain.status).toBe(403); // the role is `read`
    expect((await change({ origin: url })).status).toBe(200);
    while (!(await events?.read())?.done); // the stream ends
    expect((await fetch(`${url}/status`, { headers: { cookie } })).status).toBe(401);
  });
});

const drainOf = (admin: string, act: "drain" | "undrain", node = "own") =>
  fetch(`${admin}/networks/main/upstreams/${node}/${act}`, { method: "POST", headers: AUTHORIZED });

/** Makes calls that only a node can answer, and returns the names of the nodes that were asked. */
async function askedNodes(running: RunningGateway, times: number): Promise<readonly string[]> {
  const before = await callsOf(running);
  for (let call = 0; call < times; call += 1) {
    const address = `0x${(Date.now() * 1_000 + call).toString(16).padStart(40, "0")}`;
    await ask(running.endpoint("main"), "eth_getBalance", [address, "latest"]);
  }
  const after = await callsOf(running);
  return [...after]
    .filter(([name, count]) => count > (before.get(name) ?? 0))
    .map(([name]) => name);
}

async function callsOf({ metricsUrl }: RunningGateway): Promise<ReadonlyMap<string, number>> {
  const text = await (await fetch(metricsUrl, { headers: AUTHORIZED })).text();
  const lines = [...text.matchAll(/^headgate_upstream_calls_total\{(.*)\} (\d+)$/gm)];
  const counts = new Map<string, number>();
  for (const [, labels = "", count] of lines) {
    const [, name = ""] = /upstream="([^"]+)"/.exec(labels) ?? [];
    if (labels.includes('purpose="call"'))
      counts.set(name, (counts.get(name) ?? 0) + Number(count));
  }
  return counts;
}

/** Whether the writer sees both nodes as usable. */
async function areUsable(running: RunningGateway): Promise<boolean> {
  const told = await fetch(`${adminOf(running)}/status`, { headers: AUTHORIZED });
  return ((await told.text()).match(/"isUsable":true/g)?.length ?? 0) === 2;
}

const expectDrained = async (running: RunningGateway): Promise<void> => {
  const admin = adminOf(running);
  await askedNodes(running, 1);
  expect(await (await drainOf(admin, "drain")).json()).toEqual({
    ...{ network: "main", upstream: "own", isDrained: true },
  });
  expect(await askedNodes(running, 40)).toEqual(["other"]);
  const metrics = await (await fetch(running.metricsUrl, { headers: AUTHORIZED })).text();
  expect(metrics).toMatch(/headgate_upstream_drained\{network="main",upstream="own"\} 1/);
};

/** Waits for the log line that begins with a text. */
const lineOf = ({ log }: RunningGateway, begins: string) =>
  until(`it logs ${begins}`, async () => log.find(({ msg }) => msg?.startsWith(begins)));

describe("a drained node", () => {
  it("gets no calls, over a reload too, until it is undrained; the trail says who did it", async () => {
    await expectDrained(gateway);
    await gateway.reload(settings({ limits: { batch: 7 } }));
    expect(await askedNodes(gateway, 20)).toEqual(["other"]);
    await drainOf(url, "drain", "other");
    expect((await askedNodes(gateway, 20)).length).toBeGreaterThan(0); // the last nodes are asked although drained
    await drainOf(url, "undrain");
    expect(await askedNodes(gateway, 20)).toEqual(["own"]);
    expect((await drainOf(url, "drain", "nobody")).status).toBe(404);
    const trail = await (await fetch(`${url}/audit?limit=3`, { headers: AUTHORIZED })).json();
    expect(trail).toMatchObject({
      entries: [
        { who: "admin", what: "a node was undrained", details: ["main/own"] },
        { what: "a node was drained", details: ["main/other"] },
        { what: "the configuration was reloaded" },
      ],
    });
  });

  it.each(atDepth([1], [1, 2]))(
    "is so over a restart of %i processes, said at the end and at the next start, with who did it",
    async (processes) => {
      const data = await mkdtemp(join(tmpdir(), "headgate-drained-"));
      const of = () => startGatewayProcess(settings({ data, processes }));
      const before = await of();
      try {
        await until("both nodes are usable", () => areUsable(before));
        await drainOf(adminOf(before), "drain");
      } finally {
        expect(await before.stop()).toBe(0);
      }
      const nodes = [expect.stringMatching(/^main\/own, by admin at 2\d{3}-.*Z$/)];
      expect(await lineOf(before, "nodes stay drained")).toMatchObject({ level: 30, nodes });
      const next = await of();
      try {
        const told = await lineOf(next, "nodes were drained before this start");
        expect(told).toMatchObject({ level: 40, nodes });
        await until("both nodes are usable", () => areUsable(next));
        await askedNodes(next, 1);
        expect(await askedNodes(next, 40)).toEqual(["other"]);
        const status = await fetch(`${adminOf(next)}/status`, { headers: AUTHORIZED });
        expect(await status.text()).toMatch(/"isDrained":true,"drained":\{"who":"admin","at":"2/);
      } finally {
        await next.stop();
        await rm(data, { recursive: true });
      }
    },
  );

  it.each(atDepth([] as number[], [2]))(
    "is so in all of %i processes, and in those that take their place",
    async (processes) => {
      const several = await startGatewayProcess(settings({ processes }));
      try {
        await until("both nodes are usable", () => areUsable(several));
        await expectDrained(several);
        // The supervisor knows the drained nodes and tells the processes that it starts.
        for (const name of ["server 1", "writer"]) {
          const { pid: supervisor } = several.process;
          const pid = (await processesOf(supervisor)).get(name) ?? 0;
          process.kill(pid, "SIGKILL");
          await until(`${name} is replaced`, async () => {
            const next = (await processesOf(supervisor)).get(name);
            return next !== undefined && next !== pid;
          });
        }
        await until("the nodes are usable", () => areUsable(several));
        expect(await askedNodes(several, 40)).toEqual(["other"]);
      } finally {
        await several.stop();
      }
    },
  );
});
