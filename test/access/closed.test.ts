// Closed methods reach no node: a node that notes its calls stands behind the real process.
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Envelope, post } from "../support/ask.ts";
import {
  type RunningGateway,
  runCommand,
  startGatewayProcess,
} from "../support/gateway-process.ts";
import { result, type ScriptedNode, startScriptedNode } from "../support/scripted-node.ts";

const LISTED = `0x${"aa".repeat(20)}`;
const OTHER = `0x${"bb".repeat(20)}`;

const CONTROL = [
  "pos_stop_voting",
  "pos_start",
  "debug_setHead",
  "debug_writeMemProfile",
  "debug_chaindbCompact",
  "debug_traceBlockFromFile",
  "txpool_clear",
  "anvil_setCode",
];
const NEVER = [
  "eth_sendTransactionSync",
  "eth_sendUnsignedTransaction",
  "eth_sendTransaction",
  "eth_sign",
  "admin_addPeer",
  "personal_unlockAccount",
  "debug_subscribe",
];
/** Names of no method, which a careless parser would take for a closed one. */
const TWISTED = [...CONTROL, ...NEVER].flatMap((name) => [
  name.toUpperCase(),
  name.replace(/^[a-z]+/, (namespace) => namespace.toUpperCase()),
  `${name} `,
  ` ${name}`,
  `${name}\u0000`,
  `${name}\u200b`,
  name.replace("s", "\u017f"),
  name.replace("_", "."),
]);

describe("what is closed", () => {
  let node: ScriptedNode;
  let gateway: RunningGateway;
  let settings: { keys: object[]; networks: Record<string, object> };

  beforeAll(async () => {
    node = await startScriptedNode((call) =>
      result(call, call.method === "cfx_getStatus" ? '{"chainId":"0x1"}' : '"0x1"'),
    );
    const network = { chainId: 1, upstreams: [{ url: node.url }], window: { blocks: 0 } };
    const evm = { ...network, family: "evm" };
    settings = {
      keys: [
        { name: "all", key: "all-key" },
        { name: "wide", key: "wide-key", methods: ["*", "debug_*"] },
        { name: "named", key: "named-key", methods: ["debug_setHead", "alchemy_new", "eth_call"] },
        { name: "reader", key: "reader-key", readOnly: true },
        { name: "bound", key: "bound-key", contracts: [LISTED] },
      ],
      networks: {
        plain: evm,
        star: { ...evm, methods: { allow: ["*"], groups: ["debugTrace", "debugRaw", "txpool"] } },
        conflux: { ...network, family: "conflux", methods: { allow: ["*"] } },
        named: { ...evm, methods: { allow: ["eth_*", "debug_setHead", "alchemy_new"] } },
        grouped: { ...evm, methods: { groups: ["debugTrace", "txpool"] } },
      },
    };
    gateway = await startGatewayProcess(settings);
  });

  afterAll(async () => {
    expect(await gateway.stop()).toBe(0);
    await node.close();
  });

  const body = (method: string, params = "[]"): string =>
    `{"jsonrpc":"2.0","id":1,"method":${JSON.stringify(method)},"params":${params}}`;

  const send = async (network: string, key: string, text: string): Promise<Envelope> =>
    (await (await post(gateway.endpoint(network, key), text)).json()) as Envelope;

  /** The methods that the node was asked during `work`, without the gateway's own calls. */
  const asked = async (work: () => Promise<unknown>): Promise<string[]> => {
    const from = node.calls.length;
    await work();
    return node.calls
      .slice(from)
      .map(({ method }) => method)
      .filter(
        (method) =>
          ![
            "eth_chainId",
            "eth_blockNumber",
            "eth_getBlockByNumber",
            "cfx_getStatus",
            "cfx_epochNumber",
            "cfx_getBlockByEpochNumber",
            "eth_syncing",
            "web3_clientVersion",
          ].includes(method),
      );
  };

  const servers = ["plain", "star", "conflux"].flatMap((network) =>
    ["all-key", "wide-key", "reader-key", "bound-key"].map((key) => [network, key] as const),
  );

  it.each(servers)(
    "reaches no node of %s with the %s, alone or in a batch",
    async (network, key) => {
      const names = [...CONTROL, ...NEVER, ...TWISTED];
      const reached = await asked(async () => {
        const batch = (methods: readonly string[]): string =>
          `[${methods.map((name) => body(name)).join()}]`;
        for (const name of [...CONTROL, ...NEVER]) {
          const { error } = await send(network, key, body(name));
          expect([name, error?.code]).toEqual([name, -32601]);
        }
        for (let at = 0; at < names.length; at += 50) {
          const told = (await send(network, key, batch(names.slice(at, at + 50)))) as Envelope[];
          for (const { error } of told) expect(error?.code).toBe(-32601);
        }
      });
      expect(reached).toEqual([]);
    },
  );

  it("says what is closed here, what needs another way, and what nobody has", async () => {
    const told = async (name: string): Promise<string | undefined> =>
      (await send("plain", "all-key", body(name))).error?.message;
    expect(await told("debug_setHead")).toBe(
      "the method debug_setHead is not open on this network",
    );
    expect(await told("admin_peers")).toBe("the method admin_peers is not open on this network");
    expect(await told("debug_subscribe")).toBe(
      "the method debug_subscribe is not open on this network",
    );
    expect(await told("eth_nothing")).toBe(
      "the method eth_nothing does not exist/is not available",
    );
  });

  it("opens by its full name, for keys that may write and that name it or nothing", async () => {
    const reached = async (key: string, method: string): Promise<unknown[]> => {
      let code: number | undefined;
      const calls = await asked(async () => {
        code = (await send("named", key, body(method))).error?.code;
      });
      return [...calls, code];
    };
    expect(await reached("all-key", "debug_setHead")).toEqual(["debug_setHead", undefined]);
    expect(await reached("named-key", "debug_setHead")).toEqual(["debug_setHead", undefined]);
    expect(await reached("named-key", "alchemy_new")).toEqual(["alchemy_new", undefined]);
    expect(await reached("wide-key", "debug_setHead")).toEqual([-32004]);
    expect(await reached("reader-key", "debug_setHead")).toEqual([-32004]);
    expect(await reached("reader-key", "alchemy_new")).toEqual([-32004]);
    expect(await reached("bound-key", "alchemy_new")).toEqual([-32002]);
  });

  it("opens reads by groups, and describes itself by default", async () => {
    const names = ["debug_traceBlockByHash", "txpool_content", "debug_getRawBlock"];
    const reached = await asked(async () => {
      for (const name of names) await send("grouped", "all-key", body(name));
    });
    expect(reached).toEqual(names.slice(0, 2));
    const { result: document } = await send("plain", "all-key", body("rpc.discover"));
    expect(document).toHaveProperty("openrpc");
  });

  it("refuses parameters that the node may read otherwise, for every key", async () => {
    const twisted = [
      `[{"to":"${LISTED}","to":"${OTHER}"},"latest"]`,
      `[{"to":"${LISTED}","To":"${OTHER}"},"latest"]`,
      `[{"to":"${LISTED}","t\\u006f":"${OTHER}"},"latest"]`,
      `[{"to":"${LISTED}","accessList":[{"a":1,"A":2}]},"latest"]`,
    ];
    const methods = ["eth_call", "eth_simulateV1", "debug_traceCall"];
    const reached = await asked(async () => {
      // After this body, JSON.parse of Node 24 takes "t\u006f" for the member name that this body has in the same
      // place.
      await send("star", "bound-key", body("eth_call", `[{"to":"${LISTED}","\\\\u":1}]`));
      for (const key of ["all-key", "bound-key"])
        for (const method of methods)
          for (const params of twisted) {
            const { error } = await send("star", key, body(method, params));
            expect([key, method, params, error !== undefined]).toEqual([key, method, params, true]);
            if (key === "all-key") expect(error?.code).toBe(-32602);
          }
      const twice = `{"jsonrpc":"2.0","id":1,"method":"eth_chainId","method":"eth_call"}`;
      expect((await send("star", "all-key", twice)).error?.code).toBe(-32600);
    });
    expect(reached).toEqual([]);
  });

  it("lets keys that are bound to contracts trace with the node's own tracers only", async () => {
    const options = [
      ['{"tracer":"callTracer"}', true],
      [
        '{"tracer":"muxTracer","tracerConfig":{"callTracer":{},"muxTracer":{"noopTracer":null}}}',
        true,
      ],
      ['{"tracer":"{step:function(){}}"}', false],
      ['{"tracer":"muxTracer","tracerConfig":{"{step:function(){}}":null}}', false],
      ['{"tracer":"muxTracer","tracerConfig":{"muxTracer":{"{step:function(){}}":{}}}}', false],
      [`{"stateOverrides":{"${LISTED}":{"code":"0x60"}}}`, false],
      [`{"stateoverrides":{"${LISTED}":{"code":"0x60"}}}`, false],
    ] as const;
    for (const [written, isOpen] of options) {
      const calls: [string, string][] = [
        ["debug_traceCall", `[{"to":"${LISTED}"},"latest",${written}]`],
      ];
      if (written.includes("tracer"))
        calls.push(["debug_traceTransaction", `["0x${"11".repeat(32)}",${written}]`]);
      for (const [method, params] of calls) {
        const reached = await asked(() => send("star", "bound-key", body(method, params)));
        expect([written, reached]).toEqual([written, isOpen ? [method] : []]);
      }
    }
  });

  it("polls no filter of a node for a key that is bound to contracts: nobody knows what it tells", async () => {
    const poll = body("eth_getFilterChanges", '["0x1"]');
    expect((await send("plain", "bound-key", poll)).error?.code).toBe(-32002);
    expect((await send("plain", "all-key", poll)).error).toBeUndefined();
  });

  it("is told to the operator, with the reason", async () => {
    const args = ["methods", "--config", gateway.configPath, "--key"];
    const { code, stdout } = await runCommand([...args, "wide", "--network", "named"]);
    expect(code).toBe(0);
    const row = (name: string): string | undefined =>
      stdout.split("\n").find((line) => line.trim().startsWith(`${name} `));
    expect(row("eth_call")).toMatch(/read +5 +yes$/);
    expect(row("debug_setHead")).toMatch(/node control +3 +no: the key's methods do not have/);
    expect(row("debug_traceCall")).toMatch(/read +25 +no: not in methods.allow .*debugTrace/);
    expect(row("admin_peers")).toMatch(/no: never served$/);
    expect((await runCommand([...args, "nobody"])).code).toBe(2);
  });

  it("ends the start with exit code 2 where a pattern can mean nothing else", async () => {
    const network = { ...settings.networks["plain"], methods: { allow: ["eth_*", "debug_set*"] } };
    await gateway.write({ ...settings, networks: { plain: network } });
    const { code, stderr } = await runCommand(["serve", "--config", gateway.configPath]);
    expect([code, stderr]).toEqual([2, expect.stringContaining("open by their full names alone")]);
  });
});
