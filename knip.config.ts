// Finds dead code, and imports of undeclared packages. Tests and tools may use the dependencies of all workspaces.
import devnet from "./packages/devnet/package.json" with { type: "json" };
import sources from "./src/package.json" with { type: "json" };
import console from "./web/package.json" with { type: "json" };

const ofWorkspaces = [sources, console, devnet].flatMap(
  ({ dependencies, optionalDependencies }: Manifest) =>
    Object.keys({ ...dependencies, ...optionalDependencies }),
);

type Manifest = {
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
};

export default {
  workspaces: {
    ".": {
      entry: [
        "bin/*.mjs",
        "test/support/failing-thread.ts",
        "scripts/*.{ts,mjs}",
        "bench/servers/*.ts",
        "bench/{access,backfill,budget,compressed-answers,console,console-load,processes,start,tls}.ts",
        "test/state/{increment,reopen}.ts",
        "test/subscriptions/many-sockets.ts",
        "test/support/devnet-process.ts",
        "test/support/shuffled-runner.ts",
      ],
      project: ["test/**/*.ts", "bench/**/*.ts", "scripts/**/*.{ts,mjs}"],
      // The packages of the workspaces (the published package installs lmdb), programs, and a schema that a program reads.
      ignoreDependencies: [
        ...ofWorkspaces,
        "@open-rpc/meta-schema",
        "dependency-cruiser",
        "typescript-7",
      ],
      ignoreBinaries: [
        "go",
        "apt-get",
        "mount",
        "perl",
        "redis-server",
        "script",
        "umount",
        "taskset",
        "openssl",
      ],
    },
    src: {
      entry: ["main.ts", "chain/thread/thread-main.ts"],
      project: "**/*.ts",
      ignoreDependencies: ["cive", "conflux-v3", "node-.*"],
    },
    web: {
      entry: ["main.tsx"],
      project: "**/*.{ts,tsx}",
    },
    "packages/devnet": {
      entry: ["src/devnet.ts", "src/conflux-process.ts"],
      project: "src/**/*.ts",
      ignoreDependencies: ["@foundry-rs/anvil"],
    },
  },
};
