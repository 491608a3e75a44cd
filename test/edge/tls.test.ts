// TLS at both ports of the real gateway, with certificates from openssl: real clients, certificates that are replaced
// or broken while calls come in, client certificates, and bytes that are no handshake.
import { execFile } from "node:child_process";
import { once } from "node:events";
import { rm, symlink, writeFile } from "node:fs/promises";
import { Agent, request as httpsRequest } from "node:https";
import { connect as connectTcp, type Socket } from "node:net";
import { join } from "node:path";
import { connect, type TLSSocket } from "node:tls";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { WebSocket } from "ws";
import { Certificates, hasOpenssl, type MadeCertificate } from "../support/certificates.ts";
import {
  type RunningGateway,
  runCommand,
  startGatewayProcess,
} from "../support/gateway-process.ts";
import { until } from "../support/processes.ts";
import { result, type ScriptedNode, startScriptedNode } from "../support/scripted-node.ts";
import { stopwatch } from "../support/served-time.ts";

const CALL = '{"jsonrpc":"2.0","id":1,"method":"eth_gasPrice"}';
const ANSWER = '{"jsonrpc":"2.0","id":1,"result":"0x10"}';
const TOKEN = "a-token-of-the-tests";
const HEADERS_MS = 1_500;
const EXPIRIES =
  /headgate_tls_certificate_expires_timestamp_seconds\{port="(callers|admin)"\} 1\d{9}$/gm;

describe.skipIf(!hasOpenssl)("TLS", () => {
  let made: Certificates;
  let ca: string;
  let used: MadeCertificate;
  let client: MadeCertificate;
  let stranger: MadeCertificate;
  let node: ScriptedNode;
  let gateway: RunningGateway;

  const settings = (tls: object = {}) => ({
    listen: { port: 0, tls: { ...used, ...tls } },
    admin: {
      listen: { port: 0, tls: { ...used, clients: join(made.folder, "ops.pem") } },
      token: TOKEN,
    },
    timeouts: { headers: `${HEADERS_MS}ms` },
    limits: { refusals: 5 },
    networks: {
      main: {
        ...{ family: "evm", chainId: 1, window: { blocks: 0 } },
        upstreams: [{ url: node.url }],
      },
    },
  });

  beforeAll(async () => {
    made = new Certificates();
    ca = made.read(made.authority("ca"));
    made.authority("ops");
    made.authority("others");
    used = made.signed("used", "ca");
    client = made.signed("operator", "ops");
    stranger = made.signed("stranger", "others");
    node = await startScriptedNode((call) => result(call, '"0x10"'));
    gateway = await startGatewayProcess(settings());
  });
  afterAll(async () => {
    await gateway.stop();
    await node.close();
    made.remove();
  });

  type Reply = { status: number | undefined; text: string; socket: TLSSocket };
  const post = async (agent: Agent, url = gateway.endpoint("main"), localAddress = "127.0.0.1") => {
    const headers = { "content-type": "application/json" };
    const options = { agent, method: "POST", headers, localAddress, servername: "localhost" };
    const sent = httpsRequest(url, options);
    sent.end(CALL);
    const [response] = await once(sent, "response");
    const { socket } = response;
    let text = "";
    for await (const chunk of response) text += chunk;
    return { status: response.statusCode, text, socket } as Reply;
  };
  const operator = async (
    certificate: MadeCertificate | undefined,
    authorization: string,
    url = gateway.metricsUrl,
  ) => {
    const files = certificate && {
      cert: made.read(certificate.certificate),
      key: made.read(certificate.key),
    };
    const sent = httpsRequest(url, {
      ...{ ca, ...files, servername: "localhost", agent: false },
      headers: { authorization },
    }).end();
    const [response] = await once(sent, "response");
    let text = "";
    for await (const chunk of response) text += chunk;
    return { status: response.statusCode as number, text };
  };
  const metrics = async () => (await operator(client, `Bearer ${TOKEN}`)).text;
  const counted = async (outcome: string): Promise<number> => {
    const [, count = "0"] =
      new RegExp(`headgate_tls_handshakes_total\\{outcome="${outcome}"\\} (\\d+)`).exec(
        await metrics(),
      ) ?? [];
    return Number(count);
  };
  const handshake = (options: object) => {
    const port = Number(new URL(gateway.url).port);
    const socket = connect({ host: "127.0.0.1", port, servername: "localhost", ca, ...options });
    socket.on("error", () => undefined);
    return socket;
  };

  it("answers callers of node, viem, ethers and ws", async () => {
    expect(gateway.url).toMatch(/^https:/);
    const agent = new Agent({ ca, keepAlive: true });
    const first = await post(agent);
    expect(first).toMatchObject({ status: 200, text: ANSWER });
    expect(["TLSv1.2", "TLSv1.3"]).toContain(first.socket.getProtocol());
    expect((await post(agent)).socket).toBe(first.socket);
    agent.destroy();

    // The same as NODE_EXTRA_CA_CERTS, for this test alone.
    const answers = await runClients(gateway.endpoint("main"), join(made.folder, "ca.pem"));
    expect(answers).toEqual({ viem: "16", ethers: "0x10" });

    const socket = new WebSocket(gateway.endpoint("main").replace("https", "wss"), { ca });
    await once(socket, "open");
    socket.send(CALL);
    expect(String((await once(socket, "message"))[0])).toBe(ANSWER);
    socket.close();
    await once(socket, "close");
  });

  it("is TLS 1.2 at least, and takes no renegotiation", async () => {
    const old = handshake({
      maxVersion: "TLSv1.1",
      minVersion: "TLSv1",
      ciphers: "ALL:@SECLEVEL=0",
    });
    expect(await failed(old)).toContain("protocol version");
    const socket = handshake({ maxVersion: "TLSv1.2" });
    await once(socket, "secureConnect");
    expect(socket.getProtocol()).toBe("TLSv1.2");
    const told = new Promise((resolve) => socket.renegotiate({}, resolve));
    expect(String(await Promise.race([told, failed(socket)]))).toMatch(/renegotiation|closed/);
    socket.destroy();
  });

  it("takes a new certificate while calls come in, and none that is broken", async () => {
    const fresh = () => {
      const agent = new Agent({ ca });
      return post(agent).finally(() => agent.destroy());
    };
    const seen = async (msg: RegExp) => gateway.log.find((line) => msg.test(line.msg ?? ""));
    const kept = new Agent({ ca, keepAlive: true, maxSockets: 1 });
    let calls = 0;
    let isOver = false;
    const load = (async () => {
      while (!isOver) {
        expect((await post(kept)).status).toBe(200);
        expect((await fresh()).status).toBe(200);
        calls += 1;
      }
    })();
    await writeFile(used.certificate, "-----BEGIN CERTIFICATE-----\nnonsense\n");
    await until("it is told", async () => seen(/new certificate cannot be used/));
    const told = await seen(/new certificate cannot be used/);
    expect(told).toMatchObject({ level: 50, why: "certificate: this is not a certificate in PEM" });
    const before = calls;
    await until("calls go on", async () => (calls > before + 2 ? true : undefined));
    // A path that cannot be resolved, as in a folder without permission.
    await rm(used.certificate);
    await symlink(used.certificate, used.certificate);
    await until("that is told", async () =>
      gateway.log.find(({ why }) => String(why).endsWith("it cannot be read (ELOOP)")),
    );
    await rm(used.certificate);
    const other = made.signed("replaced", "ca");
    made.replace(used, other);
    await until("the new one is used", async () => seen(/certificate was replaced/));
    const socket = handshake({});
    await once(socket, "secureConnect");
    expect(socket.getPeerCertificate().subject.CN).toBe("replaced");
    socket.destroy();
    isOver = true;
    await load;
    kept.destroy();
    expect(calls).toBeGreaterThan(5);
    expect(JSON.stringify(gateway.log)).not.toContain("PRIVATE KEY");
  });

  it("asks operators for a certificate of their authority, and for the token as well", async () => {
    expect((await operator(client, `Bearer ${TOKEN}`)).status).toBe(200);
    expect((await operator(client, "Bearer wrong")).status).toBe(401);
    for (const wrong of [stranger, undefined])
      await expect(operator(wrong, `Bearer ${TOKEN}`)).rejects.toThrow();
    expect(await metrics()).toMatch(/headgate_admin_refused_total\{why="handshake"\} [2-9]/);
    expect(portsIn(await metrics())).toEqual(["admin", "callers"]);
  });

  it("ends handshakes that do not end, and what is none, and turns away who makes many", async () => {
    const port = Number(new URL(gateway.url).port);
    const open = (localAddress: string) => {
      const socket = connectTcp({ host: "127.0.0.1", port, localAddress });
      return socket.on("error", () => undefined).resume();
    };
    const silent = open("127.0.0.9");
    const trickling = open("127.0.0.9");
    await once(trickling, "connect");
    // A ClientHello of 16 KiB, one byte every 50 ms.
    trickling.write(Buffer.from([22, 3, 1, 0x3f, 0xff, 1, 0, 0x3f, 0xfb]));
    const tick = setInterval(() => trickling.writable && trickling.write("x"), 50);
    const elapsedMs = stopwatch(gateway.process);
    await Promise.all([failed(silent), failed(trickling)]);
    clearInterval(tick);
    expect(elapsedMs()).toBeLessThan(HEADERS_MS + 2_500);
    expect(await counted("slow")).toBe(2);
    const huge = open("127.0.0.9");
    await once(huge, "connect");
    const parts = Array.from({ length: 40 }, () =>
      Buffer.concat([Buffer.from([22, 3, 1, 0x40, 0]), Buffer.alloc(0x4000, 1)]),
    );
    huge.write(Buffer.concat(parts));
    const plain = open("127.0.0.9");
    plain.write("POST /main/v1/test-key HTTP/1.1\r\nhost: x\r\n\r\n");
    await Promise.all([failed(huge), failed(plain)]);
    expect(await counted("failed")).toBeGreaterThanOrEqual(2);
    // 20 seconds' worth at five handshakes a second, and ten seconds more for a busy machine.
    for (let count = 0; count < 150; count += 10) {
      const some = Array.from({ length: 10 }, () => open("127.0.0.9"));
      for (const socket of some) socket.write("no handshake");
      await Promise.all(some.map(failed));
    }
    expect(await counted("turned away")).toBeGreaterThanOrEqual(1);
    const agent = new Agent({ ca });
    expect((await post(agent)).status).toBe(200); // from another address
    agent.destroy();
  });

  it("is refused with exit code 2 where its files are wrong, each with its path", async () => {
    const other = made.signed("other", "ca");
    const mistakes = async (tls: object) => {
      const path = join(made.folder, "headgate.json");
      const whole = { data: join(made.folder, "data"), ...settings(tls) };
      await writeFile(path, JSON.stringify(whole));
      const { code, stderr } = await runCommand(["--config", path]);
      expect(code).toBe(2);
      return stderr.trim();
    };
    expect(await mistakes({ certificate: "/nowhere" })).toBe(
      "listen.tls.certificate: /nowhere: there is no such file",
    );
    expect(await mistakes({ key: other.key })).toBe(
      `listen.tls.key: ${other.key} belongs to another certificate`,
    );
    expect(await mistakes({ key: used.certificate })).toContain("is not a private key in PEM");
    const empty = join(made.folder, "empty.pem");
    await writeFile(empty, "\n");
    expect(await mistakes({ key: empty })).toBe(`listen.tls.key: ${empty}: the file is empty`);
  });

  it("is spoken by several processes on one port, which all take a new certificate", async () => {
    const own = made.signed("several", "ca");
    const several = await startGatewayProcess({
      ...settings(own),
      processes: 2,
      admin: { listen: { port: 0, tls: own }, token: TOKEN },
    });
    /** The names in the certificates of eight connections: an address may begin only so many handshakes at once. */
    const names = async (): Promise<Set<string>> => {
      const sockets = Array.from({ length: 8 }, async () => {
        const port = Number(new URL(several.url).port);
        const socket = connect({ host: "127.0.0.1", port, servername: "localhost", ca });
        await once(socket, "secureConnect");
        const { CN } = socket.getPeerCertificate().subject;
        socket.destroy();
        return String(CN);
      });
      return new Set(await Promise.all(sockets));
    };
    expect(await names()).toEqual(new Set(["several"]));
    made.replace(own, made.signed("fresh", "ca"));
    await until("both have it", async () => {
      const seen = await names().catch(() => new Set());
      return seen.size === 1 && seen.has("fresh");
    });
    await until("both ports' certificates are told", async () => {
      const told = await operator(undefined, `Bearer ${TOKEN}`, several.metricsUrl);
      return portsIn(told.text).join() === "admin,callers";
    });
    expect(await several.stop()).toBe(0);
  });

  it("takes other files by a reload, and says which are wrong", async () => {
    const next = made.signed("next", "ca");
    const wrong = await gateway.reload(settings({ ...next, key: "/nowhere" }));
    expect(wrong).toContainEqual(
      expect.objectContaining({ mistake: "listen.tls.key: /nowhere: there is no such file" }),
    );
    await gateway.reload(settings(next));
    const socket = handshake({});
    await once(socket, "secureConnect");
    expect(socket.getPeerCertificate().subject.CN).toBe("next");
    socket.destroy();
  });
});

/** The ports whose certificates' expiry is in the metrics. */
const portsIn = (metrics: string): unknown[] =>
  [...metrics.matchAll(EXPIRIES)].map(([, port]) => port).sort();

/** Resolves with the way in which a connection ended. */
const failed = (socket: Socket): Promise<string> =>
  new Promise((resolve) => {
    socket.once("error", ({ message }) => resolve(message));
    socket.once("close", () => resolve("closed"));
  });

/** Runs viem and ethers in a process of their own: they take certificate authorities from the environment only. */
async function runClients(url: string, extra: string): Promise<unknown> {
  const env = { ...process.env, NODE_EXTRA_CA_CERTS: extra, GATEWAY: url };
  const { stdout } = await promisify(execFile)(
    process.execPath,
    ["--input-type=module", "-e", CLIENTS],
    { env },
  );
  return JSON.parse(stdout);
}

const CLIENTS = `
import { createPublicClient, http } from "viem";
import { JsonRpcProvider } from "ethers";
const url = process.env.GATEWAY;
const viem = String(await createPublicClient({ transport: http(url) }).getGasPrice());
const provider = new JsonRpcProvider(url, 1, { staticNetwork: true });
const ethers = await provider.send("eth_gasPrice", []);
provider.destroy();
console.log(JSON.stringify({ viem, ethers }));
`;
