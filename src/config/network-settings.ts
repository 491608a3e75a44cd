// The settings of one network: its family, its upstreams, the served methods, their limits, and the distribution of calls
// over the upstreams.
import { z } from "zod";
import { GROUPS, type MethodGroupName, whyItOpensNothing } from "../namespaces/known-methods.ts";
import {
  amount,
  byteSize,
  duration,
  inMs,
  METHOD_OR_PATTERN,
  mappingOf,
  oneOf,
  textOf,
  wholeNumber,
} from "./units.ts";
import { upstreams } from "./upstream-settings.ts";

const familyDefaults = {
  evm: { allow: ["eth_*", "net_*", "web3_*", "trace_*"], blocks: 10_000, results: 10_000 },
  // Conflux's specification has no widest range of epochs; 5000 results is the default of its nodes.
  conflux: { allow: ["cfx_*", "pos_*"], blocks: undefined, results: 5000 },
};

const pattern = textOf(METHOD_OR_PATTERN, "a method or a pattern such as eth_*");

const methods = z.strictObject({
  allow: z
    .array(
      pattern.superRefine((text, context) => {
        const message = whyItOpensNothing(text);
        if (message !== undefined) context.addIssue({ code: "custom", message });
      }),
    )
    .optional()
    .describe(
      "The methods that are open, or patterns, which open reads and writes only. Left out: eth_*, net_*, web3_*, trace_* (evm); cfx_*, pos_* (conflux).",
    ),
  groups: z
    .array(z.enum(Object.keys(GROUPS) as MethodGroupName[]))
    .prefault([])
    .describe(
      "Groups of read methods that are open as well: debugTrace (debug_trace*), debugRaw (debug_getRaw*), txpool (txpool_*).",
    ),
  deny: z.array(pattern).prefault([]).describe("Methods, or patterns, that are closed again."),
});

const limits = z.strictObject({
  logs: z
    .strictObject({
      blocks: wholeNumber(1)
        .optional()
        .describe(
          "The widest range of one log query, in blocks or epochs. Left out: 10000 (evm), any range (conflux).",
        ),
      results: wholeNumber(1)
        .optional()
        .describe("The most logs in one answer. Left out: 10000 (evm), 5000 (conflux)."),
    })
    .prefault({})
    .describe("Limits of log queries."),
  traces: z
    .strictObject({
      steps: wholeNumber(1).prefault(2_500_000).describe("The most steps of one vmTrace."),
      bytes: byteSize
        .prefault("512MiB")
        .describe(
          "The longest text of one vmTrace; no JavaScript client can read more than 512MiB.",
        ),
      blocks: wholeNumber(1)
        .prefault(100)
        .describe(
          "The widest range, in blocks, of a trace_filter that the gateway puts together; nodes that have the method have limits of their own.",
        ),
      refunds: z
        .boolean()
        .prefault(true)
        .describe(
          "Whether a node that has only debug_* runs a transaction a second time, to find the gas that its top call used before refunds. If false, traces have the gas that the sender paid.",
        ),
    })
    .prefault({})
    .describe("Limits of traces."),
  receipts: z
    .strictObject({
      wait: duration
        .prefault("2s")
        .describe(
          "The time for which it waits when its caller names none (EIP-7966 recommends 2s).",
        ),
      most: duration
        .prefault("1m")
        .describe(
          "The longest time for which it waits, whatever its caller names; timeouts.call may end before.",
        ),
    })
    .prefault({})
    .transform(inMs)
    .describe("How long eth_sendRawTransactionSync waits for a receipt."),
  upstreamCalls: wholeNumber(1)
    .prefault(200)
    .describe(
      "The most times that one call may ask the nodes, such as for a log query that nodes take only in pieces. Each member of a batch has this limit; all members together have five times as much beyond the first request of each.",
    ),
  block: z
    .strictObject({
      bytes: byteSize
        .prefault("64MiB")
        .describe(
          "The most bytes of the block's JSON with whole transactions, and as many again of the JSON of its receipts.",
        ),
      transactions: wholeNumber(1)
        .prefault(100_000)
        .describe("The most transactions of the block."),
      logs: wholeNumber(1).prefault(250_000).describe("The most logs of the block."),
    })
    .prefault({})
    .describe(
      "The largest block, or epoch, that is followed and stored; the gateway follows the chain anew above a larger one.",
    ),
  response: byteSize.prefault("256MiB").describe("The largest answer of an upstream."),
});

const window = z.strictObject({
  blocks: wholeNumber(0)
    .prefault(10_000)
    .describe(
      "The number of newest blocks that are followed and stored; 0: no chain is followed, and every call is passed on.",
    ),
  size: byteSize
    .prefault("8GiB")
    .describe("The most bytes of the store on disk; the oldest blocks leave first."),
});

const hedging = z
  .strictObject({
    share: amount(0, 1)
      .prefault(0.1)
      .describe("The largest share of all calls that is given to a second node as well; 0: none."),
    least: duration
      .prefault("25ms")
      .describe("The least time that a call waits for its node before a hedge."),
    most: duration
      .prefault("2s")
      .describe("The most time that a call waits for its node before a hedge."),
  })
  .describe(
    "Hedges: a call that takes longer than its method's 95th percentile is given to a second node as well.",
  )
  .transform(({ share, least, most }) => ({ share, leastMs: least, mostMs: most }));

const rule = z
  .strictObject({
    ask: wholeNumber(2, 10)
      .prefault(3)
      .describe("The number of nodes that are asked, of different vendors."),
    agree: wholeNumber(2, 10)
      .prefault(2)
      .describe("The number of these nodes that must give the same answer."),
  })
  .refine(({ ask, agree }) => agree <= ask, { error: "agree must not be greater than ask" });

/** Quorums by method or pattern; the first entry that fits decides. */
const agreement = mappingOf(
  METHOD_OR_PATTERN,
  rule,
  "one of the names is neither a method nor a pattern such as eth_*",
).describe(
  "Methods, or patterns, on whose answers several vendors must agree, since no proof can check these answers.",
);

const host = textOf(
  /^[A-Za-z0-9_]([A-Za-z0-9_-]*[A-Za-z0-9_])?(\.[A-Za-z0-9_]([A-Za-z0-9_-]*[A-Za-z0-9_])?)*$/,
  "a host name without scheme, port and path",
).transform((text) => text.toLowerCase());

/** A network as it is written in the file. */
const written = z.strictObject({
  family: oneOf("evm", "conflux")
    .optional()
    .describe(
      "The kind of network: evm (eth_*) or conflux (cfx_*). Left out: the family of the chain id, or else of the nodes.",
    ),
  chainId: wholeNumber(1)
    .optional()
    .describe(
      "The chain id, which is checked against every upstream. Left out: the chain of the network's name, if that is a known name; else the chain that the nodes report at first, which is kept.",
    ),
  hosts: z
    .array(host)
    .optional()
    .describe(
      "The network's host names. Left out: any host whose first label is the network's name.",
    ),
  upstreams: upstreams.describe("The nodes and providers of the network."),
  window: window.prefault({}).describe("The window: the recent blocks that are stored."),
  proof: oneOf("strict", "available", "off")
    .prefault("available")
    .describe(
      "The parts of a block that must be proven against its hash: all (strict), those that the network's encoding allows (available), or none (off).",
    ),
  limits: limits.prefault({}).describe("Limits of this network."),
  methods: methods.prefault({}).describe("The methods that are served."),
  hedging: hedging.prefault({}),
  agreement: agreement.prefault({}),
  toleratedLag: wholeNumber(0)
    .prefault(1)
    .describe(
      "The number of blocks that a node may be behind the best one and still be asked like it.",
    ),
  totalDifficulty: textOf(
    /^0x(0|[1-9A-Fa-f][0-9A-Fa-f]{0,63})$/,
    "a hex quantity without leading zeros, such as 0xc70d808a128d7380000",
  )
    .optional()
    .describe(
      "The final total difficulty, which is added to old blocks where the node leaves it out.",
    ),
  pending: oneOf("specified", "node")
    .prefault("specified")
    .describe(
      "The number and logsBloom of a pending block: null (specified), or the node's own values (node), for clients that accept no null there.",
    ),
  broadcast: wholeNumber(1, 10)
    .optional()
    .describe(
      "The number of upstreams to which a transaction is sent at once, without private ones. Left out: one; in a network with private upstreams, only these.",
    ),
  headAge: z
    .union([duration, z.literal("off")], {
      error: "expected a duration such as 500ms, 30s, 5m or 24h, or off",
    })
    .optional()
    .describe(
      "The network counts as not ready when its newest block is older than this. Left out: 20 block times, at least 2m, where blocks came regularly for half an hour; off: any age is accepted.",
    ),
  staleAfter: duration
    .optional()
    .describe(
      "The network counts as not ready, and nodes are asked for the newest block, when no node has confirmed the followed head for this long. Left out: 5 block times, from 10s to 1m.",
    ),
});

/** Stands for the chain id of a network whose chain is not known yet. */
export const UNKNOWN_CHAIN = 0;

/** The settings that `defaults` may set for all networks. */
export const networkDefaults = written
  .omit({ family: true, chainId: true, hosts: true, upstreams: true })
  .partial();

/** One entry of `networks`. */
export const network = written.transform(
  ({
    headAge,
    staleAfter,
    limits: { response, ...limitsOf },
    family = "evm",
    chainId = UNKNOWN_CHAIN,
    ...settings
  }) => {
    const { allow, blocks, results } = familyDefaults[family];
    const { logs } = limitsOf;
    return {
      family,
      chainId,
      ...settings,
      limits: {
        ...limitsOf,
        logs: { blocks: logs.blocks ?? blocks, results: logs.results ?? results },
        responseBytes: response,
      },
      methods: { ...settings.methods, allow: settings.methods.allow ?? allow },
      ...(headAge === undefined
        ? {}
        : { headAgeMs: headAge === "off" ? Number.POSITIVE_INFINITY : headAge }),
      ...(staleAfter === undefined ? {} : { staleAfterMs: staleAfter }),
    };
  },
);
