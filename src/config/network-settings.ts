// The settings of one network: its family, its upstreams, the served methods, their limits, and the distribution of calls
// over the upstreams.
import { z } from "zod";
import { GROUPS, type MethodGroupName, whyItOpensNothing } from "../namespaces/known-methods.ts";
import {
  amount,
  byteSize,
  duration,
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
      "Reads that are open beside those: debugTrace (debug_trace*), debugRaw (debug_getRaw*), txpool (txpool_*).",
    ),
  deny: z.array(pattern).prefault([]).describe("What is taken out of that again."),
});

const limits = z.strictObject({
  logs: z
    .strictObject({
      blocks: wholeNumber(1)
        .optional()
        .describe(
          "The widest range of one log query, in blocks or epochs. Left out: 10000 (evm), any (conflux).",
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
          "The widest range of one trace_filter that is put together here, in blocks; nodes that have the method have limits of their own.",
        ),
      refunds: z
        .boolean()
        .prefault(true)
        .describe(
          "Whether a node that has only debug_* runs a transaction a second time, to tell what its top call used before refunds. Without, it is what the sender paid.",
        ),
    })
    .prefault({})
    .describe("Limits of traces."),
  upstreamCalls: wholeNumber(1)
    .prefault(200)
    .describe(
      "How often one call may ask the nodes, such as for a log query that these take in pieces only; of a batch each member, and all together five times as much beyond their first questions.",
    ),
  block: z
    .strictObject({
      bytes: byteSize
        .prefault("64MiB")
        .describe("Of its JSON with whole transactions, and of that of its receipts: each."),
      transactions: wholeNumber(1).prefault(100_000).describe("How many transactions it has."),
      logs: wholeNumber(1).prefault(250_000).describe("How many logs it has."),
    })
    .prefault({})
    .describe(
      "The largest block, or epoch, that is followed and stored; the chain is followed anew above a larger one.",
    ),
  response: byteSize.prefault("256MiB").describe("The largest answer of an upstream."),
});

const window = z.strictObject({
  blocks: wholeNumber(0)
    .prefault(10_000)
    .describe("How many of the newest blocks; 0: nothing is followed, every call is passed on."),
  size: byteSize
    .prefault("8GiB")
    .describe("What the store may take on disk; the oldest blocks leave first."),
});

const hedging = z
  .strictObject({
    share: amount(0, 1)
      .prefault(0.1)
      .describe("At most so many calls, as a share of all, are given to a second node; 0: none."),
    least: duration.prefault("25ms").describe("A call waits for its node at least so long."),
    most: duration.prefault("2s").describe("And at most so long."),
  })
  .describe("A call that takes longer than the method's 95th percentile is asked of a second node.")
  .transform(({ share, least, most }) => ({ share, leastMs: least, mostMs: most }));

const rule = z
  .strictObject({
    ask: wholeNumber(2, 10).prefault(3).describe("How many nodes are asked, of different vendors."),
    agree: wholeNumber(2, 10).prefault(2).describe("How many of them must give the same answer."),
  })
  .refine(({ ask, agree }) => agree <= ask, { error: "cannot want more to agree than are asked" });

/** Quorums by method or pattern; the first entry that fits decides. */
const agreement = mappingOf(
  METHOD_OR_PATTERN,
  rule,
  "one of the names is no method and no pattern such as eth_*",
).describe(
  "Methods, or patterns, whose answers count when several vendors give the same, since nothing proves them.",
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
      "Which kind of network: evm (eth_*) or conflux (cfx_*). Left out: what goes with the chain id; else what the nodes are.",
    ),
  chainId: wholeNumber(1)
    .optional()
    .describe(
      "Checked against every upstream. Left out: the chain of the network's name, where it is a known one; else what the nodes say at first, which is kept.",
    ),
  hosts: z
    .array(host)
    .optional()
    .describe("Its host names. Left out: any host whose first label is the network's name."),
  upstreams: upstreams.describe("The nodes and providers behind it."),
  window: window.prefault({}).describe("What the block store keeps."),
  proof: oneOf("strict", "available", "off")
    .prefault("available")
    .describe(
      "What of a block must be proven against its hash: all (strict), what the network's encoding allows (available), nothing (off).",
    ),
  limits: limits.prefault({}).describe("Limits of this network."),
  methods: methods.prefault({}).describe("Which methods are served."),
  hedging: hedging.prefault({}),
  agreement: agreement.prefault({}),
  toleratedLag: wholeNumber(0)
    .prefault(1)
    .describe("How many blocks a node may be behind the best one and still be asked like it."),
  totalDifficulty: textOf(
    /^0x(0|[1-9A-Fa-f][0-9A-Fa-f]{0,63})$/,
    "a hex quantity without leading zeros, such as 0xc70d808a128d7380000",
  )
    .optional()
    .describe("The final total difficulty, added to old blocks where the node leaves it out."),
  pending: oneOf("specified", "node")
    .prefault("specified")
    .describe(
      "What a pending block has as its number and logsBloom: null (specified), or what the node says (node), for clients that take no null there.",
    ),
  broadcast: wholeNumber(1, 10)
    .optional()
    .describe(
      "To how many upstreams a transaction is sent at once, private ones left out. Left out: to one; where there are private ones, to these alone.",
    ),
  headAge: z
    .union([duration, z.literal("off")], {
      error: "expected a duration such as 500ms, 30s, 5m or 24h, or off",
    })
    .optional()
    .describe(
      "How old the newest block may be before the network counts as not ready. Left out: 20 block times, at least 2m, where blocks came regularly for half an hour; off: as old as it is.",
    ),
  staleAfter: duration
    .optional()
    .describe(
      "How long no node may confirm the followed head before the network counts as not ready, and nodes are asked for what is newest. Left out: 5 block times, 10s to 1m.",
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
