// The published package as users install it: it starts over a node, answers, and ends cleanly.
import { execFileSync } from "node:child_process";
import { mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type AnvilNode, startAnvil } from "../support/anvil-node.ts";
import { ask } from "../support/ask.ts";
import { until } from "../support/processes.ts";
import { emptyFolder, nodeOf, npm, packed, removeFolders, type Started, start } from "./packed.ts";

let anvil: AnvilNode | undefined;
let tarball = "";
let installed = "";
const bin = (name: string): string => join(installed, "node_modules/.bin", name);

beforeAll(async () => {
  [anvil, tarball, installed] = await Promise.all([startAnvil(), packed(), emptyFolder("empty")]);
  await npm(installed, ["install", tarball]);
});
afterAll(() => {
  anvil?.close();
  removeFolders();
});

/** Writes a configuration over anvil into the folder. */
function configure(folder: string, settings: object = {}): void {
  const all = {
    listen: { port: 0 },
    admin: { listen: { port: 0 } },
    keys: [{ name: "demo", key: "demo" }],
    networks: { dev: { family: "evm", chainId: 31_337, upstreams: [{ url: anvil?.url }] } },
    ...settings,
  };
  writeFileSync(join(folder, "headgate.yaml"), JSON.stringify(all));
}

async function expectAnswers({ url }: Started): Promise<void> {
  const endpoint = `${url}/dev/v1/demo`;
  expect(await ask(endpoint, "eth_chainId")).toMatchObject({ result: "0x7a69" });
  const [hash] = anvil?.transactions ?? [];
  expect(await ask(endpoint, "eth_getTransactionReceipt", [hash])).toMatchObject({
    result: { transactionHash: hash },
  });
}

/** Starts the command in a folder, makes a call, and stops it. */
async function expectServes(
  command: readonly string[],
  options: { cwd: string; env?: NodeJS.ProcessEnv },
): Promise<void> {
  const gateway = await start([...command, "--config", "headgate.yaml"], options);
  await expectAnswers(gateway);
  const code = await gateway.stop();
  expect(code, gateway.printed()).toBe(command[0] === "npx" ? null : 0); // the signal ends npx, too
  await until("it has ended", async () => gateway.printed().includes('"msg":"ended"'));
}

describe("what npm does", () => {
  it("npm install", async () => {
    configure(installed);
    await expectServes([bin("headgate")], { cwd: installed });
  });

  it("npm install --ignore-scripts, in a path with spaces", async () => {
    const folder = await emptyFolder("a path with spaces");
    configure(folder);
    await npm(folder, ["install", "--ignore-scripts", tarball]);
    await expectServes([join(folder, "node_modules/.bin/headgate")], { cwd: folder });
  });

  it("npm install --global", async () => {
    const folder = await emptyFolder("empty");
    configure(folder);
    await npm(folder, ["install", "--global", "--prefix", "prefix", tarball]);
    await expectServes([join(folder, "prefix/bin/headgate")], { cwd: folder });
  });

  it("npx", async () => {
    const folder = await emptyFolder("empty");
    configure(folder);
    const npx = ["npx", "--yes", "--prefer-offline", "--package", tarball, "headgate"];
    await expectServes(npx, { cwd: folder });
  });
});

const OLDEST = "22.15.1";
const node22 = process.platform === "linux" ? nodeOf(OLDEST) : undefined;

describe.skipIf(!node22)(`Node.js ${OLDEST}, the oldest that it takes`, () => {
  it.each([1, 2])("serves in %d processes", async (processes) => {
    const env = { PATH: `${await node22}:${process.env["PATH"]}` };
    configure(installed, { processes });
    await expectServes([bin("headgate")], { cwd: installed, env });
    const version = execFileSync(bin("headgate"), ["--version"], { env, encoding: "utf8" });
    expect(version).toContain(`Node.js ${OLDEST}`);
  });

  it("older ones are refused in words", async () => {
    const env = { PATH: `${await nodeOf("22.14.0")}:${process.env["PATH"]}` };
    const asked = (): string =>
      execFileSync(bin("headgate"), ["--version"], { env, stdio: "pipe" }).toString();
    expect(asked).toThrow("headgate runs on Node.js 22.15 and later, and this is 22.14.0");
  });
});

describe("what is in it", () => {
  it("is small, has no sources, and only lmdb beside it", () => {
    const kib = Number(
      execFileSync("du", ["-sk", join(installed, "node_modules")])
        .toString()
        .split("\t")[0],
    );
    expect(kib).toBeLessThan(45 * 1024);
    expect(readdirSync(join(installed, "node_modules/headgate"))).not.toContain("src");
    const names = readdirSync(join(installed, "node_modules"));
    for (const pure of ["pino", "undici", "zod", "ws", "hono"]) expect(names).not.toContain(pure);
  });

  it("says its version, its commit and what runs it", () => {
    const version = execFileSync(bin("headgate"), ["--version"], { encoding: "utf8" });
    expect(version).toMatch(
      /^headgate \d+\.\d+\.\d+\S* \(commit [0-9a-f]{12}\+?, Node\.js [\d.]+\)\n$/,
    );
  });

  it("has the licences of what is bundled in it", () => {
    const path = join(installed, "node_modules/headgate/dist/THIRD-PARTY-LICENSES.txt");
    const text = execFileSync("cat", [path], { encoding: "utf8" });
    for (const name of ["pino", "undici", "zod", "ws", "hono", "ioredis"])
      expect(text).toMatch(new RegExp(`^${name} [\\d.]+ \\(MIT\\)\\n\\n[^]*Copyright`, "m"));
  });

  it("has the types of a configuration", () => {
    const compiled = (network: string): string => {
      const folder = join(installed, "typed");
      mkdirSync(folder, { recursive: true });
      const path = join(folder, "config.mts");
      writeFileSync(
        path,
        `import { defineConfig } from "headgate";
         export const config = defineConfig({ networks: { dev: ${network} } });`,
      );
      try {
        const options = [
          "--ignoreConfig",
          "--noEmit",
          "--strict",
          "--module",
          "nodenext",
          "--types",
          "",
        ];
        execFileSync(process.execPath, ["node_modules/typescript-7/bin/tsc", ...options, path], {
          stdio: "pipe",
        });
        return "";
      } catch (error) {
        return String((error as { stdout: Buffer }).stdout);
      }
    };
    expect(
      compiled('{ family: "evm", chainId: 1, upstreams: [{ url: "http://127.0.0.1:1" }] }'),
    ).toBe("");
    expect(compiled('{ family: "evm", chainId: 1, upstreems: [] }')).toContain("upstreems");
  });
});

describe("development nodes", () => {
  it("are offered where they are not installed", () => {
    const dev = (): string =>
      execFileSync(bin("headgate"), ["dev"], { cwd: installed, stdio: "pipe" }).toString();
    expect(dev).toThrow(/npm install headgate-devnet@\d/);
  });

  it("run where they are", async () => {
    const folder = await emptyFolder("dev");
    await npm(folder, ["install", tarball, await packed("packages/devnet")]);
    const mark = join(folder, "installed");
    writeFileSync(mark, "");
    const command = [join(folder, "node_modules/.bin/headgate"), "dev", "--port", "0"];
    const gateway = await start(command, { cwd: folder });
    const blocks = { method: "eth_blockNumber", url: `${gateway.url}/eth-devnet/v1/demo` };
    const epochs = { method: "cfx_epochNumber", url: `${gateway.url}/cfx-devnet/v1/demo` };
    for (const { url, method } of [blocks, epochs])
      await until(`${method} moves`, async () => Number((await ask(url, method)).result) > 1);
    expect(await gateway.stop()).toBe(0);
    // A user may run the installation of another: the gateway writes only V8's compiled code there, where it may write.
    const written = ["node_modules", "-type", "f", "-newer", mark, "-not", "-path", "*/compiled/*"];
    expect(execFileSync("find", written, { cwd: folder, encoding: "utf8" })).toBe("");
  });
});
