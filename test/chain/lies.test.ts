// A node that lies, before an honest one and alone: callers still get true answers.
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { toQuantity } from "../../src/evm/values.ts";
import { ask, type Envelope, post } from "../support/ask.ts";
import { atDepth } from "../support/depth.ts";
import {
  type ExecutionChain,
  executionChainAvailable,
  startExecutionChain,
} from "../support/execution-chain.ts";
import { type RunningGateway, startGatewayProcess } from "../support/gateway-process.ts";
import { until } from "../support/processes.ts";
import { stopwatch } from "../support/served-time.ts";
import {
  again,
  announced,
  type Block,
  disguised,
  escaped,
  type Fields,
  FORGED,
  forged,
  inBlocks,
  inLogs,
  inReceipts,
  inTransactions,
  invented,
  inWholeBlocks,
  type Lie,
  type LieFrom,
  type LyingNode,
  OTHER_HASH,
  startLyingNode,
  together,
} from "./lying-node.ts";

/** Replaces whole blocks; the head stays true. */
const insteadOfWhole = (garbage: unknown): LieFrom =>
  inBlocks((block, { params }) => (params[1] ? garbage : block));

const GROWTH = 3;

type Row = {
  readonly what: string;
  readonly lie: LieFrom;
  /** The failed parts in the log and the metric; left out where the lie fails no proof. */
  readonly parts?: readonly string[];
  /** How many new blocks the only node gives without the lie. */
  readonly given?: number;
  /** The head before the lie; then the chain grows by three blocks. */
  readonly start?: number;
};

const OTHER_ADDRESS = `0x${"22".repeat(20)}`;

const withField = (name: string, value: unknown): LieFrom =>
  inBlocks((block) => ({ ...block, [name]: value }));
const inTransaction = (name: string, value: unknown): LieFrom =>
  inTransactions((transaction) => ({ ...transaction, [name]: value }));
const inReceipt = (change: (receipt: Fields) => Fields): LieFrom =>
  inReceipts((receipts) => receipts.map(change));

/** Gives too few receipts of a block, and none of them by itself: with those the block would be whole. */
const withheld = (change: (receipts: readonly Fields[]) => unknown): LieFrom =>
  together(inReceipts(change), (first) => ({ method }, honest) => {
    const { blockNumber } = Object(honest) as Fields;
    const isToldOf = method === "eth_getTransactionReceipt" && Number(blockNumber) >= first;
    return isToldOf ? null : honest;
  });

const logsOf = (receipt: Fields): readonly Fields[] => receipt["logs"] as Fields[];

const HEADER = ["header hash"];
const TRANSACTIONS = ["transactions root"];
const RECEIPTS = ["receipts root"];
const PLACES = ["places"];
const SHAPE = ["shape"];

const allRows: readonly Row[] = [
  { what: "another hash of the block, everywhere", lie: disguised, parts: [...HEADER, "identity"] },
  { what: "another stateRoot", lie: withField("stateRoot", OTHER_HASH), parts: HEADER },
  { what: "another gasUsed of the block", lie: withField("gasUsed", "0x5208"), parts: HEADER },
  { what: "another timestamp", lie: withField("timestamp", "0x7fffffff"), parts: HEADER },
  { what: "another miner", lie: withField("miner", OTHER_ADDRESS), parts: HEADER },
  { what: "other extraData", lie: withField("extraData", "0x6c6965"), parts: HEADER },
  { what: "no bloom", lie: withField("logsBloom", `0x${"00".repeat(256)}`), parts: HEADER },
  {
    what: "the number of another height",
    lie: inBlocks((block, { params }) => (params[1] ? { ...block, number: "0x30f" } : block)),
    parts: ["identity", "header hash"],
  },
  {
    what: "another block than the one asked for by its hash",
    lie: (first) => (call, honest, askHonestly) =>
      call.method === "eth_getBlockByHash" && Number((honest as Block | null)?.["number"]) >= first
        ? askHonestly({ method: "eth_getBlockByNumber", params: ["0x28", call.params[1]] })
        : honest,
    parts: ["identity"],
    given: GROWTH - 1, // all but the newest block are asked for by their numbers
  },
  { what: "another value", lie: inTransaction("value", "0x7b"), parts: TRANSACTIONS },
  { what: "another input", lie: inTransaction("input", "0xdeadbeef"), parts: TRANSACTIONS },
  { what: "another recipient", lie: inTransaction("to", OTHER_ADDRESS), parts: TRANSACTIONS },
  { what: "another nonce", lie: inTransaction("nonce", "0xffff"), parts: TRANSACTIONS },
  { what: "another transaction hash", lie: inTransaction("hash", OTHER_HASH), parts: TRANSACTIONS },
  {
    what: "another sender, which the receipts contradict",
    lie: inTransaction("from", OTHER_ADDRESS),
    parts: PLACES,
  },
  { what: "a transaction less", lie: inWholeBlocks((all) => all.slice(1)), parts: TRANSACTIONS },
  {
    what: "two transactions swapped",
    lie: inWholeBlocks(([first, second, ...rest]) => [second, first, ...rest]),
    parts: TRANSACTIONS,
  },
  { what: "a receipt less", lie: withheld((all) => all.slice(1)) },
  { what: "no receipts of a full block", lie: withheld(() => []) },
  {
    what: "a flipped status",
    lie: inReceipt((one) => ({ ...one, status: one["status"] === "0x1" ? "0x0" : "0x1" })),
    parts: RECEIPTS,
  },
  {
    what: "the receipts of another block",
    lie: (first) => (call, honest, askHonestly) =>
      inReceipts(() => askHonestly({ ...call, params: ["0x28"] }))(first)(
        call,
        honest,
        askHonestly,
      ),
    parts: RECEIPTS,
  },
  {
    what: "the receipts of a sibling block",
    lie: inReceipt((one) => ({ ...one, blockHash: OTHER_HASH })),
    parts: PLACES,
  },
  {
    what: "another gasUsed of a receipt",
    lie: inReceipt((one) => ({ ...one, gasUsed: "0x1" })),
    parts: PLACES,
  },
  {
    what: "another cumulativeGasUsed",
    lie: inReceipt((one) => ({ ...one, cumulativeGasUsed: "0x1" })),
    parts: RECEIPTS,
  },
  {
    what: "another sender in the receipts",
    lie: inReceipt((one) => ({ ...one, from: OTHER_ADDRESS })),
    parts: PLACES,
  },
  {
    what: "another created contract",
    lie: inReceipt((one) => ({ ...one, contractAddress: OTHER_ADDRESS })),
    parts: PLACES,
  },
  {
    what: "a log less",
    lie: inReceipt((one) => ({ ...one, logs: logsOf(one).slice(1) })),
    parts: RECEIPTS,
  },
  {
    what: "a log more",
    lie: inReceipt((one) => ({ ...one, logs: [...logsOf(one), ...logsOf(one)] })),
    parts: RECEIPTS,
  },
  {
    what: "no logs, and the blooms as they were",
    lie: inReceipt((one) => ({ ...one, logs: [] })),
    parts: RECEIPTS,
  },
  {
    what: "no logs, and no blooms of receipts",
    lie: inReceipt((one) => ({ ...one, logs: [], logsBloom: `0x${"00".repeat(256)}` })),
    parts: RECEIPTS,
  },
  { what: "other data of a log", lie: inLogs((log) => ({ ...log, data: "0x" })), parts: RECEIPTS },
  {
    what: "another logIndex",
    lie: inLogs((log) => ({ ...log, logIndex: "0x63" })),
    parts: PLACES,
  },
  {
    what: "another amount withdrawn",
    lie: inBlocks((block) => ({
      ...block,
      withdrawals: (block["withdrawals"] as Fields[]).map((one) => ({ ...one, amount: "0xff" })),
    })),
    parts: ["withdrawals root"],
  },
  {
    what: "one withdrawal more",
    lie: inBlocks((block) => ({ ...block, withdrawals: [{ index: "0x0" }] })),
    parts: ["withdrawals root"],
  },
  {
    what: "another header of an uncle",
    lie: () => (call, honest) =>
      call.method === "eth_getUncleByBlockHashAndIndex" && honest
        ? { ...(honest as Fields), gasUsed: "0x1" }
        : honest,
    parts: ["uncles hash"],
    start: 28, // block 29 has an uncle
  },
  { what: "a number instead of a block", lie: insteadOfWhole(7), parts: ["shape"] },
  { what: "a text instead of a block", lie: insteadOfWhole("0x7"), parts: ["shape"] },
  { what: "{} instead of a block", lie: insteadOfWhole({}), parts: ["shape"] },
  { what: "an array instead of a block", lie: insteadOfWhole([]), parts: ["shape"] },
  {
    what: "a block without transactions",
    lie: inBlocks(({ transactions: _, ...block }) => block),
    parts: ["shape"],
  },
  { what: "a number instead of receipts", lie: inReceipts(() => 7), parts: ["shape"] },
  { what: "an array of numbers instead of receipts", lie: inReceipts(() => [7]), parts: ["shape"] },
  // The gateway proves one of two members, and a caller's library may read the other one.
  {
    what: "a first stateRoot before the true one",
    lie: inBlocks((block) => ({ [again("stateRoot")]: OTHER_HASH, ...block })),
    parts: SHAPE,
  },
  {
    what: "a second stateRoot that a parser ignores the case of",
    lie: withField("StateRoot", OTHER_HASH),
    parts: SHAPE,
  },
  { what: "a To beside to", lie: inTransaction("To", OTHER_ADDRESS), parts: SHAPE },
  {
    what: "an entry of an access list with an Address beside its address",
    lie: inTransaction("accessHints", [
      { address: OTHER_ADDRESS, storageKeys: [], Address: `0x${"33".repeat(20)}` },
    ]),
    parts: SHAPE,
  },
  {
    what: "a withdrawal with an Amount beside its amount",
    lie: inBlocks((block) => ({
      ...block,
      withdrawals: (block["withdrawals"] as Fields[]).map((one) => ({ ...one, Amount: "0xff" })),
    })),
    parts: SHAPE,
  },
  {
    what: "a Status beside status",
    lie: inReceipt((one) => ({ ...one, Status: "0x0" })),
    parts: SHAPE,
  },
  {
    what: "a status with a long s, which Go takes for status",
    lie: inReceipt((one) => ({ ...one, ſtatus: "0x0" })),
    parts: SHAPE,
  },
  {
    what: "a Data beside the data of a log",
    lie: inLogs((log) => ({ ...log, Data: "0x01" })),
    parts: SHAPE,
  },
  {
    what: "the data of a log under an escaped name",
    lie: inLogs((log) => ({ [escaped("data")]: "0x01", ...log })),
    parts: SHAPE,
  },
  { what: "null for a block", lie: inBlocks(() => null) },
  {
    what: "null for a whole block whose hash was told",
    lie: inBlocks((block, { params }) => (params[1] ? null : block)),
  },
  { what: "null for receipts", lie: withheld(() => null) },
];

/** One lie for each part of a proof. */
const ONE_OF_EACH: readonly string[] = [
  "another hash of the block, everywhere",
  "another value",
  "a flipped status",
  "another logIndex",
  "another amount withdrawn",
  "another header of an uncle",
  "{} instead of a block",
  "a To beside to",
  "null for a block",
];
const rows = atDepth(
  allRows.filter(({ what }) => ONE_OF_EACH.includes(what)),
  allRows,
);

/** The outcome of one lie. */
type Story = {
  told: number;
  /** The answers to callers that differed from the honest node's while the node lied. */
  untrue: readonly string[];
  head: number;
  errors: readonly { upstream: unknown; part: unknown }[];
  /** The values of the metric, by upstream and part. */
  failures: readonly string[];
  /** The head and the differing answers after the node became honest again. */
  after?: { head: number; untrue: readonly string[] };
};

/** A chain whose headers the gateway knows to hash as on Ethereum. */
const KNOWN_CHAIN = 1337;
const WINDOW = 8;

type NetworkSettings = Readonly<Record<string, unknown>>;

/** The liar has the lower price: the gateway asks it first while it trusts it. */
const of = (liar: LyingNode, honest?: LyingNode): NetworkSettings => ({
  upstreams: [
    { name: "liar", url: liar.url },
    ...(honest ? [{ name: "honest", url: honest.url, price: 1 }] : []),
  ],
});
const AT_ONCE = 9;

describe.skipIf(!executionChainAvailable)("a node that lies", () => {
  let chain: ExecutionChain;
  const stop: (() => Promise<unknown>)[] = [];
  const before = new Map<string, Promise<Story>>();
  const alone = new Map<string, Promise<Story>>();

  beforeAll(async () => {
    chain = await startExecutionChain();
    stop.push(() => chain.close());
    // Limited concurrency: with too many lies at once the tests would wait for the machine.
    for (let from = 0; from < rows.length; from += AT_ONCE)
      await tellAll(rows.slice(from, from + AT_ONCE));
  }, 300_000);
  afterAll(async () => {
    for (const each of stop.reverse()) await each();
  });

  const startNode = async (
    head: number,
    { lie, chainId = KNOWN_CHAIN }: { lie?: Lie; chainId?: number } = {},
  ): Promise<LyingNode> => {
    const node = await startLyingNode({ honestUrl: chain.url, chainId, head, lie });
    stop.push(() => node.close());
    return node;
  };

  // While the only node lies, no node confirms the head, and a stale network's calls would go to the node.
  const staleAfter = "1h";
  const common = { family: "evm", chainId: KNOWN_CHAIN, window: { blocks: WINDOW }, staleAfter };

  async function startGateway(
    networks: Readonly<Record<string, NetworkSettings>>,
  ): Promise<RunningGateway> {
    const gateway = await startGatewayProcess({ networks: withCommon(networks) });
    stop.push(() => gateway.stop());
    return gateway;
  }

  const withCommon = (networks: Readonly<Record<string, NetworkSettings>>) =>
    Object.fromEntries(
      Object.entries(networks).map(([name, settings]) => [name, { ...common, ...settings }]),
    );

  /** Lets the first of two nodes, and an only node, tell each of these lies. */
  async function tellAll(some: readonly Row[]): Promise<void> {
    const earlier = stop.length;
    const nodes = await Promise.all(
      some.map(async ({ lie, start = 47 }) => ({
        liar: await startNode(start, { lie: lie(0) }),
        honest: await startNode(start),
        only: await startNode(start),
      })),
    );
    const networks = nodes.flatMap(({ liar, honest, only }, index) => [
      [`before-${index}`, of(liar, honest)],
      [`alone-${index}`, of(only)],
    ]);
    const gateway = await startGateway(Object.fromEntries(networks));
    const told = some.flatMap((row, index) => {
      const { liar, honest, only } = nodes[index] as (typeof nodes)[number];
      const first = tellBefore({ gateway, network: `before-${index}`, liar, honest, row });
      const second = tellAlone({ gateway, network: `alone-${index}`, liar: only, row });
      before.set(row.what, first);
      alone.set(row.what, second);
      return [first, second];
    });
    await Promise.allSettled(told); // each test reports its own failure
    for (const each of stop.splice(earlier).reverse()) await each();
  }

  /** The chain grows; the first node has lied from the beginning, the second is honest. */
  async function tellBefore(story: {
    gateway: RunningGateway;
    network: string;
    liar: LyingNode;
    honest: LyingNode;
    row: Row;
  }): Promise<Story> {
    const { gateway, network, liar, honest, row } = story;
    const { start = 47, parts } = row;
    const url = gateway.endpoint(network);
    await hasFollowed(url, start);
    // The liar is the first node with the new blocks, so that the gateway must ask it for them.
    liar.head = start + GROWTH;
    await until("the lie is told", async () => {
      const { errors } = await reported(gateway, network);
      return liar.told > 0 && (!parts || errors.length > 0);
    });
    honest.head = start + GROWTH;
    await hasFollowed(url, start + GROWTH);
    const untrue = await differences(url, chain.url, { from: start, to: start + GROWTH });
    return {
      told: liar.told,
      untrue,
      ...(await reported(gateway, network)),
      head: await headOf(url),
    };
  }

  /** The chain grows under the only node, which lies about all new blocks. */
  async function tellAlone(parts: {
    gateway: RunningGateway;
    network: string;
    liar: LyingNode;
    row: Row;
  }): Promise<Story> {
    const { gateway, network, liar, row } = parts;
    const { start = 47 } = row;
    const url = gateway.endpoint(network);
    await hasFollowed(url, start);
    liar.lie = row.lie(start + 1);
    liar.head = start + GROWTH;
    await until("the lie is told", async () => {
      await ask(url, "eth_getBlockByNumber", [toQuantity(start + 1), true]);
      const { errors } = await reported(gateway, network);
      return liar.told > 0 && (!row.parts || errors.length > 0);
    });
    const head = await headOf(url);
    const untrue = await differences(url, chain.url, { from: start - 2, to: start + GROWTH, head });
    const seen = { told: liar.told, untrue, ...(await reported(gateway, network)), head };
    liar.lie = undefined;
    await hasFollowed(url, start + GROWTH);
    const range = { from: start - 2, to: start + GROWTH };
    const after = { head: await headOf(url), untrue: await differences(url, chain.url, range) };
    return { ...seen, after };
  }

  describe("first of two", () => {
    it.each(rows)("tells of $what: callers get what the honest one says", async (row) => {
      const story = await before.get(row.what);
      expect(story).toMatchObject({ untrue: [], head: (row.start ?? 47) + GROWTH });
      expectReported(row, story);
    });
  });

  describe("and is the only one", () => {
    it.each(rows)("tells of $what: the head stays until it is honest again", async (row) => {
      const { start = 47 } = row;
      const story = await alone.get(row.what);
      // A block that cannot be read contradicts nothing that is proven, so calls are passed through after some block times.
      const isReadable = !row.parts?.every((part) => part === "shape");
      const head = start + (row.given ?? 0);
      if (isReadable) expect(story).toMatchObject({ untrue: [], head });
      expectReported(row, story);
      expect(story?.after).toEqual({ head: start + GROWTH, untrue: [] });
    });
  });

  const scenes: Record<string, NetworkSettings> = {};
  let gatewayOfScenes: RunningGateway | undefined;
  /** The number of scenes in the gateway's configuration. */
  let inForce = 0;
  let added: Promise<unknown> = Promise.resolve();

  /** Adds a network to the one gateway of all scenes. */
  async function addNetwork(settings: NetworkSettings) {
    const network = `scene-${Object.keys(scenes).length}`;
    scenes[network] = settings;
    const place = Object.keys(scenes).length;
    added = added.then(async () => {
      if (place <= inForce) return; // the reload of another scene has added this one
      const all = Object.keys(scenes).length;
      if (gatewayOfScenes) await gatewayOfScenes.reload({ networks: withCommon(scenes) });
      else gatewayOfScenes = await startGateway(scenes);
      inForce = all;
    });
    await added;
    const gateway = gatewayOfScenes as unknown as RunningGateway;
    return { gateway, network, url: gateway.endpoint(network) };
  }

  /** A network with a liar, and an honest node behind it unless `isAlone`. */
  async function scene({
    lie,
    chainId = KNOWN_CHAIN,
    isAlone = false,
    start = 47,
    ...settings
  }: NetworkSettings & { lie?: Lie; chainId?: number; isAlone?: boolean; start?: number }) {
    const liar = await startNode(start, { chainId, ...(lie ? { lie } : {}) });
    const honest = isAlone ? undefined : await startNode(start, { chainId });
    const network = await addNetwork({ ...of(liar, honest), chainId, ...settings });
    return { ...network, liar, honest };
  }

  describe.concurrent("in ways that no hash covers", () => {
    it("gets through with another sender, where receipts say the same", async () => {
      const forge = (one: Fields): Fields => ({ ...one, from: OTHER_ADDRESS });
      const lie = together(
        inTransactions(forge),
        inReceipt((one) => ({ ...forge(one), contractAddress: null })),
      );
      const { url } = await scene({ lie: lie(0) });
      await hasFollowed(url, 47);
      const { result, headers } = await read(url, "eth_getBlockByNumber", ["0x2f", true]);
      expect(result).toMatchObject({ transactions: [{ from: OTHER_ADDRESS }, {}, {}, {}] });
      expect(headers.get("x-headgate-proof")).toBe("full");
    });

    it("gets through with a block that is consistent in itself, until the honest chain is longer", async () => {
      const { url, liar, honest } = await scene({});
      await hasFollowed(url, 47);
      liar.lie = forged(48);
      liar.head = 48;
      const forgedBlock = await until("the forged block is the head", async () => {
        const { result, headers } = await read(url, "eth_getBlockByNumber", ["0x30", false]);
        return result && { result, proof: headers.get("x-headgate-proof") };
      });
      expect(forgedBlock).toMatchObject({ result: { extraData: FORGED }, proof: "full" });
      if (honest) honest.head = 50;
      await hasFollowed(url, 50);
      expect(await differences(url, chain.url, { from: 45, to: 50 })).toEqual([]);
    });

    it("makes up an old block that is consistent in itself: with another node it is contested, alone it gets through", async () => {
      const contested = await scene({ lie: forged(30) });
      await hasFollowed(contested.url, 47);
      expect(await ask(contested.url, "eth_getBlockByNumber", ["0x1e", false])).toMatchObject({
        error: { code: -32603 },
      });
      const { url } = await scene({ lie: forged(30), isAlone: true });
      await hasFollowed(url, 47);
      const { result, headers } = await read(url, "eth_getBlockByNumber", ["0x1e", false]);
      expect(result).toMatchObject({ extraData: FORGED });
      expect(headers.get("x-headgate-proof")).toBe("full"); // of its own hash, to which no block links
    });

    it("holds back an uncle: the block is proven in part, and not taken where proof is strict", async () => {
      const lie: Lie = ({ method }, told) =>
        method === "eth_getUncleByBlockHashAndIndex" ? null : told;
      const available = await scene({ lie, isAlone: true, start: 28 });
      const strict = await scene({ lie, isAlone: true, start: 28, proof: "strict" });
      for (const { url, liar } of [available, strict]) {
        await hasFollowed(url, 28);
        liar.head = 29;
      }
      await hasFollowed(available.url, 29);
      const { headers } = await read(available.url, "eth_getBlockByNumber", ["0x1d", false]);
      expect(headers.get("x-headgate-proof")).toBe("partial");
      const { gateway, network } = strict;
      await until("it failed", async () => (await reported(gateway, network)).errors.length);
      expect(await reported(gateway, network)).toMatchObject({
        failures: ["liar uncles hash"],
      });
      expect(await headOf(strict.url)).toBe(28);
    });

    it("invents a receipt of a block that is not there: null, after a little while", async () => {
      const { gateway, url } = await scene({ lie: invented("0x417"), isAlone: true });
      await hasFollowed(url, 47);
      const elapsedMs = stopwatch(gateway.process);
      const { result } = await ask(url, "eth_getTransactionReceipt", [OTHER_HASH]);
      expect(result).toBeNull();
      expect(elapsedMs()).toBeLessThan(5_000);
    });

    it("invents a receipt older than the window: it is passed on, and said to be unproven", async () => {
      const { url } = await scene({ lie: invented("0x1") });
      await hasFollowed(url, 47);
      const { result, headers } = await read(url, "eth_getTransactionReceipt", [OTHER_HASH]);
      expect(result).toMatchObject({ transactionHash: OTHER_HASH });
      expect(headers.get("x-headgate-source")).toBe("upstream");
      expect(headers.get("x-headgate-proof")).toBe("none");
    });

    it("changes a transaction whose block cannot be proven: it is shown as pending, and unproven", async () => {
      const { url, liar } = await scene({ isAlone: true });
      await hasFollowed(url, 47);
      liar.lie = inTransaction("value", "0x7b")(48);
      liar.head = 48;
      const hash = await transactionAt(chain.url, 48);
      const { result, headers } = await read(url, "eth_getTransactionByHash", [hash]);
      expect(result).toMatchObject({ value: "0x7b", blockHash: null, blockNumber: null });
      expect(headers.get("x-headgate-proof")).toBe("none");
    });
  });

  describe.concurrent("about what is known already", () => {
    const everyLie = together(
      inBlocks(() => null),
      inReceipts(() => null),
      () => (call, told) => (call.method === "eth_getLogs" ? [] : told),
      () => (call, told) => (/^eth_getTransaction/.test(call.method) ? null : told),
    );

    it("is not asked: no null for a block, transaction or receipt, no [] for logs", async () => {
      const { gateway, network, url, liar } = await scene({ isAlone: true });
      await hasFilled(gateway, network);
      liar.lie = everyLie(0);
      expect(await differences(url, chain.url, { from: 40, to: 47 })).toEqual([]);
    });

    it("lags, and the next node is asked for what is older than the window", async () => {
      const { url } = await scene({ lie: everyLie(0) });
      await hasFollowed(url, 47);
      const found = await differencesOf(30, { url, honestUrl: chain.url, head: 47 });
      expect(found).toEqual([]);
    });

    it("says that there are no logs older than the window: the other node is asked, too", async () => {
      const { url } = await scene({ lie: everyLie(0) });
      await hasFollowed(url, 47);
      const range = { fromBlock: "0x1e", toBlock: "0x1f" };
      const { result, headers } = await read(url, "eth_getLogs", [range]);
      expect(result).toEqual((await ask(chain.url, "eth_getLogs", [range])).result);
      expect(result).not.toEqual([]);
      expect(headers.get("x-headgate-proof")).toBe("none");
    });

    it("changes an old block and is the only one: an error, and no block", async () => {
      const { url, liar } = await scene({ isAlone: true });
      await hasFollowed(url, 47);
      liar.lie = withField("stateRoot", OTHER_HASH)(0);
      const params = ["0x1e", true];
      expect((await ask(url, "eth_getBlockByNumber", params)).error).toEqual(UNPROVEN);
      const hash = chain.blockHashes[30];
      expect((await ask(url, "eth_getBlockByHash", [hash, true])).error).toEqual(UNPROVEN);
    });
  });

  describe.concurrent("about its head", () => {
    /** Tells a lower newest block, but still knows the other blocks. */
    const saysLower: Lie = (call, told, askHonestly) =>
      call.params[0] === "latest" ? askHonestly({ ...call, params: ["0x2a", false] }) : told;

    it("jumps back and forth: the head stays while an honest node knows it", async () => {
      const { url, liar } = await scene({});
      await hasFollowed(url, 47);
      liar.head = 42;
      const seen = await headsWhile(liar, url, { answers: 12 });
      liar.head = 47;
      seen.push(...(await headsWhile(liar, url, { answers: 6 })));
      expect(new Set(seen)).toEqual(new Set([47]));
    });

    it("jumps back alone and knows its head still: the head stays", async () => {
      const { url, liar } = await scene({ isAlone: true });
      await hasFollowed(url, 47);
      liar.lie = saysLower;
      const seen = await headsWhile(liar, url, { answers: 12 });
      expect(new Set(seen)).toEqual(new Set([47]));
    });

    it("jumps back alone and denies its head: the head follows after three denials, and comes back", async () => {
      const { url, liar } = await scene({ isAlone: true });
      await hasFollowed(url, 47);
      liar.head = 42;
      await until("the head is lower", async () => {
        await hurry(url);
        return (await headOf(url)) === 42;
      });
      expect(await differences(url, chain.url, { from: 40, to: 47, head: 42 })).toEqual([]);
      liar.head = 47;
      await hasFollowed(url, 47);
      expect(await differences(url, chain.url, { from: 40, to: 47 })).toEqual([]);
    });

    it("announces a block that does not exist, a little ahead: the head stays", async () => {
      const { url, liar } = await scene({});
      await hasFollowed(url, 47);
      liar.lie = announced(50);
      const seen = await headsWhile(liar, url, { answers: 6 });
      expect(new Set(seen)).toEqual(new Set([47]));
      expect(await differences(url, chain.url, { from: 40, to: 47 })).toEqual([]);
    });
  });

  describe.concurrent("and gets through, which it should not", () => {
    it("garbage instead of a block by its hash is not passed on", async () => {
      const { url, liar } = await scene({ isAlone: true, proof: "strict" });
      await hasFollowed(url, 47);
      liar.lie = inBlocks(() => 7)(0);
      const { result } = await ask(url, "eth_getBlockByHash", [chain.blockHashes[30], false]);
      expect(result).toBeUndefined();
    });

    it("garbage instead of receipts does not let a changed block through where proof is strict", async () => {
      const { url, liar } = await scene({ isAlone: true, proof: "strict" });
      await hasFollowed(url, 47);
      liar.lie = together(
        withField("stateRoot", OTHER_HASH),
        inReceipts(() => 7),
      )(0);
      const { result } = await ask(url, "eth_getBlockByNumber", ["0x1e", false]);
      expect(result).toBeUndefined();
    });

    const farAhead = { ahead: 100, blocks: 10_000, isAlone: true };
    const lessFarAhead = [
      { ahead: 100, blocks: 10_000, isAlone: false },
      { ahead: 10, blocks: WINDOW, isAlone: true },
    ];
    it.each(atDepth([farAhead], [farAhead, ...lessFarAhead]))(
      "a head that does not exist changes nothing: $ahead ahead, window of $blocks, alone: $isAlone",
      async ({ ahead, blocks, isAlone }) => {
        const { url, liar } = await scene({ window: { blocks }, isAlone });
        await hasFollowed(url, 47);
        liar.lie = announced(47 + ahead);
        await headsWhile(liar, url, { answers: 6 });
        await expectHead(url, chain.blockHashes[47]);
      },
    );

    it("other hashes for all blocks do not empty the store", async () => {
      const { gateway, network, url, liar } = await scene({ isAlone: true });
      await hasFilled(gateway, network);
      liar.lie = inBlocks((block, { params }) =>
        params[1] ? block : { ...block, hash: `0x${String(block["hash"]).slice(2, 60)}facade` },
      )(0);
      await headsWhile(liar, url, { answers: 20 });
      await expectHead(url, chain.blockHashes[47]);
    });

    it.each([
      { what: "another stateRoot", lie: withField("stateRoot", OTHER_HASH) },
      {
        what: "another stateRoot and a field that is not known",
        lie: together(withField("stateRoot", OTHER_HASH), withField("sealFields", ["0x01"])),
      },
    ])(
      "the first node that is usable does not decide alone that headers cannot be proven: $what",
      async ({ lie }) => {
        const chainId = 424_242; // the gateway does not know how its headers hash
        const liar = await startNode(47, { chainId, lie: lie(0) });
        const late: Lie = async ({ method }, said) => {
          if (method === "eth_chainId") await until("the liar told", async () => liar.told > 3);
          return said;
        };
        const honest = await startNode(47, { chainId, lie: late });
        const { url } = await addNetwork({ ...of(liar, honest), chainId });
        await hasFollowed(url, 47);
        expect(await differences(url, chain.url, { from: 44, to: 47 })).toEqual([]);
      },
    );
  });

  describe.concurrent("where proof is", () => {
    const lie = inTransaction("value", "0x7b")(0);

    it("off, is believed", async () => {
      const { url } = await scene({ lie, proof: "off", isAlone: true });
      await hasFollowed(url, 47);
      const { result, headers } = await read(url, "eth_getBlockByNumber", ["0x2f", true]);
      expect(result).toMatchObject({ transactions: [{ value: "0x7b" }, {}, {}, {}] });
      expect(headers.get("x-headgate-proof")).toBe("none");
    });

    it("strict, is not believed, and the honest node is", async () => {
      const { gateway, network, url, liar, honest } = await scene({ lie, proof: "strict" });
      await hasFilled(gateway, network);
      // The liar is so far ahead that it leads now: the gateway asks it for the new blocks.
      liar.head = 47 + GROWTH;
      const seen = await until("the lie is noticed", async () => {
        const report = await reported(gateway, network);
        return report.failures.length > 0 && report;
      });
      expect(seen).toMatchObject({ failures: ["liar transactions root"] });
      if (honest) honest.head = 47 + GROWTH;
      await hasFollowed(url, 47 + GROWTH);
      expect(await differences(url, chain.url, { from: 44, to: 47 + GROWTH })).toEqual([]);
      const { headers } = await read(url, "eth_getBlockByNumber", ["0x32", true]);
      expect(headers.get("x-headgate-proof")).toBe("full");
    });
  });
});

function expectReported({ parts = [] }: Row, story: Story | undefined): void {
  const { told = 0, errors = [], failures = [] } = story ?? {};
  expect(told).toBeGreaterThan(0);
  expect(new Set(errors.map(({ upstream }) => upstream))).toEqual(
    new Set(parts.length > 0 ? ["liar"] : []),
  );
  // The log has one line for each part, however often its proof failed.
  expect(errors.length).toBe(new Set(errors.map(({ part }) => part)).size);
  for (const { part } of errors) expect(parts).toContain(part);
  expect(failures.toSorted()).toEqual(errors.map(({ part }) => `liar ${part}`).toSorted());
}

/** Waits until the gateway answers the block from the store. */
const hasFollowed = (url: string, number: number): Promise<unknown> =>
  until(`block ${number} is followed`, async () => {
    const call = { jsonrpc: "2.0", id: 1, method: "eth_getBlockByNumber" };
    const body = JSON.stringify({ ...call, params: [toQuantity(number), false] });
    const response = await post(url, body);
    await response.text();
    return response.headers.get("x-headgate-source") === "store";
  });

const headOf = async (url: string): Promise<number> =>
  Number((await ask(url, "eth_blockNumber")).result);

/** The calls whose answers differ from the honest node's; blocks above `head` must be null. */
async function differences(
  url: string,
  honestUrl: string,
  { from, to, head = to }: { from: number; to: number; head?: number },
): Promise<string[]> {
  const numbers = Array.from({ length: to - from + 1 }, (_, index) => from + index);
  const perBlock = numbers.map((number) => differencesOf(number, { url, honestUrl, head }));
  const range = { fromBlock: toQuantity(from), toBlock: toQuantity(Math.min(to, head)) };
  const ofLogs = differs({ method: "eth_getLogs", params: [range] }, { url, honestUrl });
  return [...(await Promise.all(perBlock)).flat(), ...(await ofLogs)];
}

async function differencesOf(
  number: number,
  { url, honestUrl, head }: { url: string; honestUrl: string; head: number },
): Promise<string[]> {
  const block = (await honestly(honestUrl, "eth_getBlockByNumber", [
    toQuantity(number),
    false,
  ])) as { hash: string; transactions: string[]; uncles: string[] };
  const isKnown = number <= head;
  const questions = [
    { method: "eth_getBlockByNumber", params: [toQuantity(number), true] },
    ...(isKnown ? [{ method: "eth_getBlockByHash", params: [block.hash, false] }] : []),
    { method: "eth_getBlockReceipts", params: [toQuantity(number)] },
    ...block.uncles.map((_, index) => ({
      method: "eth_getUncleByBlockNumberAndIndex",
      params: [toQuantity(number), toQuantity(index)],
    })),
    ...block.transactions.flatMap((hash) => [
      { method: "eth_getTransactionReceipt", params: [hash] },
      ...(isKnown ? [{ method: "eth_getTransactionByHash", params: [hash] }] : []),
    ]),
  ];
  const found = await Promise.all(
    questions.map((each) => differs(each, { url, honestUrl: isKnown ? honestUrl : undefined })),
  );
  return found.flat();
}

const honestAnswers = new Map<string, Promise<Envelope>>();

/** An answer of the honest node, cached: its chain does not change. */
async function honestly(url: string, method: string, params: readonly unknown[]): Promise<unknown> {
  const question = JSON.stringify([url, method, params]);
  const answer = honestAnswers.get(question) ?? ask(url, method, params);
  honestAnswers.set(question, answer);
  return (await answer).result;
}

async function differs(
  { method, params }: { method: string; params: readonly unknown[] },
  { url, honestUrl }: { url: string; honestUrl: string | undefined },
): Promise<string[]> {
  const given = await ask(url, method, params);
  const honest = honestUrl ? await honestly(honestUrl, method, params) : null;
  const isSame = JSON.stringify(given.result) === JSON.stringify(honest);
  return isSame
    ? []
    : [`${method} ${JSON.stringify(params)}: ${JSON.stringify(given).slice(0, 200)}`];
}

/** The failed proofs of a network in the gateway's log and metrics, once the two agree. */
const reported = (
  gateway: RunningGateway,
  network: string,
): Promise<Pick<Story, "errors" | "failures">> =>
  until("log and metrics agree", async () => {
    const metrics = await metricsOf(gateway);
    const failures = metrics
      .split("\n")
      .filter((line) => line.startsWith(`headgate_proof_failures_total{network="${network}"`))
      .map((line) => /upstream="(.*?)",part="(.*?)"/.exec(line)?.slice(1).join(" ") ?? line);
    const errors = gateway.log
      .filter((line) => line["network"] === network && line["part"] !== undefined)
      .filter(({ level }) => Number(level) >= 50)
      .map(({ upstream, part }) => ({ upstream, part }));
    return failures.length === errors.length && { errors, failures };
  });

const metricsUnderWay = new Map<RunningGateway, Promise<string>>();

/** Shares one request among all that wait: the metrics of so many networks are long. */
function metricsOf(gateway: RunningGateway): Promise<string> {
  const underWay = metricsUnderWay.get(gateway);
  if (underWay !== undefined) return underWay;
  const reading = fetch(gateway.metricsUrl)
    .then((response) => response.text())
    .finally(() => metricsUnderWay.delete(gateway));
  metricsUnderWay.set(gateway, reading);
  return reading;
}

/** Makes one call; returns its answer and headers. */
async function read(
  url: string,
  method: string,
  params: readonly unknown[],
): Promise<Envelope & { headers: Headers }> {
  const response = await post(url, JSON.stringify({ jsonrpc: "2.0", id: 1, method, params }));
  return { ...((await response.json()) as Envelope), headers: response.headers };
}

/** Makes the gateway look for a newer head: a call asks for a future block. */
const hurry = (url: string): Promise<unknown> => {
  const call = { jsonrpc: "2.0", id: 1, method: "eth_getBlockByNumber", params: ["0x3e7", false] };
  return post(url, JSON.stringify([call])).then((response) => response.text());
};

/** The heads that callers see until the node has answered so many more calls. */
async function headsWhile(
  node: LyingNode,
  url: string,
  { answers }: { answers: number },
): Promise<number[]> {
  const last = node.answered + answers;
  const heads: number[] = [];
  await until("the node was asked", async () => {
    await hurry(url);
    heads.push(await headOf(url));
    return node.answered >= last;
  });
  return heads;
}

async function transactionAt(url: string, number: number): Promise<string> {
  const { result } = await ask(url, "eth_getBlockByNumber", [toQuantity(number), false]);
  return String((result as Block).transactions[0]);
}

/** The error for a block that nodes gave, but none with a valid proof. */
const UNPROVEN = {
  code: -32603,
  message: "no upstream gave this block in a form that can be proven",
};

const hasFilled = (gateway: RunningGateway, filled: string): Promise<unknown> =>
  until("the window is filled", async () =>
    gateway.log.some(({ msg, network }) => msg === "the window is filled" && network === filled),
  );

async function expectHead(url: string, hash: string | undefined): Promise<void> {
  const { result, headers } = await read(url, "eth_getBlockByNumber", ["latest", false]);
  expect({ result, source: headers.get("x-headgate-source") }).toMatchObject({
    result: { hash },
    source: "store",
  });
}
