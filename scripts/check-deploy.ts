// `npm run check:deploy`: checks deploy/ without a cluster, a container engine or a Grafana. It installs missing tools from
// Debian where the system allows it; at the end it lists the checks that it skipped.
import { type SpawnSyncReturns, spawnSync } from "node:child_process";
import { existsSync, globSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { parse, parseAllDocuments } from "yaml";
import { parseConfig } from "../src/config/parse-config.ts";

/** The folder of the schemas and linters from npm, which only these checks need. */
const CHECKS = "deploy/checks";
const CHART = "deploy/helm/headgate";
/** The oldest Kubernetes version that the chart supports, and a recent one. */
const KUBERNETES = ["1.25.0", "1.34.0"];

const failures: string[] = [];
const skipped: string[] = [];

function run(command: string, ...args: readonly string[]): SpawnSyncReturns<string> {
  return spawnSync(command, args, { encoding: "utf8", maxBuffer: 2 ** 26 });
}

function expectSuccess(command: string, ...args: readonly string[]): void {
  const { status, stdout, stderr } = run(command, ...args);
  if (status !== 0) failures.push(`${command} ${args.join(" ")}\n${stdout}${stderr}`.trim());
}

const isThere = (command: string): boolean => run("sh", "-c", `command -v ${command}`).status === 0;

/** @param debian The Debian package of the command, where there is one. */
function hasTool(command: string, debian?: string): boolean {
  if (!isThere(command) && debian) run("node", "scripts/apt-install.mjs", debian);
  if (isThere(command)) return true;
  // In CI every tool that Debian has must be there.
  (debian && process.env["CI"] ? failures : skipped).push(`the program ${command} is missing`);
  return false;
}

function checkAlerts(): void {
  expectSuccess("node", "scripts/named-metrics.ts");
  if (!hasTool("promtool", "prometheus")) return;
  expectSuccess("promtool", "check", "rules", "deploy/prometheus/alerts.yaml");
  expectSuccess("promtool", "test", "rules", "deploy/prometheus/alerts.test.yaml");
}

function checkUnit(): void {
  if (!hasTool("systemd-analyze", "systemd")) return;
  expectSuccess("systemd-analyze", "verify", "deploy/systemd/headgate.service");
  const most = ["--offline=true", "--threshold=20"]; // tenths of systemd's exposure level
  expectSuccess("systemd-analyze", "security", ...most, "deploy/systemd/headgate.service");
}

const load = <Module>(path: string): Promise<Module> =>
  import(pathToFileURL(join(CHECKS, "node_modules", path)).href) as Promise<Module>;

type Linting = (text: string) => readonly { readonly message: string }[];

async function checkImage(): Promise<void> {
  const { validate } = await load<{ validate: Linting }>("dockerfile-utils/lib/main.js");
  for (const { message } of validate(readFileSync("deploy/Dockerfile", "utf8")))
    failures.push(`deploy/Dockerfile: ${message}`);
  expectSuccess(join(CHECKS, "node_modules/.bin/dclint"), "--quiet", "deploy/compose.yaml");
  skipped.push("the image is not built: see docs/production.md#the-image");
}

type Kind = new (manifest: object) => { validate(): void };
type Manifest = {
  readonly apiVersion: string;
  readonly kind: string;
  readonly data?: Readonly<Record<string, string>>;
};

/** Renders the chart with a file of values for a Kubernetes version. */
type Render = (values: string, version: string) => SpawnSyncReturns<string>;

async function checkChart(): Promise<void> {
  const render = isThere("helm") ? byHelm : await withoutHelm();
  if (!render) return;
  for (const values of globSync(`${CHART}/ci/*.yaml`)) {
    for (const version of KUBERNETES) {
      const { status, stdout, stderr } = render(values, version);
      if (status !== 0) failures.push(`the chart, of ${values}:\n${stdout}${stderr}`);
      else for (const mistake of await mistakesIn(stdout)) failures.push(`${values}: ${mistake}`);
    }
  }
  // The first line of each file is the expected message.
  for (const values of globSync(`${CHART}/ci/refused/*.yaml`)) {
    const { status, stdout, stderr } = render(values, "1.34.0");
    const [why = ""] = readFileSync(values, "utf8").slice(2).split("\n");
    if (status === 0 || !`${stdout}${stderr}`.includes(why))
      failures.push(`the chart, of ${values}, is not refused with "${why}":\n${stderr}`);
  }
  // The chart must refuse values without networks.
  if (render(`${CHART}/values.yaml`, "1.34.0").status === 0)
    failures.push("the chart was rendered without networks");
}

const byHelm: Render = (values, version) => {
  const given = [CHART, "--values", values, "--kube-version", version];
  const linted = run("helm", "lint", "--strict", ...given);
  return linted.status === 0 ? run("helm", "template", "prod", ...given) : linted;
};

/** Renders with Helm's own Go libraries; ajv validates the values against the chart's schema. */
async function withoutHelm(): Promise<Render | undefined> {
  skipped.push(
    "helm is missing: deploy/checks/render.go renders the chart, and the chart is not linted",
  );
  if (!hasTool("go", "golang-go") || !hasLibraries()) return undefined;
  const file = join(CHECKS, "node_modules/render");
  const env = { ...process.env, GO111MODULE: "off", GOPATH: GO_LIBRARIES };
  const built = spawnSync("go", ["build", "-o", file, join(CHECKS, "render.go")], { env });
  if (built.status !== 0) failures.push(`deploy/checks/render.go: ${built.stderr}`);
  const { Ajv } = await load<{ Ajv: new () => Validator }>("ajv/dist/ajv.js");
  const isValid = new Ajv().compile(
    JSON.parse(readFileSync(`${CHART}/values.schema.json`, "utf8")),
  );
  const read = (path: string): object => parse(readFileSync(path, "utf8"));
  return (values, version) => {
    const rendered = run(file, CHART, values, version);
    if (isValid({ ...read(`${CHART}/values.yaml`), ...read(values) })) return rendered;
    return { ...rendered, status: 1, stdout: "", stderr: JSON.stringify(isValid.errors) };
  };
}

type Validator = {
  compile(schema: object): ((values: object) => boolean) & { readonly errors?: unknown };
};

/** The folder where Debian installs the sources of Go packages. */
const GO_LIBRARIES = "/usr/share/gocode";
const LIBRARIES = [
  ["github.com/Masterminds/sprig", "golang-github-masterminds-sprig-dev"],
  ["sigs.k8s.io/yaml", "golang-k8s-sigs-yaml-dev"],
] as const;

function hasLibraries(): boolean {
  for (const [path, debian] of LIBRARIES) {
    const folder = join(GO_LIBRARIES, "src", path);
    if (!existsSync(folder)) run("node", "scripts/apt-install.mjs", debian);
    if (existsSync(folder)) continue;
    (process.env["CI"] ? failures : skipped).push(`there is no ${path} in ${GO_LIBRARIES}`);
    return false;
  }
  return true;
}

/** Validates manifests against the schemas of Kubernetes and the Prometheus operator, and the gateway's configuration. */
async function mistakesIn(text: string): Promise<string[]> {
  const found: string[] = [];
  const manifests = parseAllDocuments(text)
    .map((document) => document.toJS() as Manifest | null)
    .filter((manifest) => manifest !== null);
  for (const manifest of manifests) {
    const { apiVersion, kind, data } = manifest;
    if (kind === "ConfigMap") found.push(...configMistakes(data?.["headgate.yaml"]));
    const models = await load<Record<string, Kind>>(`${schemasOf(apiVersion)}/index.js`);
    const Model = models[kind];
    try {
      if (Model) new Model(manifest).validate();
      else found.push(`${apiVersion} has no ${kind}`);
    } catch (error) {
      found.push(`${kind}: ${(error as Error).message}`);
    }
  }
  return [...found, ...unknownFields(manifests)];
}

const schemasOf = (apiVersion: string): string =>
  apiVersion.startsWith("monitoring.coreos.com/")
    ? `@kubernetes-models/prometheus-operator/${apiVersion}`
    : `kubernetes-models/${apiVersion}`;

/** Finds unknown fields: the schemas allow them, but TypeScript's types refuse them in an object literal. */
function unknownFields(manifests: readonly Manifest[]): string[] {
  const source = manifests.map(
    ({ apiVersion, kind, ...fields }, at) =>
      `import type { I${kind} as Of${at} } from "${schemasOf(apiVersion)}";
export const manifest${at}: Of${at} = ${JSON.stringify({ apiVersion, kind, ...fields })};\n`,
  );
  const file = join(CHECKS, "node_modules/manifests.ts");
  writeFileSync(file, source.join(""));
  const options = [
    "--ignoreConfig",
    "--noEmit",
    "--strict",
    "--skipLibCheck",
    "--module",
    "nodenext",
  ];
  const { status, stdout } = run("node", "node_modules/typescript-7/bin/tsc", ...options, file);
  return status === 0 ? [] : stdout.split("\n").filter((line) => line.includes("error"));
}

/** The mistakes that the gateway would report. */
function configMistakes(text = ""): readonly string[] {
  const parsed = parseConfig(text, VARIABLES);
  return parsed.kind === "mistakes" ? parsed.mistakes : [];
}

/** The environment variables that the deployments name. */
const VARIABLES = {
  HEADGATE_ADMIN_TOKEN: "0123456789abcdef",
  NODE_KEY: "key",
  ETH_NODE_URL: "http://127.0.0.1:1",
  REDIS_URL: "redis://127.0.0.1:1",
};

function checkConfigs(): void {
  for (const mistake of configMistakes(readFileSync("deploy/compose.headgate.yaml", "utf8")))
    failures.push(`deploy/compose.headgate.yaml: ${mistake}`);
  const { configs } = parse(readFileSync("deploy/compose.yaml", "utf8"), { merge: true }) as {
    configs: Record<string, { file?: string }>;
  };
  for (const { file } of Object.values(configs))
    if (file && !existsSync(join("deploy", file)))
      failures.push(`deploy/compose.yaml names a file that does not exist: ${file}`);
}

expectSuccess("npm", "ci", "--prefix", CHECKS, "--ignore-scripts", "--no-audit", "--no-fund");
checkAlerts();
checkUnit();
await checkImage();
await checkChart();
checkConfigs();
for (const what of skipped) console.warn(`check:deploy: SKIPPED: ${what}`);
for (const what of failures) console.error(`check:deploy: ${what}`);
if (failures.length > 0) process.exitCode = 1;
else console.log("check:deploy: all checks passed");
