// The admin API's admission over the real gateway: tokens, hosts, and the most connections at once.
import { rm, writeFile } from "node:fs/promises";
import { request } from "node:http";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import {
  type RunningGateway,
  runCommand,
  startGatewayProcess,
} from "../support/gateway-process.ts";
import { until } from "../support/processes.ts";

const networks = {
  // No node listens there: the admin API answers without nodes.
  main: {
    family: "evm",
    chainId: 1,
    window: { blocks: 0 },
    upstreams: [{ url: "http://127.0.0.1:9" }],
  },
};

let gateway: RunningGateway;
let adminUrl: string;
beforeAll(async () => {
  gateway = await startGatewayProcess({ networks });
  adminUrl = gateway.metricsUrl.replace(/\/metrics$/, "");
});
afterAll(() => gateway.stop());

/** The status of a request with any Host header, as in DNS rebinding; `fetch` writes its own Host. */
const statusOf = (url: string, headers: Record<string, string>, method = "GET"): Promise<number> =>
  new Promise((resolve, reject) => {
    const sent = request(url, { method, headers }, (response) => {
      response.resume();
      resolve(response.statusCode ?? 0);
    });
    sent.on("error", reject).end();
  });

describe("without a token", () => {
  it("this machine is answered, and no page of others", async () => {
    expect(await statusOf(`${adminUrl}/keys`, {})).toBe(200);
    expect(await statusOf(`${adminUrl}/metrics`, {})).toBe(200);
    expect(await statusOf(`${adminUrl}/keys`, { host: "evil.example.com" })).toBe(403);
    expect(await statusOf(`${adminUrl}/keys`, { origin: "https://evil.example.com" })).toBe(403);
    const asForm = { "content-type": "text/plain" };
    expect(await statusOf(`${adminUrl}/keys/app/revoke`, asForm, "POST")).toBe(415);
    const asked = { "content-type": "application/json" };
    expect(await statusOf(`${adminUrl}/keys/app/revoke`, asked, "POST")).toBe(404);
  });

  it("nobody starts a gateway whose admin port others reach", async () => {
    const path = join(tmpdir(), `headgate-admin-${process.pid}.yaml`);
    const admin = { listen: { host: "0.0.0.0", port: 0 } };
    await writeFile(path, JSON.stringify({ networks, admin }));
    const { code, stderr } = await runCommand(["--config", path]);
    await rm(path);
    expect(code).toBe(2);
    expect(stderr).toBe(
      "admin.token: missing; the admin port listens on 0.0.0.0, which other machines can reach, so it needs a token of at least 16 characters\n",
    );
  });
});

describe("the admin port's connections", () => {
  it("are a hundred at most, and free again when some end", async () => {
    const { port, hostname } = new URL(adminUrl);
    const sockets = Array.from({ length: 110 }, () => connect(Number(port), hostname));
    const ended = new Set<unknown>();
    for (const socket of sockets)
      socket.on("error", () => undefined).on("close", () => ended.add(socket));
    await until("some are turned away", async () => (ended.size >= 10 ? true : undefined));
    expect(ended.size).toBeLessThan(20);
    for (const socket of sockets) socket.destroy();
    await until("others are answered", async () =>
      statusOf(`${adminUrl}/keys`, {}).then(
        (status) => (status === 200 ? true : undefined),
        () => undefined,
      ),
    );
  });
});
