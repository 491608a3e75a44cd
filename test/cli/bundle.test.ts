// A process starts from the bundle when it matches the sources, and from the sources otherwise.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { cp, mkdir, mkdtemp, readdir, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";

/** The folder of a project with two sources that starts as Headgate does. */
let project: string;

beforeEach(async () => {
  project = await mkdtemp(join(tmpdir(), "headgate-bundle-"));
  await Promise.all(["src", "scripts", "node_modules"].map((name) => mkdir(join(project, name))));
  await cp("bin", join(project, "bin"), { recursive: true });
  await cp("scripts/bundle.mjs", join(project, "scripts/bundle.mjs"));
  await symlink(
    join(process.cwd(), "node_modules/rolldown"),
    join(project, "node_modules/rolldown"),
  );
  await writeFile(join(project, "package.json"), '{ "type": "module" }');
  await write("main", 'import { hail } from "./hail.ts";\n\nconsole.log(hail());\n');
  await write("hail", hailing("first"));
});

afterEach(() => rm(project, { recursive: true, force: true }));

const write = (name: string, source: string): Promise<void> =>
  writeFile(join(project, "src", `${name}.ts`), source);

/** A source whose stack trace begins at line 3. */
const hailing = (word: string): string =>
  `type Hail = string;\n\nexport const hail = (): Hail => new Error("${word}").stack + "\\n" + import.meta.dirname;\n`;

async function run(script: string, environment: NodeJS.ProcessEnv = {}): Promise<string> {
  const child = spawn(process.execPath, [join(project, script)], {
    cwd: tmpdir(),
    env: { ...process.env, ...environment },
    stdio: ["ignore", "pipe", "inherit"],
  });
  let text = "";
  child.stdout.on("data", (chunk) => {
    text += chunk;
  });
  await once(child, "close");
  return text;
}

const bundles = (): Promise<string[]> =>
  readdir(join(project, "node_modules/.cache/headgate/bundles"));

it("begins with the sources where there is no bundle", async () => {
  expect(await run("bin/headgate.mjs")).toContain("Error: first\n");
});

it("is read once it is there, and its traces and folders are those of the sources", async () => {
  await run("scripts/bundle.mjs");
  const [folder = ""] = await bundles();
  const bundle = join(project, "node_modules/.cache/headgate/bundles", folder, "main.mjs");
  const text = await run("bin/headgate.mjs");
  expect(text).toContain("src/hail.ts:3:");
  expect(text).toContain("src/main.ts:3:");
  expect(join(text.trimEnd().split("\n").at(-1) ?? "")).toBe(join(project, "src"));

  await writeFile(bundle, 'console.log("the bundle");\n');
  expect(await run("bin/headgate.mjs")).toBe("the bundle\n");
  expect(await run("bin/headgate.mjs", { HEADGATE_UNBUNDLED: "1" })).toContain("Error: first\n");
});

it("takes of a module of Node.js what it names: the rest of `node:http` is a second undici", async () => {
  await write(
    "hail",
    'import { createServer as make, STATUS_CODES } from "node:http";\nimport path from "node:path";\n' +
      "export const hail = () => [typeof make, STATUS_CODES[404], typeof path.join, " +
      'process.moduleLoadList.some((name) => name.includes("undici/undici"))].join();\n',
  );
  await run("scripts/bundle.mjs");
  expect(await run("bin/headgate.mjs")).toBe("function,Not Found,function,false\n");
  const unbundled = await run("bin/headgate.mjs", { HEADGATE_UNBUNDLED: "1" });
  expect(unbundled).toBe("function,Not Found,function,true\n");
});

it("begins anew with what V8 and glibc hear only at a beginning, unless both were told", async () => {
  await write(
    "hail",
    'export const hail = () => [process.pid, ...process.execArgv, process.env.MALLOC_MMAP_THRESHOLD_].join(" ");\n',
  );
  const said =
    /^\d+ --max-semi-space-size=16 --concurrent-marking-max-worker-num=1 (.* )?262144\n$/;
  expect(await run("bin/headgate.mjs")).toMatch(said);
  expect(await run("bin/headgate.mjs", { MALLOC_MMAP_THRESHOLD_: "262144" })).toMatch(said);
});

it("is not read after a source changed", async () => {
  await run("scripts/bundle.mjs");
  await write("hail", hailing("later"));
  expect(await run("bin/headgate.mjs")).toContain("Error: later\n");
  await run("scripts/bundle.mjs");
  expect(await bundles()).toHaveLength(2);
  expect(await run("bin/headgate.mjs")).toContain("Error: later\n");
});

it("is written once by several at a time", async () => {
  await Promise.all([1, 2, 3].map(() => run("scripts/bundle.mjs")));
  expect(await bundles()).toEqual([expect.stringMatching(/^[0-9a-f]{40}$/)]);
});
