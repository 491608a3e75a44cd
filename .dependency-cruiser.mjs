// Checks the rules of ARCHITECTURE.md: imports look down only, there are no cycles (of types either), words do
// no I/O, gateway.ts and network.ts hand over parts, and one folder speaks to nodes.

// The rooms from top to bottom. A room imports rooms further down, and itself.
const floors = [
  "main",
  "cli",
  "processes",
  "gateway",
  "network",
  "server|admin",
  "calls",
  "methods",
  "filters",
  "chain",
  "upstream",
  "access",
  "state",
  "observe",
  "disk",
  "traces|proofs",
  "evm|conflux",
  "jsonrpc",
  "config",
  "namespaces",
  "lib",
];
const parts = "filters|chain|upstream|access|state|observe";
const words = "traces|proofs|evm|conflux|jsonrpc|config|namespaces|lib";

const room = (names) => `^src/(${names})(/|\\.ts$)`;

const lookDownOnly = floors.slice(1).map((floor, index) => ({
  name: `${floor.replace("|", "-")}-looks-down-only`,
  severity: "error",
  from: { path: room(floor), pathNot: "\\.test\\.ts$" },
  to: { path: room(floors.slice(0, index + 1).join("|")) },
}));

const config = {
  forbidden: [
    { name: "no-cycles", severity: "error", from: {}, to: { circular: true } },
    ...lookDownOnly,
    {
      name: "parts-are-handed-over",
      comment:
        "A part imports another part's types; the part itself comes from gateway.ts or network.ts.",
      severity: "error",
      from: { path: `^src/(${parts})/`, pathNot: "\\.test\\.ts$" },
      to: { path: `^src/(${parts})/`, pathNot: "^src/$1/", dependencyTypesNot: ["type-only"] },
    },
    {
      name: "methods-take-parts-as-types",
      severity: "error",
      from: { path: "^src/(calls|methods)/", pathNot: "\\.test\\.ts$" },
      to: { path: `^src/(${parts})/`, dependencyTypesNot: ["type-only"] },
    },
    {
      name: "words-do-no-io",
      severity: "error",
      from: { path: `^src/(${words})/`, pathNot: "\\.test\\.ts$" },
      to: {
        path: "^(node:)?(fs|net|http|https|http2|dgram|dns|tls|child_process|worker_threads|cluster|process)(/|$)",
      },
    },
    {
      name: "one-folder-speaks-to-nodes",
      severity: "error",
      from: { path: "^src/", pathNot: "^src/upstream/connection/" },
      to: { path: "node_modules/undici/" },
    },
    {
      name: "sockets-are-of-nodes-or-callers",
      severity: "error",
      from: { path: "^src/", pathNot: "^src/(upstream/connection/|server/caller-socket)" },
      to: { path: "node_modules/ws/" },
    },
    {
      name: "connections-are-made-in-one-place",
      severity: "error",
      from: {
        path: "^src/",
        pathNot: "^src/(upstream/connection/|gateway\\.ts|network\\.ts|cli/)",
      },
      to: { path: "^src/upstream/connection/", dependencyTypesNot: ["type-only"] },
    },
    {
      name: "the-package-has-no-development-nodes",
      comment: "They are a package of their own, which is imported by its name where it is there.",
      severity: "error",
      from: { path: "^src/" },
      to: { path: "^packages/", dependencyTypesNot: ["type-only"] },
    },
    {
      name: "development-nodes-take-words",
      severity: "error",
      from: { path: "^packages/devnet/", pathNot: "\\.test\\.ts$" },
      to: { path: "^src/", pathNot: "^src/lib/", dependencyTypesNot: ["type-only"] },
    },
    {
      name: "the-console-takes-types",
      comment:
        "It runs in browsers: of the sources it knows what their answers look like. Its tests run beside them.",
      severity: "error",
      from: { path: "^web/", pathNot: "\\.test\\.ts$" },
      to: { path: "^(src|packages)/", dependencyTypesNot: ["type-only"] },
    },
    {
      name: "nobody-imports-the-console",
      severity: "error",
      from: { path: "^(src|packages)/" },
      to: { path: "^web/" },
    },
    {
      name: "product-does-not-import-tests",
      severity: "error",
      from: { path: "^(src|web|packages)/", pathNot: "\\.test\\.ts$" },
      to: { path: "(^(test|bench|scripts)/)|\\.test\\.ts$" },
    },
    {
      name: "product-does-not-import-dev-dependencies",
      severity: "error",
      from: { path: "^src/", pathNot: "\\.test\\.ts$" },
      to: {
        dependencyTypes: ["npm-dev", "npm-no-pkg", "unknown"],
        dependencyTypesNot: ["type-only"],
      },
    },
  ],
  options: {
    doNotFollow: { path: "node_modules" },
    tsPreCompilationDeps: true,
    tsConfig: { fileName: "tsconfig.json" },
    enhancedResolveOptions: {
      exportsFields: ["exports"],
      conditionNames: ["import", "node", "types"],
    },
  },
};

export default config;
