// `headgate keys`: its output, its refusals and its exit codes, while no gateway runs.
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { commandHere } from "../../test/support/command-here.ts";
import { keys } from "./keys.ts";

let folder: string;
let config: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "headgate-keys-cli-"));
  config = join(folder, "headgate.yaml");
  const upstreams = [{ url: "http://127.0.0.1:1" }];
  const networks = { main: { family: "evm", chainId: 1, upstreams } };
  const configured = { name: "filed", key: "filed-key", readOnly: true };
  await writeFile(
    config,
    JSON.stringify({ data: join(folder, "data"), keys: [configured], networks }),
  );
});
afterEach(() => rm(folder, { recursive: true }));

const run = (...words: readonly string[]) =>
  commandHere((print) => keys([...words, "--config", config], {}, print));

const BROWSER = ["--profile", "browser", "--origins", "*.example.com"];
const TERMS = [
  ...["--rate", "100", "--burst", "200", "--per-month", "5000", "--concurrent", "4"],
  ...["--networks", "main", "--batch", "7", "--log-blocks", "50", "--read-only"],
];
const KEY = /hg_[0-9A-Za-z]{33}/;

describe("headgate keys", () => {
  it("makes a key and shows it once, for people, machines and scripts", async () => {
    const forPeople = await run("create", "--name", "web", ...BROWSER);
    expect(forPeople).toMatchObject({ code: 0, stderr: "" });
    expect(forPeople.stdout).toMatch(KEY);
    expect((await run("create", "script", "--quiet")).stdout).toMatch(/^hg_[0-9A-Za-z]{33}\n$/);
    const { stdout } = await run("create", "machine", ...TERMS, "--expires", "90d", "--json");
    expect(JSON.parse(stdout)).toMatchObject({
      name: "machine",
      key: expect.stringMatching(KEY),
      settings: {
        rate: { computeUnits: 100, burst: 200 },
        computeUnits: { perMonth: 5000 },
        concurrentCalls: 4,
        networks: ["main"],
        limits: { batch: 7, logs: { blocks: 50 } },
        readOnly: true,
        expires: expect.stringMatching(/^20\d\d-.*Z$/),
      },
    });
  });

  it("lists and shows all but the keys themselves", async () => {
    await run("create", "web", ...BROWSER);
    await run("create", "machine");
    const { stdout } = await run("list");
    expect(stdout.split("\n")[0]).toMatch(
      /^NAME +STATUS +SOURCE +CREATED +EXPIRES +NETWORKS +UNITS\/S$/,
    );
    expect(stdout).toMatch(/^filed +active +file +- +never +all +-$/m);
    expect(stdout).toMatch(/^web +active +made +20\S+ +never +all +50$/m);
    const all = JSON.parse((await run("list", "--json")).stdout);
    expect(all.map(({ name }: { name: string }) => name)).toEqual(["filed", "machine", "web"]);
    const { stdout: sheet } = await run("show", "web");
    expect(sheet).toContain("readOnly: true");
    expect(sheet).toContain("batch: 20");
    expect(stdout + JSON.stringify(all) + sheet).not.toMatch(/hg_|hash|sha256/);
  });

  it("changes settings, and takes them away", async () => {
    await run("create", "machine", ...TERMS);
    const update = ["--batch", "none", "--no-read-only", "--rate", "none"];
    expect((await run("update", "machine", ...update)).code).toBe(0);
    const { settings } = JSON.parse((await run("show", "machine", "--json")).stdout);
    expect(settings.limits).toEqual({ logs: { blocks: 50 } });
    expect(settings.readOnly).toBe(false);
    expect(settings).not.toHaveProperty("rate");
  });

  it("makes no second key of a name", async () => {
    await run("create", "web");
    const { code, stdout, stderr } = await run("create", "web");
    expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
    expect(stderr).toContain("there is a key of the name web already");
  });

  it("tells what keys were used for", async () => {
    await run("create", "web");
    expect((await run("usage", "web")).stdout).toMatch(/^total +0/m);
    expect((await run("usage", "--csv")).stdout).toMatch(/^day,key,network,method,calls,/);
    expect(JSON.parse((await run("usage", "--json")).stdout)).toMatchObject({ rows: [] });
  });

  it.each([
    [["create"], 2, "keys create: the key's name is missing"],
    [["create", "a", "b"], 2, "unknown argument b"],
    [["create", "a", "--colour", "red"], 2, "Unknown option '--colour'"],
    [["create", "a", "--rate", "fast"], 2, "--rate: expected a number, got fast"],
    [["create", "a", "--expires", "soon"], 2, "expires: expected a date and time such as"],
    [["create", "a", "--expires", "2020-01-01T00:00:00Z"], 2, "expires: is in the past"],
    [
      ["create", "a", "--networks", "mian"],
      2,
      "networks[0]: no network has this name; did you mean main?",
    ],
    [["create", "a", "--profile", "browser"], 2, "origins: the browser profile needs origins"],
    [["create", "filed"], 1, "there is a key of the name filed already"],
    [["revoke", "filed"], 1, "the key filed is in the configuration file: change it there"],
    [["disable", "nobody"], 1, "there is no key of the name nobody"],
    [["show", "nobody"], 1, "there is no key of the name nobody"],
    [["usage", "nobody"], 1, "there is no key of the name nobody, and no usage of such a key"],
    [["rotate", "web", "--overlap", "soon"], 2, "--overlap: expected a duration such as 24h, or 0"],
    [["usage", "--from", "yesterday"], 2, "--from: want a UTC day such as 2026-11-21"],
    [["dance"], 2, "unknown command keys dance"],
  ])("%j: exit code %i, %s", async (words, code, message) => {
    const command = await run(...words);
    expect(command).toMatchObject({ code, stdout: "" });
    expect(command.stderr).toContain(message);
  });

  it("takes the configuration by the letter of the other commands", async () => {
    const listed = await commandHere((print) => keys(["list", "-c", config], {}, print));
    expect(listed).toMatchObject({ code: 0, stdout: expect.stringContaining("filed") });
  });

  it("says that the shared state is away, also where the file names no chain", async () => {
    const networks = { local: { upstreams: ["http://127.0.0.1:1"] } };
    const state = { keySecret: "s".repeat(32), state: "redis://127.0.0.1:9" };
    await writeFile(config, JSON.stringify({ ...state, networks }));
    const { code, stderr } = await run("list");
    expect({ code, stderr }).toEqual({
      code: 1,
      stderr: expect.stringMatching(/^the gateway's shared state cannot be reached.*run.*\n$/),
    });
  });

  it("needs a configuration", async () => {
    const path = join(folder, "none.yaml");
    const { code, stderr } = await commandHere((print) =>
      keys(["list", "--config", path], {}, print),
    );
    expect(code).toBe(2);
    expect(stderr).toContain("there is no such file");
  });

  it.each([[], ["help"], ["create", "--help"]])("keys %s explains itself", async (...words) => {
    const { code, stdout } = await commandHere((print) => keys(words, {}, print));
    expect(code).toBe(0);
    expect(stdout).toContain("makes a key and shows it once");
  });
});
