// The cost of TLS and HTTP/2 beside plain HTTP: the gateway's processor time for a call over an open connection, and
// for a connection with one call, handshake included. `node bench/tls.ts`; needs openssl.
import { once } from "node:events";
import { Agent as HttpAgent, request as httpRequest } from "node:http";
import { connect } from "node:http2";
import { Agent, request as httpsRequest } from "node:https";
import { Certificates } from "../test/support/certificates.ts";
import { type RunningGateway, startGatewayProcess } from "../test/support/gateway-process.ts";

const CALL = '{"jsonrpc":"2.0","id":1,"method":"eth_chainId"}';
const HEADERS = { "content-type": "application/json", "content-length": String(CALL.length) };
const CALLS = 20_000;
const CONNECTIONS = 2_000;
const AT_ONCE = 16;

const made = new Certificates();
const ca = made.read(made.authority("ca"));
const tls = made.signed("gateway", "ca");
const networks = {
  main: {
    ...{ family: "evm", chainId: 1, window: { blocks: 0 } },
    upstreams: [{ url: "http://127.0.0.1:1" }],
  },
};

type Ask = () => Promise<void>;

async function over1(gateway: RunningGateway, agent: HttpAgent | Agent | false): Promise<void> {
  const isSecure = gateway.url.startsWith("https:");
  const options = { method: "POST", headers: HEADERS, servername: "localhost", ca };
  const sent = isSecure
    ? httpsRequest(gateway.endpoint("main"), { ...options, agent: agent as Agent | false })
    : httpRequest(gateway.endpoint("main"), { ...options, agent });
  sent.end(CALL);
  const [response] = await once(sent, "response");
  await once(response.resume(), "end");
}

/** The gateway's processor time for one call, in microseconds. */
async function cost(gateway: RunningGateway, times: number, ask: Ask): Promise<number> {
  const rounds = async (count: number): Promise<void> => {
    let left = count;
    const one = async (): Promise<void> => {
      while (left-- > 0) await ask();
    };
    await Promise.all(Array.from({ length: AT_ONCE }, one));
  };
  await rounds(times / 4); // warms up
  const before = await usedSeconds(gateway);
  await rounds(times);
  return Math.round((((await usedSeconds(gateway)) - before) / times) * 1e6);
}

async function usedSeconds(gateway: RunningGateway): Promise<number> {
  const text = await (await fetch(gateway.metricsUrl)).text();
  return Number(/^process_cpu_seconds_total (\S+)/m.exec(text)?.[1]);
}

async function measure(name: string, settings: object): Promise<void> {
  const limits = { refusals: 0 };
  const gateway = await startGatewayProcess({
    ...settings,
    limits,
    log: { level: "info" },
    networks,
  });
  const isSecure = gateway.url.startsWith("https:");
  const kept = isSecure
    ? new Agent({ keepAlive: true, maxSockets: AT_ONCE })
    : new HttpAgent({ keepAlive: true, maxSockets: AT_ONCE });
  const call = await cost(gateway, CALLS, () => over1(gateway, kept));
  const connection = await cost(gateway, CONNECTIONS, () => over1(gateway, false));
  console.log(`${name}: ${call} µs a call, ${connection} µs a connection with one call`);
  kept.destroy();
  if (isSecure) await measureHttp2(gateway);
  await gateway.stop();
}

async function measureHttp2(gateway: RunningGateway): Promise<void> {
  const session = connect(gateway.url, { ca, servername: "localhost" });
  const path = new URL(gateway.endpoint("main")).pathname;
  const ask: Ask = async () => {
    const stream = session.request({ ":method": "POST", ":path": path, ...HEADERS });
    stream.end(CALL);
    await once(stream.resume(), "end");
  };
  console.log(`HTTP/2: ${await cost(gateway, CALLS, ask)} µs a call, over one connection`);
  session.close();
}

await measure("plain", { listen: { port: 0 } });
await measure("TLS", { listen: { port: 0, tls } });
made.remove();
