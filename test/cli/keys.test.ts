// `headgate keys` as a process: its output streams and exit codes suit scripts. The unit tests beside its source cover
// the texts.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { runCommand } from "../support/gateway-process.ts";

let folder: string;
let config: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "headgate-keys-cli-"));
  config = join(folder, "headgate.yaml");
  const networks = {
    main: { family: "evm", chainId: 1, upstreams: [{ url: "http://127.0.0.1:1" }] },
  };
  await writeFile(config, JSON.stringify({ data: join(folder, "data"), networks }));
});
afterAll(() => rm(folder, { recursive: true }));

const run = (...words: readonly string[]) => runCommand(["keys", ...words, "--config", config]);

describe("headgate keys, as a process,", () => {
  it("makes a key, which the next one lists", async () => {
    const made = await run("create", "script", "--quiet");
    expect(made).toMatchObject({ code: 0, stderr: "" });
    expect(made.stdout).toMatch(/^hg_[0-9A-Za-z]{33}\n$/);
    const listed = JSON.parse((await run("list", "--json")).stdout);
    expect(listed).toMatchObject([{ name: "script", status: "active" }]);
  });

  it.each([
    [["show", "nobody"], 1, "there is no key of the name nobody"],
    [["dance"], 2, "unknown command keys dance"],
  ])("%j: exit code %i, %s", async (words, code, message) => {
    const command = await run(...words);
    expect(command).toMatchObject({ code, stdout: "" });
    expect(command.stderr).toContain(message);
  });

  it("explains itself", async () => {
    const { code, stdout } = await runCommand(["keys"]);
    expect(code).toBe(0);
    expect(stdout).toContain("makes a key and shows it once");
  });

  it("does its work to the end for whoever reads no more of it, as head does", async () => {
    const words = ["keys", "create", "unread", "--config", config];
    const child = spawn(process.execPath, ["bin/headgate.mjs", ...words]);
    child.stdout.destroy();
    let stderr = "";
    child.stderr.on("data", (chunk) => {
      stderr += chunk;
    });
    expect([await once(child, "close"), stderr]).toEqual([[0, null], ""]);
    expect((await run("list")).stdout).toContain("unread");
  });
});
