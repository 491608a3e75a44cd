// The installation before `npm start`: Ctrl-C leaves no process behind, and the next start installs anew.
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { delimiter, join, resolve } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { isAlive, until } from "../support/processes.ts";

let folder: string;
const children: ChildProcess[] = [];

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "headgate-setup-"));
  await mkdir(join(folder, "bin"));
  const packages = { "node_modules/needed": { version: "1.0.0" } };
  await writeFile(join(folder, "package-lock.json"), JSON.stringify({ packages }));
});
afterAll(async () => {
  for (const child of children) child.kill("SIGKILL");
  await rm(folder, { recursive: true });
});

/** Runs setup.mjs with a shell script in the place of npm. */
async function setup(npm: string) {
  await writeFile(join(folder, "bin/npm"), `#!/bin/sh\n${npm}`, { mode: 0o755 });
  const script = resolve("scripts/setup.mjs");
  const child = spawn(process.execPath, [script, "--without-dev"], {
    cwd: folder,
    stdio: ["ignore", "ignore", "pipe"],
    env: { ...process.env, PATH: `${join(folder, "bin")}${delimiter}${process.env["PATH"]}` },
  });
  children.push(child);
  let said = "";
  child.stderr?.on("data", (chunk) => {
    said += chunk;
  });
  const ended = once(child, "close").then(([code]) => ({ code, said }));
  return { child, ended };
}

/** A script that ignores Ctrl-C, as npm sometimes does. */
const PARTS = "trap '' INT; mkdir -p node_modules/half; echo $$ > pid; exec sleep 600";

it("leaves nothing running when it is ended while npm installs, and begins anew then", async () => {
  const first = await setup(PARTS);
  const pid = await until("npm installs", async () =>
    Number(await readFile(join(folder, "pid"), "utf8").catch(() => "")),
  );
  first.child.kill("SIGINT");
  expect(await first.ended).toEqual({
    code: 130,
    said: expect.stringContaining("the next start installs again"),
  });
  expect(isAlive(pid)).toBe(false);
  expect(existsSync(join(folder, "node_modules/half"))).toBe(true);

  await (await setup("[ ! -e node_modules/half ] || echo kept > verdict")).ended;
  expect(existsSync(join(folder, "verdict"))).toBe(false);
  expect(existsSync(join(folder, "node_modules/.unfinished"))).toBe(false);
});

it("says that npm could not, and keeps what is there", async () => {
  await mkdir(join(folder, "node_modules/whole"), { recursive: true });
  const { ended } = await setup("exit 7");
  expect(await ended).toEqual({ code: 1, said: expect.stringContaining("npm could not install") });
  expect(existsSync(join(folder, "node_modules/whole"))).toBe(true);
  expect(existsSync(join(folder, "node_modules/.unfinished"))).toBe(false);
});
