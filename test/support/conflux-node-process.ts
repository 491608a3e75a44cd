// Runs in a child process: conflux-rust v3, a native library without a wrapper.
import { createRequire } from "node:module";
import { dirname, join } from "node:path";

type Library = {
  ConfluxNode: new () => { startNode(settings: object, folder: string): Promise<void> };
};

const require = createRequire(import.meta.url);
// The wrapper of v2 has the files of a proof-of-stake chain with one validator.
const stake = join(dirname(require.resolve("@xcfx/node")), "configs", "pos_config");
const settings = JSON.parse(process.argv[2] ?? "{}") as { confluxDataDir: string };

const { ConfluxNode } = require("conflux-v3") as Library;
const node = new ConfluxNode();
await node.startNode(
  {
    posConfigPath: join(stake, "pos_config.yaml"),
    posInitialNodesPath: join(stake, "initial_nodes.json"),
    posPrivateKeyPath: join(settings.confluxDataDir, "..", "pos_key"),
    ...settings,
  },
  join(settings.confluxDataDir, ".."),
);
// The library stops the node when `node` is collected, and the node does not keep the process alive.
setInterval(() => void node, 60_000);
