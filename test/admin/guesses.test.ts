// A flood of wrong tokens at the operators' port: turned away before any route, while right tokens, sessions and health
// probes from the same address are answered.
import { afterAll, beforeAll, expect, it } from "vitest";
import { type RunningGateway, startGatewayProcess } from "../support/gateway-process.ts";
import { result, type ScriptedNode, startScriptedNode } from "../support/scripted-node.ts";

const TOKEN = "a-token-of-the-tests";
let gateway: RunningGateway;
let node: ScriptedNode;
let admin: string;

beforeAll(async () => {
  node = await startScriptedNode((call) => result(call, '"0x1"'));
  gateway = await startGatewayProcess({
    admin: { listen: { port: 0 }, token: TOKEN },
    networks: {
      main: { family: "evm", chainId: 1, window: { blocks: 0 }, upstreams: [{ url: node.url }] },
    },
  });
  admin = new URL(gateway.metricsUrl).origin;
});
afterAll(async () => {
  expect(await gateway.stop()).toBe(0);
  await node.close();
});

const get = (path: string, headers: Record<string, string>): Promise<Response> =>
  fetch(`${admin}${path}`, { headers });
const bearer = (token: string) => ({ authorization: `Bearer ${token}` });
const refusedTokens = async (): Promise<number> => {
  const text = await (await get("/metrics", bearer(TOKEN))).text();
  return Number(/headgate_admin_refused_total\{why="token"\} (\d+)/.exec(text)?.[1] ?? 0);
};

it("costs nothing beyond the first refusals, and shuts out nobody with a right token", async () => {
  const login = await fetch(`${admin}/session`, {
    method: "POST",
    headers: { "content-type": "application/json", origin: admin },
    body: JSON.stringify({ token: TOKEN }),
  });
  const cookie = (login.headers.get("set-cookie") ?? "").split(";")[0] ?? "";
  let [guesses, turnedAway] = [0, 0];
  const guess = async (): Promise<void> => {
    while (guesses < 900) {
      guesses += 1;
      const isCookie = guesses % 2 === 0;
      const response = await get(
        "/status",
        isCookie ? { cookie: `headgate-session=${guesses}` } : bearer(`wrong-${guesses}`),
      );
      expect([401, 429]).toContain(response.status);
      expect(response.headers.get("x-request-id")).not.toBeNull();
      if ((await response.text()) !== "") continue; // the admin API refused it
      expect(Number(response.headers.get("retry-after"))).toBeGreaterThan(0);
      turnedAway += 1;
    }
  };
  await Promise.all(Array.from({ length: 60 }, guess));
  expect(turnedAway).toBeGreaterThan(300);
  expect(await refusedTokens()).toBeLessThan(600);
  expect((await get("/status", bearer(TOKEN))).status).toBe(200);
  expect((await get("/status", { cookie })).status).toBe(200);
  expect((await get("/healthz", {})).status).toBe(200);
});
