// Recorded error texts of nodes and providers: samples for each row of the table of dialects, in its order.

/** The recorded code (undefined: the text is the whole body), message, HTTP status if not 200, and method. */
export type Sample = readonly [
  code: number | undefined,
  text: string,
  status?: number,
  method?: string,
];

/** `of`: the same as in the row. */
type Samples = { readonly of: readonly string[]; readonly samples: readonly Sample[] };

export const DIALECT_SAMPLES: readonly Samples[] = [
  // LACKING_BLOCKS
  {
    of: ["geth", "erigon", "reth", "Alchemy", "Infura", "QuickNode"],
    samples: [
      [-32000, "header not found"],
      [-32000, "header for hash not found"],
      [-32000, "unknown block"],
      [-32001, "block not found: 0xffff"],
      [-32001, "header range not found, start block 1, end block 2: start block: 1, end block: 2"],
      [-39001, "Unknown block"],
    ],
  },
  {
    of: ["geth", "besu", "nethermind", "Sei"],
    samples: [
      [-32000, "finalized block not found"],
      [-32000, "block #17000000 not found"],
      [-32000, "Parent block not found"],
      [-32001, "Block 0x1111 could not be found"],
      [-32000, "4294967295 could not be found"],
      [-32000, "could not find block for height 826401374464"],
      [
        -32000,
        "One of the blocks specified in filter (fromBlock, toBlock or blockHash) cannot be found.",
      ],
    ],
  },
  {
    of: ["geth", "reth", "erigon"],
    samples: [
      [-32000, "block range extends beyond current head block"],
      [-32602, "block range extends beyond current head block: requested 200, head 100"],
    ],
  },
  {
    of: ["geth"],
    samples: [
      [-32000, "hash 0x1111 is not currently canonical"],
      [-32000, "pending block is not available"],
    ],
  },
  {
    of: ["anvil", "OnFinality", "conflux-rust"],
    samples: [
      [-32602, "BlockOutOfRangeError: block height is 0 but requested was 65535"],
      [-32602, "Unknown block number"],
      [-32602, "Invalid params: expected a numbers with less than largest epoch number."],
      [
        -32016,
        "Error processing request: Filter error: Invalid params: expected a numbers with less than largest epoch number.",
      ],
      [
        -32016,
        "Error processing request: Msg error detail: Invalid params: expected a numbers with less than largest epoch number.",
      ],
    ],
  },
  {
    of: ["conflux-rust"],
    samples: [
      [-32016, "Error processing request: Filter error: Unable to identify block 0x1111"],
      [
        -32016,
        "Error processing request: Epoch 200 is not executed, the latest state epoch is 100",
      ],
    ],
  },
  {
    of: ["proxyd", "Avalanche", "Cosmos chains", "providers"],
    samples: [
      [-32019, "block is out of range"],
      [-32000, "cannot query unfinalized data"],
      [-32000, "height 900 must be less than or equal to the current blockchain height 800"],
      [-32000, "requested from block 900 after last accepted block 800"],
      [-32603, "upstream does not have the requested block yet"],
    ],
  },
  {
    of: ["Substrate chains", "Kaia", "Sonic", "nodes that say where their head is"],
    samples: [
      [-32603, "Expect block number from id: 5"],
      [-32000, "block height passed is invalid"],
      [-32000, "invalid block height"],
      [-32000, "could not find FinalizeBlock 5"],
      [-32000, "block number greater than latest"],
      [-32603, "request beyond head block"],
    ],
  },
  // LACKING_STATE
  {
    of: ["dRPC"],
    samples: [
      [
        1,
        "no available upstreams to process a request. Cause - Upstream lower height 9 of type STATE is greater than 8",
      ],
    ],
  },
  {
    of: ["geth", "nethermind", "Cloudflare", "1RPC"],
    samples: [
      [-32000, "missing trie node b797f6379be0 (path ) state 0x5aaa is not available, not found"],
      [-32000, "required historical state unavailable (reexec=128)"],
      [-32000, "historical state 0x5aaa is not available"],
      [-32000, "state 0x5aaa is not available"],
    ],
  },
  {
    of: ["reth", "geth", "nethermind", "besu"],
    samples: [
      [-32000, "state at block #1000 is pruned"],
      [-32603, "no state found for block number 49107280"],
      [-32002, "No state available for block 0x11"],
      [-32000, "World state unavailable"],
    ],
  },
  {
    of: ["erigon", "OpenEthereum"],
    samples: [
      [-32000, "old data not available due to pruning: requested block 1"],
      [
        -32000,
        "This request is not supported because your node is running with state pruning. Run with --pruning=archive.",
      ],
    ],
  },
  {
    of: ["reth", "geth", "providers"],
    samples: [
      [-32602, "distance to target block exceeds maximum proof window"],
      [
        -32000,
        "requested block is too old, block must be within 100000 blocks of the head block number (currently 22237523)",
      ],
    ],
  },
  {
    of: ["conflux-rust"],
    samples: [
      [
        -32016,
        "Error processing request: State for epoch (number=2119943 hash=0xd1) does not exist: out-of-bound StateAvailabilityBoundary { lower_bound: 2160001 }",
      ],
    ],
  },
  {
    of: ["Chainstack", "publicnode", "Infura"],
    samples: [
      [-32002, "Archive, Debug and Trace requests are not available on your current plan.", 403],
      [
        -32602,
        "Archive requests require a personal token. Get one at: https://www.allnodes.com/publicnode",
        403,
      ],
      [-32002, "project ID does not have access to archive state"],
    ],
  },
  {
    of: ["Kava", "Cronos", "Evmos", "Sei", "0g", "THORChain", "other Cosmos chains"],
    samples: [
      [-32000, "failed to load state at height 5; no commit info found (latest height: 100)"],
      [-32000, "no commit info found"],
      [
        -32000,
        "failed to load state at height 5; version does not exist. Version has either been pruned, or is for a future block height",
      ],
      [-32603, "version does not exist"],
      [-32000, "couldn't fetch balance. Node state is pruned"],
      [-32000, "evm module does not exist on height 5"],
      [
        -32603,
        "rpc error: code = InvalidArgument desc = failed to load state at height 5: invalid request",
      ],
    ],
  },
  {
    of: ["op-geth", "celo", "other rollups"],
    samples: [
      [-32000, "historical backend error: 403 Forbidden: archive only"],
      [
        -32801,
        "no historical RPC is available for this historical (pre-bedrock) execution request",
      ],
    ],
  },
  {
    of: ["geth", "Avalanche", "bsc", "erigon", "databases of nodes"],
    samples: [
      [-32000, "leveldb: not found"],
      [-32000, "pebble: not found"],
      [-32000, "empty reader set"],
      [-32000, "unexpected state root"],
      [-32000, "missing state in chain db, block number 5"],
      [-32000, "missing account trie node"],
      [-32000, "stateRoot missing"],
      [-32000, "requested block is before the snapshot"],
    ],
  },
  {
    of: ["Moonbeam", "Moonriver", "other Substrate chains"],
    samples: [
      [-32603, "State already discarded for BlockId::Hash(0x11)"],
      [4003, "State already discarded for 0x2f0555cc"],
      [-32603, "UnknownBlock: Expect block number from id: BlockId::Hash(0x11)"],
      [-32603, "metadata is not found"],
    ],
  },
  {
    of: ["Filecoin"],
    samples: [
      [-32000, "failed to compute tipset state: 5"],
      [1, "bad tipset height: lookbacks of more than 16h40m0s are disallowed"],
      [1, "load state tree: failed to load state tree bafy"],
      [1, "error loading messages for tipset"],
    ],
  },
  {
    of: ["Arbitrum", "Avalanche", "Conflux", "nodes that tell their oldest block"],
    samples: [
      [-32000, "block 5 is not available, lowest height is 100"],
      [-32000, "height 5 is not available, lowest height is 100"],
      [-32000, "block number 5 is before the oldest allowed block 100"],
      [-32000, "Requested block 5 but it out-of-bounds"],
      [-32000, "unsupported block number 5"],
      [-32603, "block 5 is too old"],
      [-32000, "This block is out of history range"],
      [-32000, "the block is no longer available on this node"],
      [-32000, "requested block is out of the node's history"],
      [-32000, "height 5 is lower than the base height 100"],
      [-32000, "only last 128 blocks are available"],
    ],
  },
  {
    of: ["Tron", "nodes of the newest state alone"],
    samples: [
      [-32602, "QUANTITY not supported, just support TAG as latest"],
      [-32000, "only the latest block is supported"],
      [-32000, "this node only keeps recent blocks"],
    ],
  },
  {
    of: ["Chainstack", "Alchemy", "QuickNode", "Fantom", "providers without archives"],
    samples: [
      [
        -32002,
        "Access to archival, debug, or trace data is not included in your current plan. Upgrade to Growth or higher.",
        403,
      ],
      [-32000, "this state does not maintain archive data"],
      [-32000, "You need an archive node for this request"],
      [-32602, "archive data requires an upgrade"],
    ],
  },
  {
    of: ["nodes that name the state"],
    samples: [
      [-32000, "state purged for block 5"],
      [-32000, "State not found for block 5"],
      [-32000, "historical state not available in path scheme yet"],
      [-32000, "historical data is not available for this request"],
      [-32000, "could not open state at block 5"],
      [-32602, "state of block 5 is no longer stored"],
      [-32000, "the world state of 0x11 was deleted"],
      [-32000, "No state data"],
      [-32603, "could not retrieve state"],
      [-32000, "eth_call on historical blocks is not supported"],
      [-32000, "ancient block sync is still in progress"],
    ],
  },
  // LACKING_HISTORY
  {
    of: ["EIP-4444", "reth", "nethermind", "geth"],
    samples: [
      [4444, "pruned history unavailable"],
      [4444, "Pruned history unavailable"],
    ],
  },
  {
    of: ["geth", "nethermind", "X Layer", "Arc"],
    samples: [
      [-32000, "pruned history unavailable: requested 1, earliest available 2"],
      [-32000, "transaction indexing is in progress"],
      [-32000, "block history has been pruned"],
    ],
  },
  {
    of: ["nethermind"],
    samples: [
      [
        -32602,
        "Receipts for block 5 (0x11) are neither stored nor reproducible from state history.",
      ],
    ],
  },
  {
    of: ["besu", "erigon", "reth", "Sei"],
    samples: [
      [-32000, "receipts for block 5 have been pruned"],
      [-32000, "requested height has been pruned"],
      [-32016, "Error processing request: Filter error: Block 0x11 has been pruned from db"],
    ],
  },
  {
    of: ["conflux-rust"],
    samples: [
      [
        -32016,
        "Error processing request: Filter error: Epoch is smaller than the earliest epoch stored (epoch: 1, min: 2)",
      ],
    ],
  },
  {
    of: ["dRPC"],
    samples: [
      [
        1,
        "no available upstreams to process a request. Cause - Upstream lower height 42810022 of type RECEIPTS is greater than 35662252",
      ],
    ],
  },
  {
    of: ["Avalanche", "Hedera", "Moonbeam", "Sonic", "zkSync", "nodes that name the data"],
    samples: [
      [-32000, "body not found for block 5"],
      [-32000, "Receipt not available for 'From' block"],
      [-32000, "receipts are missing for block 0x11"],
      [-32000, "No receipts data"],
      [-32000, "no transactions snapshot file for 5"],
      [-32014, "requested data is not available"],
      [-32000, "no data at block 5"],
      [-32000, "data for block 5 is unavailable"],
      [-32000, "block body missing"],
      [-32000, "rpc error: code = Unknown desc = no receipts data"],
    ],
  },
  {
    of: ["nodes that prune"],
    samples: [
      [-32000, "data for this height was removed by pruning"],
      [-32000, "pruned: 5"],
    ],
  },
  // UNIVERSAL_REFUSALS
  {
    of: ["Infura", "geth", "nethermind", "Alchemy", "1RPC", "Cloudflare"],
    samples: [
      [
        -32005,
        "query returned more than 10000 results. Try with this block range [0xCB3D, 0x7B737].",
      ],
      [-32005, "query timeout exceeded"],
      [-32000, "query exceeds max results 20000, retry with the range 1-2"],
      [-32000, "response size should not greater than 2097152 bytes"],
      [-32003, "response too large"],
      [-32000, "Please, specify less number of addresses"],
      [-32000, "Please specify less number of addresses. (max 50)"],
      [-32600, "Response size is larger than 150MB limit", 400],
      [-32000, "invalid request: max allowed of rounds in logs query is: 100"],
      [-32000, "GetLogs query must be smaller than size 1024"],
      [-32000, "This query contains 5006 filters. The current limit is 5000."],
    ],
  },
  {
    of: ["BNB Smart Chain"],
    samples: [[-32005, "limit exceeded", 200, "eth_getLogs"]],
  },
  {
    of: ["dRPC", "QuickNode", "LlamaRPC", "BlockPI", "Alchemy", "GetBlock", "besu"],
    samples: [
      [35, "ranges over 10000 blocks are not supported on freetier", 400],
      [-32614, "eth_getLogs is limited to a 10,000 range", 413],
      [-32603, "eth_getLogs range is too large, max is 1k blocks"],
      [-32602, "eth_getLogs is limited to 1024 block range"],
      [
        -32600,
        "Under the Free tier plan, you can make eth_getLogs requests with up to a 10 block range.",
      ],
      [-32000, "Block range limit exceeded. See more details at https://docs.blockpi.io/"],
      [-32005, "Requested range exceeds maximum RPC range limit"],
      [
        -32047,
        "Invalid eth_getLogs request. 'fromBlock'-'toBlock' range too large. Max range: 800",
      ],
    ],
  },
  {
    of: ["publicnode"],
    samples: [
      [
        -32701,
        "Please specify an address in your request or, to remove restrictions, order a dedicated full node here: https://www.allnodes.com/eth/host",
      ],
    ],
  },
  {
    of: ["geth", "besu", "reth", "nethermind", "QuickNode"],
    samples: [
      [-32000, "nonce too low: next nonce 5, tx nonce 4"],
      [-32000, "already known"],
      [-32000, "in-flight transaction limit reached for delegated accounts"],
      [-32004, "Upfront cost exceeds account balance"],
      [-32005, "Transaction gas limit exceeds block gas limit"],
      [-32007, "Sender account not authorized to send transactions"],
      [-32009, "Gas price below configured minimum gas price"],
      [-32010, "Transaction cost exceeds current gas limit. Limit: 30000000, got: 40000000."],
    ],
  },
  {
    of: ["geth", "reth", "besu", "anvil"],
    samples: [
      [-32000, "filter not found"],
      [-32000, "Logs filter not found"],
      [-32000, "transaction not found"],
      [-32000, "transaction type not supported"],
      [-32000, "rlp: value size exceeds available input length"],
    ],
  },
  {
    of: ["geth", "reth", "erigon", "nethermind", "besu", "parsers of parameters"],
    samples: [
      [-32000, "out of gas"],
      [-32000, "stack underflow (0 <=> 1)"],
      [-32000, "invalid jump destination"],
      [-32000, "EVM error: InvalidJump"],
      [-32000, "write protection"],
      [-32000, "contract address collision"],
      [-32000, "max code size exceeded"],
      [-32000, "gas uint64 overflow"],
      [-32000, "genesis is not traceable"],
      [-32000, "tracer not found"],
      [-32000, "missing required field 'from' in transaction args"],
      [-32000, "json: cannot unmarshal string into Go value of type int"],
      [-32000, "hex string without 0x prefix"],
    ],
  },
  {
    of: ["jsonrpsee", "1RPC", "proxyd"],
    samples: [
      [-32007, "Request is too big"],
      [-32008, "Response is too big"],
      [-32600, "JSON RPC Request is too large"],
      [-32014, "too many RPC calls in batch request"],
    ],
  },
  // BUSY_NODES
  {
    of: ["Alchemy", "Tenderly", "QuickNode", "GetBlock", "Moralis", "dRPC"],
    samples: [
      [
        429,
        "Monthly capacity limit exceeded. Visit https://dashboard.alchemy.com/settings/billing to upgrade your scaling policy for continued service.",
      ],
      [429, "Monthly capacity limit exceeded", 429],
      [37, "User monthly free request limit has been reached"],
      [-32007, "daily request limit reached - upgrade your account at quicknode.com"],
      [-32005, "You've reached the quota limit for your current plan."],
    ],
  },
  {
    of: ["Infura", "InfStones", "BlockVision", "Blast"],
    samples: [
      [-32005, "daily request count exceeded, request rate limited"],
      [-2041, "Exceed daily request cost limit of ethereum"],
      [-32607, "The call limit has been reached, please upgrade your subscript"],
      [-32098, "Capacity exceeded", 403],
    ],
  },
  {
    of: ["1RPC", "proxies"],
    samples: [
      [
        -32001,
        "You've reached the usage limit for your current plan. To continue with higher limits and uninterrupted access, please upgrade here: https://www.1rpc.io/#pricing",
      ],
      [-32005, "compute unit quota exceeded"],
    ],
  },
  {
    of: ["providers"],
    samples: [[undefined, '{"message":"account suspended"}', 402]],
  },
  {
    of: ["Alchemy", "Unifra", "QuickNode", "OnFinality", "Wetez", "Cloudflare"],
    samples: [
      [429, "Your app has exceeded its compute units per second capacity."],
      [429, "The requests per second (RPS) of your requests are higher than your plan allows."],
    ],
  },
  {
    of: ["Blast", "conflux-rust"],
    samples: [
      [-32097, "Rate limit reached"],
      [-32072, "Request rejected."],
    ],
  },
  {
    of: ["QuickNode"],
    samples: [
      [
        -32007,
        "endpoint hit 30/second request limit reached - reduce calls per second or upgrade your account at quicknode.com",
      ],
      [-32009, "trace requests limited to 10/sec"],
      [-32012, "credits limited to 6000/sec"],
    ],
  },
  {
    of: ["jsonrpsee", "nethermind", "proxyd"],
    samples: [
      [-32009, "Server is busy, try again later"],
      [
        -32005,
        "Unable to start new queued requests for IEthRpcModule. Too many queued requests. Queued calls 500.",
      ],
      [-32012, "backend is over capacity"],
    ],
  },
  {
    of: [
      "Infura",
      "Chainstack",
      "Ankr",
      "nethermind",
      "dRPC",
      "proxyd",
      "OnFinality",
      "conflux-rust",
      "Kong",
    ],
    samples: [
      [-32005, "project ID request rate exceeded"],
      [-32005, "You've exceeded the RPS limit available on the current plan."],
      [-32090, "Too many requests, reason: call rate limit exhausted, retry in 10s"],
      [-32005, "Too many requests"],
      [15, "Too many request, try again later"],
      [-32016, "over rate limit"],
      [-32017, "sender is over rate limit"],
      [
        -32029,
        "Too Many Requests, Please apply an OnFinality API key or contact us to receive a higher rate limit",
      ],
      [-32000, "requests limited to 100/sec"],
      [-32605, "Rate Limit"],
      [-2043, "Exceed rate limit"],
      [-32005, "limit exceeded"],
      [undefined, '{"message":"API rate limit exceeded"}'],
      [undefined, "error code: 1015, you are being rate limited", 503],
    ],
  },
  // UNPAID_METHODS
  {
    of: ["Alchemy"],
    samples: [
      [
        -32600,
        "Unsupported method: eth_unsupportedCall. See available methods at https://docs.alchemy.com/alchemy/documentation/apis",
        400,
      ],
      [
        -32600,
        "eth_baseFee is not available on the ETH_MAINNET. For more information see our docs: https://docs.alchemy.com/alchemy/documentation/apis/ethereum",
      ],
      [
        -32600,
        "trace_block is not available on the Free tier - upgrade to Pay As You Go, or Enterprise for access.",
        403,
      ],
    ],
  },
  {
    of: ["dRPC"],
    samples: [
      [35, "method is not available on freetier, please upgrade to paid tier", 400],
      [23, "Unsupported subscription: newHeads"],
    ],
  },
  {
    of: ["QuickNode"],
    samples: [[-32612, "custom trace not found in allowed custom traces", 403]],
  },
  {
    of: ["Unifra", "Ankr", "Blast", "InfStones"],
    samples: [
      [-32603, "method debug_traceTransaction requires paid tier"],
      [-2031, "[trace_block] Not Allowed", 403],
      [-32000, "this method is only available on paid plans"],
    ],
  },
  // LACKING_METHODS
  {
    of: ["JSON-RPC 2.0"],
    samples: [
      [-32601, "the method trace_get does not exist/is not available"],
      [-32601, "Method not found"],
      [-32601, "Unsupported method: eth_compileLLL"],
      [-32601, "Method not found", 403],
      [-32601, "Method not found", 404],
    ],
  },
  {
    of: ["anvil"],
    samples: [
      [
        -32602,
        "data did not match any variant of untagged enum EthRpcCall",
        200,
        "eth_getTransactionReceiptsByBlock",
      ],
      [-32602, "data did not match any variant of untagged enum EthRpcCall", 200, "trace_get"],
    ],
  },
  {
    of: ["conflux-rust"],
    samples: [[-32090, "Subscriptions are not available on this transport.", 200, "cfx_subscribe"]],
  },
  {
    of: ["EIP-1474", "Infura", "Tenderly"],
    samples: [
      [-32004, "method not supported"],
      [-32004, "This request method is not supported"],
    ],
  },
  {
    of: ["besu"],
    samples: [
      [-32604, "Method not enabled"],
      [
        -32604,
        "The method eth_sendTransaction is not supported. Use eth_sendRawTransaction to send a signed transaction to Besu.",
      ],
    ],
  },
  {
    of: ["besu"],
    samples: [
      [
        -32002,
        "Transaction pool not enabled. (Either txpool explicitly disabled, or node not yet in sync).",
      ],
    ],
  },
  {
    of: ["erigon", "conflux-rust", "parity"],
    samples: [
      [-32000, "the method is currently not implemented: trace_rawTransaction"],
      [-32000, "This request is not implemented yet. Please create an issue on Github repo."],
    ],
  },
  {
    of: ["nethermind"],
    samples: [
      [
        -32600,
        "The method 'trace_block' is found but the namespace 'trace' is disabled for http://node:8545/.",
      ],
      [
        -32600,
        "The method 'trace_block' is found in namespace 'trace' for n/a' but is disabled for Http.",
      ],
    ],
  },
  {
    of: ["proxyd", "Chainstack", "GetBlock", "Tenderly", "LlamaRPC", "Flashbots"],
    samples: [
      [-32001, "rpc method is not whitelisted", 403],
      [-32000, "method not found"],
      [-32603, "the method debug_traceCall does not exist/is not available"],
      [-32002, "Method trace_filter is not available on your current plan", 403],
      [-32600, "method is not included in your current plan"],
      [-32000, "method eth_mining is disabled"],
      [-32000, "trace_filter is not supported"],
      [-32603, "Unsupported method: eth_mining."],
    ],
  },
  {
    of: ["QuickNode", "proxies"],
    samples: [
      [undefined, "Method eth_getProof is not supported", 404],
      [undefined, '{"error":"unsupported method: trace_block"}', 405],
    ],
  },
  // REFUSED_ACCOUNTS
  {
    of: ["Blast", "besu", "Wetez", "InfStones", "Goldsky"],
    samples: [
      [-32099, "Authentication failed", 401],
      [-40100, "Unauthorized"],
      [401, "Unauthorized"],
      [-2011, "Invalid project id or project secret", 403],
      [-32606, "Request IP not in whitelist."],
    ],
  },
  {
    of: ["Ankr", "Alchemy", "Infura", "QuickNode", "Tenderly", "GetBlock", "Headgate"],
    samples: [
      [
        -32000,
        "Unauthorized: You must authenticate your request with an API key. Create an account on https://www.ankr.com/rpc/",
      ],
      [-32600, "Must be authenticated!", 401],
      [-32002, "rejected due to project ID settings", 403],
      [-32000, "invalid API key", 401],
      [-32002, "rejected by API key settings", 403],
      [-32016, "Unauthorized"],
    ],
  },
  {
    of: ["Ankr", "dRPC", "Alchemy"],
    samples: [
      [-32052, "API key is not allowed to access blockchain", 403],
      [4, "token is invalid"],
      [
        -32600,
        "ETH_MAINNET is not enabled for this app. Visit this page to enable the network: https://dashboard.alchemy.com/apps/",
        403,
      ],
      [-32000, "Unspecified origin not on whitelist."],
      [35, "chain is not available on free plan, please upgrade to paid plan"],
    ],
  },
  // FAILING_NODES
  {
    of: ["besu", "conflux-rust", "erigon", "providers"],
    samples: [
      [-32008, "Initial sync is still in progress"],
      [-32077, "Request rejected due to still in the catch up mode."],
      [-32000, "node is syncing"],
    ],
  },
  {
    of: ["geth", "erigon", "reth"],
    samples: [
      [-32000, "execution aborted (timeout = 5s)"],
      [-32000, "execution timeout"],
      [-32000, "context deadline exceeded"],
    ],
  },
  {
    of: ["geth", "besu", "nethermind", "Alchemy", "dRPC", "proxyd", "Goldsky"],
    samples: [
      [-32002, "request timed out"],
      [-32603, "Timeout expired"],
      [-32016, "eth_call request was canceled due to enabled timeout."],
      [-32000, "Request timed out. Client should retry."],
      [30, "Request timeout on the free tier, please upgrade your tier to the paid one", 408],
    ],
  },
  {
    of: ["proxyd", "Goldsky", "nethermind"],
    samples: [
      [-32017, "Timeout"],
      [-32015, "gateway timeout", 504],
      [-32015, "Upstream node timed out"],
    ],
  },
  {
    of: ["proxyd", "dRPC", "Headgate"],
    samples: [
      [-32010, "backend offline", 503],
      [-32011, "no backends available for method", 503],
      [-32013, "backend returned an invalid response"],
      [-32018, "backend is currently not healthy to serve traffic"],
      [1, "no available upstreams to process a request"],
      [
        12,
        "Can't route your request to suitable provider, if you specified certain providers revise the list",
        400,
      ],
      [-32603, "no upstream could answer", 502],
      [-32603, "backend request failed"],
    ],
  },
  {
    of: ["QuickNode", "Alchemy", "dRPC", "Cloudflare", "InfStones"],
    samples: [
      [-32011, "network error"],
      [-32000, "Service temporarily unavailable"],
      [19, "Temporary internal error. Please retry, trace-id: 1234"],
      [-32000, "Unable to complete request at this time."],
      [-32046, "Cannot fulfill request"],
      [-32603, "dial tcp 10.0.0.7:8545: connect: connection refused"],
    ],
  },
  {
    of: ["JSON-RPC 2.0", "nethermind", "besu", "reth", "erigon", "InfStones"],
    samples: [
      [-32603, "Internal error"],
      [-32603, "Internal JSON-RPC error."],
      [-32603, "internal blocking task error"],
      [-32000, "internal error"],
      [-32000, "method handler crashed"],
      [-2101, "Server Error"],
    ],
  },
  {
    of: ["conflux-rust"],
    samples: [[-32066, "No peers are connected"]],
  },
  {
    of: ["gateways"],
    samples: [
      [502, "Bad Gateway"],
      [503, "over capacity for now"],
    ],
  },
];
