// The nodes of the tests of tracing: two proxies before a real node, which note calls, and hold or fail some of them.
import { once as eventOf } from "node:events";
import { createServer, type IncomingHttpHeaders } from "node:http";
import type { AddressInfo } from "node:net";
import { type AnvilNode, startAnvil } from "../support/anvil-node.ts";
import { post } from "../support/ask.ts";
import { type RunningGateway, startGatewayProcess } from "../support/gateway-process.ts";
import { textOf } from "../support/request-text.ts";
import { startTraceCollector, type TraceCollector, taken } from "../support/trace-collector.ts";

/** A proxy before the node: it notes the calls, and fails at one method. */
type FrontNode = {
  readonly url: string;
  readonly asked: { readonly method: string; readonly headers: IncomingHttpHeaders }[];
  fails: string | undefined;
  close(): void;
};

/** Orders to the proxy that is asked first, which is unknown on a busy machine: each holds or fails for one call. */
type Once = { holds: string | undefined; fails: string | undefined };

const takenFrom = (once: Once, act: keyof Once, method: string): boolean => {
  if (once[act] !== method) return false;
  once[act] = undefined;
  return true;
};

async function startFront(behind: string, once: Once): Promise<FrontNode> {
  const server = createServer(async (request, response) => {
    const body = await textOf(request);
    const method = /"method":"(\w+)"/.exec(body)?.[1] ?? "";
    front.asked.push({ method, headers: request.headers });
    if (takenFrom(once, "holds", method)) return;
    if (method === front.fails || takenFrom(once, "fails", method))
      return void response.writeHead(500).end("out of order");
    const answer = await (await post(behind, body)).text();
    response.writeHead(200, { "content-type": "application/json" }).end(answer);
  });
  server.listen(0, "127.0.0.1");
  await eventOf(server, "listening");
  const front: FrontNode = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    asked: [],
    fails: undefined,
    close: () => {
      server.close();
      server.closeAllConnections();
    },
  };
  return front;
}

type TracedNodes = {
  readonly anvil: AnvilNode;
  readonly fronts: Readonly<Record<"first" | "second", FrontNode>>;
  readonly once: Once;
  /** The settings of a gateway over both proxies. */
  settingsWith(tracing: object | undefined, more?: object): { readonly networks: object };
  /** Removes the orders and the noted calls. */
  reset(): void;
  close(): void;
};

/** @throws Where there is no anvil for this machine. */
async function startTracedNodes(): Promise<TracedNodes> {
  const anvil = await startAnvil();
  if (!anvil) throw new Error("no anvil for this machine");
  const once: Once = { holds: undefined, fails: undefined };
  const fronts = {
    first: await startFront(anvil.url, once),
    second: await startFront(anvil.url, once),
  };
  return {
    ...{ anvil, fronts, once },
    settingsWith: (tracing, more = {}) => ({
      networks: {
        main: {
          ...{ family: "evm", chainId: anvil.chainId, window: { blocks: 0 } },
          hedging: { share: 1, least: "2s", most: "2s" }, // a busy machine answers more slowly than usual
          upstreams: [
            { name: "first", url: fronts.first.url, price: 1 },
            { name: "second", url: fronts.second.url, price: 10 },
          ],
        },
      },
      ...(tracing && { tracing }),
      ...more,
    }),
    reset: () => {
      Object.assign(once, { holds: undefined, fails: undefined });
      for (const front of Object.values(fronts)) {
        front.fails = undefined;
        front.asked.length = 0;
      }
    },
    close: () => {
      for (const front of Object.values(fronts)) front.close();
      anvil.close();
    },
  };
}

export const COLLECTOR_TOKEN = "a-token-for-the-collector";

/** A gateway over both proxies, whose traces go to a collector. */
export class TracedGateway {
  readonly nodes: TracedNodes;
  readonly collector: TraceCollector;
  readonly gateway: RunningGateway;

  private constructor(parts: Pick<TracedGateway, "nodes" | "collector" | "gateway">) {
    this.nodes = parts.nodes;
    this.collector = parts.collector;
    this.gateway = parts.gateway;
  }

  static async start(): Promise<TracedGateway> {
    const nodes = await startTracedNodes();
    const collector = await startTraceCollector();
    const tracing = {
      endpoint: collector.url,
      headers: { "x-collector-token": COLLECTOR_TOKEN },
      ...{ sample: 0, slow: "1h", timeout: "2s" },
      attributes: { "deployment.environment.name": "test" },
    };
    const gateway = await startGatewayProcess(nodes.settingsWith(tracing));
    return new TracedGateway({ nodes, collector, gateway });
  }

  call(method: string, id: number | string = 1) {
    const params = method === "eth_gasPrice" ? [] : [this.nodes.anvil.sender, "latest"];
    return { jsonrpc: "2.0", id, method, params };
  }

  async send(body: object, headers: Record<string, string> = {}): Promise<unknown> {
    return (await post(this.gateway.endpoint("main"), JSON.stringify(body), headers)).json();
  }

  /** The `traceparent` headers that the nodes got with calls of the method. */
  askedFor(wanted: string) {
    return Object.values(this.nodes.fronts)
      .flatMap(({ asked }) => asked)
      .filter(({ method }) => method === wanted)
      .map(({ headers }) => headers["traceparent"]);
  }

  /** Removes all orders and noted calls; the collector accepts requests again. */
  reset(): void {
    this.nodes.reset();
    this.collector.answer = taken;
  }

  async close(): Promise<void> {
    await this.gateway.stop();
    await this.collector.close();
    this.nodes.close();
  }
}

let traces = 0;

/** A new trace of a caller, with its headers. */
export const callersTrace = (flags: "00" | "01") => {
  traces += 1;
  const traceId = traces.toString(16).padStart(32, "a");
  const headers = { traceparent: `00-${traceId}-${"b".repeat(16)}-${flags}`, tracestate: "app=7" };
  return { traceId, headers };
};
