// Missing and wrong configuration files, for a command that begins, and for a gateway that runs.
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { CommandFailure, configOf, findConfig, readAgain, readConfig } from "./read-config.ts";

let folder: string;
let path: string;
const networks = {
  main: { family: "evm", chainId: 1, upstreams: [{ url: "http://127.0.0.1:1" }] },
};

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "headgate-config-"));
  path = join(folder, "headgate.yaml");
});
afterAll(() => rm(folder, { recursive: true }));

const failureOf = (work: () => unknown): CommandFailure => {
  try {
    work();
  } catch (error) {
    if (error instanceof CommandFailure) return error;
  }
  throw new Error("it was taken");
};

describe("a configuration", () => {
  it("is read with what the environment has", async () => {
    await writeFile(
      path,
      `keys: [{ name: web, key: "\${SECRET}" }]\nnetworks: ${JSON.stringify(networks)}`,
    );
    expect(readConfig(path, { SECRET: "of-mine" }).keys).toMatchObject([{ name: "web" }]);
    const { exitCode, message } = failureOf(() => readConfig(path, {}));
    expect([exitCode, message]).toEqual([2, expect.stringContaining("SECRET")]);
  });

  it("with several mistakes is refused with a line for each", async () => {
    await writeFile(
      path,
      JSON.stringify({ networks: { main: { ...networks.main, family: "x", chainId: "y" } } }),
    );
    const { exitCode, message } = failureOf(() => readConfig(path, {}));
    expect(exitCode).toBe(2);
    expect(message.split("\n").map((line) => line.split(":")[0])).toEqual(
      expect.arrayContaining(["networks.main.family", "networks.main.chainId"]),
    );
  });

  it.each([
    { what: "is not there", name: "none.yaml", why: "there is no such file" },
    { what: "is a folder", name: ".", why: "cannot be read (EISDIR)" },
  ])(
    "that $what ends a command with 2, and is a mistake to a gateway that runs",
    ({ name, why }) => {
      const { exitCode, message } = failureOf(() => readConfig(join(folder, name), {}));
      expect([exitCode, message]).toEqual([2, expect.stringContaining(why)]);
      const again = readAgain(join(folder, name), {});
      expect(again).toMatchObject({ kind: "mistakes", mistakes: [expect.stringContaining(why)] });
    },
  );
});

describe("where a configuration is looked for", () => {
  beforeAll(() => writeFile(path, ""));

  it.each([
    { given: "a.yaml", environment: { HEADGATE_CONFIG: "b.yaml" }, found: "a.yaml" },
    { given: undefined, environment: { HEADGATE_CONFIG: "b.yaml" }, found: "b.yaml" },
    { given: undefined, environment: {}, found: "headgate.yaml" },
  ])("with --config $given and $environment it is $found", ({ given, environment, found }) => {
    expect(findConfig(given, environment, folder)?.path).toMatch(new RegExp(`${found}$`));
    expect(findConfig(undefined, {}, join(folder, "empty"))).toBeUndefined();
  });

  it("is that of a gateway over development nodes, which reads no variable", async () => {
    const HEADGATE_DATA = join(folder, "named");
    await mkdir(HEADGATE_DATA, { recursive: true });
    const text = JSON.stringify({
      data: "its own",
      networks: { dev: { family: "evm", chainId: 1, upstreams: ["http://127.0.0.1:1"] } },
    });
    await writeFile(join(HEADGATE_DATA, "devnet.json"), `# process ${process.pid}\n${text}`);
    const found = configOf("keys list", undefined, { HEADGATE_DATA });
    expect(readConfig(found.path, found.environment).data).toBe("its own");
  });

  it("is told where there is none", () => {
    // The repository's folder is not used, since a gateway may run in it.
    const environment = { HEADGATE_DATA: join(folder, "empty") };
    const { exitCode, message } = failureOf(() => configOf("check", undefined, environment));
    expect([exitCode, message]).toEqual([2, expect.stringContaining("check: --config is missing")]);
  });
});
