// Tokens of an identity provider (JWT) at the real gateway: a local server whose signing keys rotate, invalid tokens of
// every kind, floods of them, and a provider that is away.
import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer, type Server } from "node:http";
import { createServer as createSecureServer } from "node:https";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { exportJWK, exportSPKI, generateKeyPair, type JWK, SignJWT } from "jose";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { WebSocket } from "ws";
import { Certificates, hasOpenssl } from "../support/certificates.ts";
import {
  type RunningGateway,
  runCommand,
  startGatewayProcess,
} from "../support/gateway-process.ts";
import { until } from "../support/processes.ts";
import { result, type ScriptedNode, startScriptedNode } from "../support/scripted-node.ts";

const ISSUER = "https://idp.example.com/";
const AUDIENCE = "headgate";
const CALL = '{"jsonrpc":"2.0","id":1,"method":"eth_gasPrice"}';
const ANSWER = '{"jsonrpc":"2.0","id":1,"result":"0x10"}';

type Signer = Awaited<ReturnType<typeof generateKeyPair>> & { jwk: JWK; kid: string; alg: string };

async function signer(kid: string, alg = "ES256"): Promise<Signer> {
  const pair = await generateKeyPair(alg, { extractable: true });
  return { ...pair, kid, alg, jwk: { ...(await exportJWK(pair.publicKey)), kid, alg } };
}

type Claims = Record<string, unknown>;
const token = (by: Signer, claims: Claims = {}, expires: string | number = "10m") =>
  new SignJWT({ headgate_key: "team", iss: ISSUER, aud: AUDIENCE, ...claims })
    .setProtectedHeader({ alg: by.alg, kid: by.kid })
    .setExpirationTime(expires)
    .sign(by.privateKey);

let provider: Server;
let jwksUrl: string;
let served: () => string;
let reads = 0;
let node: ScriptedNode;
let gateway: RunningGateway;
let first: Signer;

/** The last caller, whose address the proxy's header names: the gateway slows guesses down for each address. */
let caller = 0;
const newCaller = (): Record<string, string> => {
  caller += 1;
  return { "x-forwarded-for": `10.0.${caller >> 8}.${caller & 255}` };
};

const settings = (jwt: object = {}) => ({
  listen: { port: 0, trustedProxies: ["127.0.0.1"] },
  limits: { refusals: 20 },
  keys: [
    { name: "test", key: "test-key" },
    { name: "team", key: "the-team-itself", readOnly: true },
  ],
  jwt: {
    ...{ issuer: ISSUER, audience: AUDIENCE, keys: jwksUrl },
    ...{ algorithms: ["ES256", "RS256"], clockTolerance: "1s", ...jwt },
  },
  networks: {
    main: {
      ...{ family: "evm", chainId: 1, window: { blocks: 0 } },
      upstreams: [{ url: node.url }],
    },
  },
});
const serve = (...signers: Signer[]): void => {
  served = () => JSON.stringify({ keys: signers.map(({ jwk }) => jwk) });
};

beforeAll(async () => {
  first = await signer("first");
  serve(first);
  provider = createServer((_, response) => {
    reads += 1;
    response.end(served());
  });
  provider.listen(0, "127.0.0.1");
  await once(provider, "listening");
  jwksUrl = `http://127.0.0.1:${(provider.address() as AddressInfo).port}/jwks.json`;
  node = await startScriptedNode((call) => result(call, '"0x10"'));
  gateway = await startGatewayProcess(settings());
});
afterAll(async () => {
  await gateway.stop();
  await node.close();
  provider.close();
});

const ask = async (text: string, at = gateway) => {
  const authorization = `Bearer ${text}`;
  const response = await fetch(`${at.url}/main/v1`, {
    method: "POST",
    headers: { "content-type": "application/json", authorization, ...newCaller() },
    body: CALL,
  });
  return { status: response.status, text: await response.text() };
};
const metric = async (name: string, at = gateway): Promise<number> => {
  const text = await (await fetch(at.metricsUrl)).text();
  return Number(
    text
      .split("\n")
      .find((line) => line.startsWith(name))
      ?.split(" ")
      .at(-1) ?? 0,
  );
};
const refusals = (why: string): Promise<number> =>
  metric(`headgate_tokens_refused_total{why="${why}"}`);

describe("a token of an identity provider", () => {
  it("has the grant of the key that its claim names, in a header and in the path", async () => {
    const text = await token(first);
    expect(await ask(text)).toEqual({ status: 200, text: ANSWER });
    expect(await ask(await token(first, { aud: ["other", AUDIENCE] }))).toMatchObject({
      status: 200,
    });
    const inPath = await fetch(gateway.endpoint("main", await token(first)), {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: '{"jsonrpc":"2.0","id":1,"method":"eth_sendRawTransaction","params":["0x"]}',
    });
    expect(await inPath.text()).toContain('"rule":"readOnly"');
  });

  it("is refused as a wrong key where anything is wrong with it", async () => {
    const stranger = await signer("first"); // a signing key with the same id as the known one
    const pem = new TextEncoder().encode(await exportSPKI(first.publicKey));
    const part = (value: object) => Buffer.from(JSON.stringify(value)).toString("base64url");
    const claims = { headgate_key: "team", iss: ISSUER, aud: AUDIENCE, exp: 4e9 };
    const [head, body, signature] = (await token(first)).split(".");
    const wrong: [string, string][] = [
      ["expired", await token(first, {}, Math.floor(Date.now() / 1000) - 5)],
      ["claim", await token(first, { iss: "https://evil.example" })],
      ["claim", await token(first, { aud: "other" })],
      ["claim", await token(first, { headgate_key: 7 })],
      ["claim", await token(first, { nbf: 4e9 })],
      ["signature", await token(stranger)],
      ["signature", `${head}.${part(claims)}.${signature}`],
      ["algorithm", `${part({ alg: "none" })}.${part(claims)}.${signature}`],
      [
        "algorithm",
        await new SignJWT(claims).setProtectedHeader({ alg: "HS256", kid: "first" }).sign(pem),
      ],
      ["algorithm", await token(await signer("first", "PS256"))],
      ["malformed", `eyJub25zZW5zZSI6.${body}.${signature}`],
    ];
    const before = await metric("headgate_key_guesses_total");
    for (const [why, text] of wrong) {
      const told = await refusals(why);
      expect(await ask(text), why).toMatchObject({
        ...{ status: 401, text: expect.stringContaining("invalid API key") },
      });
      expect(await refusals(why), why).toBe(told + 1);
    }
    for (const text of [
      await token(first, { headgate_key: "nobody" }),
      `${head}.${"x".repeat(9_000)}.y`,
    ])
      expect((await ask(text)).status).toBe(401);
    expect(await metric("headgate_key_guesses_total")).toBeGreaterThan(before);
  });

  it("is of keys that are rotated: new ones are known at once, and tokens of old ones no more", async () => {
    const old = await token(first);
    expect((await ask(old)).status).toBe(200);
    const second = await signer("second", "RS256");
    serve(first, second);
    expect((await ask(await token(second))).status).toBe(200);
    expect((await ask(old)).status).toBe(200);
    const third = await signer("third");
    serve(second, third);
    expect((await ask(await token(third))).status).toBe(200);
    expect((await ask(old)).status).toBe(401);
    first = third;
  });

  it("costs little where many are wrong: the provider is asked a few times, the address is turned away", async () => {
    const before = reads;
    const statuses = new Set<number>();
    const from = newCaller();
    for (let round = 0; round < 12; round += 1) {
      const flood = Array.from({ length: 10 }, async (_, each) => {
        const by = { ...first, kid: `unknown-${round}-${each}` };
        const response = await fetch(`${gateway.url}/main/v1`, {
          method: "POST",
          headers: {
            "content-type": "application/json",
            authorization: `Bearer ${await token(by)}`,
            ...from,
          },
          body: CALL,
          signal: AbortSignal.timeout(300),
        }).catch(() => undefined);
        if (response) statuses.add(response.status);
      });
      await Promise.all(flood);
    }
    expect(reads - before).toBeLessThanOrEqual(5);
    expect([...statuses]).toContain(429);
    // A flood does not delay a token that is known.
    const good = await gateway.reload({ ...settings(), limits: { refusals: 0 } });
    expect(good.at(-1)).toMatchObject({ msg: "configuration reloaded" });
    expect((await ask(await token(first))).status).toBe(200);
  });

  it("ends with the key that it stands for, and a WebSocket with the token", async () => {
    const made = await runCommand([
      "keys",
      "create",
      "guest",
      "--config",
      gateway.configPath,
      "--quiet",
    ]);
    expect(made.code).toBe(0);
    const text = await token(first, { headgate_key: "guest" });
    await until("the key is known", async () => (await ask(text)).status === 200 || undefined);
    await runCommand(["keys", "revoke", "guest", "--config", gateway.configPath]);
    await until("it is revoked", async () => (await ask(text)).status === 401 || undefined);

    const short = await token(first, {}, Math.floor(Date.now() / 1000) + 2);
    const headers = { authorization: `Bearer ${short}` };
    const socket = new WebSocket(`${gateway.url}/main/v1`.replace("http", "ws"), { headers });
    await once(socket, "open");
    socket.send(CALL);
    expect(String((await once(socket, "message"))[0])).toBe(ANSWER);
    const [code] = await once(socket, "close");
    expect(code).toBe(4001);
  });

  it("is known while the provider is away, for its time, and is in no log", async () => {
    const known = await token(first);
    expect((await ask(known)).status).toBe(200);
    const brief = await startGatewayProcess(settings({ staleAfter: "1s" }));
    await until(
      "it has the keys",
      async () => (await ask(known, brief)).status === 200 || undefined,
    );
    served = () => "no keys at all";
    expect((await ask(known)).status).toBe(200);
    expect((await ask(await token(first))).status).toBe(200);
    await until(
      "the keys are too old",
      async () => (await ask(await token(first), brief)).status === 503 || undefined,
    );
    expect((await ask(known, brief)).status).toBe(200); // the gateway verified this token before
    await brief.stop();
    // Larger than the gateway's bound for a set of signing keys.
    served = () => `{"keys":[],"x":"${"y".repeat(400_000)}"}`;
    const none = await startGatewayProcess(settings());
    expect((await ask(await token(first), none)).status).toBe(503);
    await until(
      "it is told",
      async () =>
        none.log.some(({ msg }) => msg === "the keys of the identity provider cannot be read") ||
        undefined,
    );
    await none.stop();
    const everything = JSON.stringify([...gateway.log, ...none.log, ...brief.log]);
    expect(everything).not.toContain(known.split(".")[2]);
  });
});

it("signing keys may be a file, which is read again when it changes", async () => {
  const folder = await mkdtemp(join(tmpdir(), "headgate-jwks-"));
  const keys = join(folder, "jwks.json");
  const [one, other] = [await signer("one"), await signer("other")];
  await writeFile(keys, JSON.stringify({ keys: [one.jwk] }));
  const running = await startGatewayProcess(settings({ keys }));
  await until("it has the keys", async () => (await ask(await token(one), running)).status === 200);
  await writeFile(keys, JSON.stringify({ keys: [other.jwk] }));
  await until("it has the others", async () => {
    return (await ask(await token(other), running)).status === 200;
  });
  expect((await ask(await token(one), running)).status).toBe(401);
  await running.stop();
  await rm(folder, { recursive: true });
});

it.skipIf(!hasOpenssl)(
  "signing keys come over https from whom the machine trusts alone",
  async () => {
    const made = new Certificates();
    const trusted = made.authority("trusted");
    made.authority("others");
    const servers = ["trusted", "others"].map((by) => {
      const { certificate, key } = made.signed(`of-${by}`, by);
      const tls = { cert: made.read(certificate), key: made.read(key) };
      return createSecureServer(tls, (_, response) => response.end(served())).listen(
        0,
        "127.0.0.1",
      );
    });
    await Promise.all(servers.map((server) => once(server, "listening")));
    const [keys, elsewhere] = servers.map(
      (server) => `https://localhost:${(server.address() as AddressInfo).port}/jwks`,
    );
    const own = await signer("own");
    serve(own);
    const extra = { NODE_EXTRA_CA_CERTS: trusted };
    const running = await startGatewayProcess(settings({ keys }), extra);
    expect((await ask(await token(own), running)).status).toBe(200);
    await running.reload(settings({ keys: elsewhere }));
    expect((await ask(await token(own), running)).status).toBe(503);
    expect(running.log).toContainEqual(
      expect.objectContaining({ reason: expect.stringContaining("unable to verify") }),
    );
    await running.stop();
    for (const server of servers) server.close();
    made.remove();
  },
);

describe("the settings of tokens", () => {
  it.each([
    [{ algorithms: ["HS256"] }, "jwt.algorithms[0]: expected RS256, RS384"],
    [{ algorithms: ["none"] }, "jwt.algorithms[0]: expected RS256, RS384"],
    [{ algorithms: [] }, "jwt.algorithms: at least one algorithm is needed"],
    [{ keys: "http://idp.example.com/jwks" }, "jwt.keys: expected an https URL"],
    [{ keys: "ftp://idp.example.com/jwks" }, "jwt.keys: expected an https URL"],
  ])("%j is a mistake: %s", async (jwt, mistake) => {
    const [line] = await gateway.reload(settings(jwt));
    expect(line).toMatchObject({ mistake: expect.stringContaining(mistake) });
  });
});
