import { chmod, mkdtemp, readdir, readFile, rm, stat, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeEach, describe, expect, it } from "vitest";
import { servedMsOf } from "../../test/support/served-time.ts";
import { mountSmallDisk, type SmallDisk } from "../../test/support/small-disk.ts";
import type { Reloaded } from "../admin/admin-parts.ts";
import { compareConfigs } from "../config/compare-configs.ts";
import { parseConfig } from "../config/parse-config.ts";
import type { Config } from "../config/schema.ts";
import { Configuration } from "./configuration.ts";

const BY = { who: "ci", from: "10.0.0.1" };
const fileOf = (batch: number, more = ""): string =>
  `# a comment\nlimits: { batch: ${batch} }\nkeys: [{ name: a, key: secret-of-a }]\nnetworks:\n  main: { family: evm, chainId: 1, upstreams: ["http://127.0.0.1:1/secret"] }\n${more}`;
const configOf = (text: string): Config => {
  const parsed = parseConfig(text, {});
  if (parsed.kind === "mistakes") throw new Error(parsed.mistakes.join());
  return parsed.config;
};

const disk = mountSmallDisk(2);
if (!disk) console.warn("a test of a full disk is skipped: this user may not mount a disk");
afterAll(() => disk?.remove());

let folder: string;
let path: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "headgate-configuration-"));
  path = join(folder, "headgate.yaml");
  await writeFile(path, fileOf(10));
});
afterEach(() => rm(folder, { recursive: true }));

/** A `Configuration` over a gateway that runs the file's first text; `onReload` gives the outcome of a reload. */
function opened(onReload?: () => Reloaded | Promise<Reloaded>, at: string | undefined = path) {
  const audited: object[] = [];
  const configuration = new Configuration({
    source: {
      path: at,
      read: () => parseConfig("", {}),
      check: (text) => parseConfig(text, {}),
    },
    reload: {
      past: [],
      compare: (config) => compareConfigs(configOf(fileOf(10)), config),
      again: async () => onReload?.() ?? { kind: "reloaded", changed: ["limits.batch: …"] },
    },
    audit: { note: async (by, change) => void audited.push({ ...by, ...change }) },
  });
  const version = async (): Promise<string> => (await configuration.shown()).version ?? "";
  return { configuration, audited, version };
}

describe("the configuration file", () => {
  it("is shown without secrets, and with what a reload would change", async () => {
    const { configuration } = opened();
    await writeFile(path, fileOf(20));
    const { text, ...rest } = await configuration.shown();
    expect(text).toContain("batch: 20");
    expect(text).not.toContain("secret");
    expect(rest).toMatchObject({
      path,
      pending: { mistakes: [], changed: ["limits.batch: 10 → 20"] },
      version: expect.stringMatching(/^[0-9a-f]{32}$/),
    });
    expect(rest).not.toHaveProperty("whyNotWritable");
  });

  it("has another version in each process: nobody can guess its secrets by it", async () => {
    expect(await opened().version()).not.toBe(await opened().version());
  });

  it.each([
    ["limits: [", "line 1"],
    [fileOf(10, "no-setting: 1\n"), "no-setting"],
  ])("tells what is wrong with %j instead", async (text, mistake) => {
    await writeFile(path, text);
    const { configuration } = opened();
    const { pending } = await configuration.shown();
    expect(pending.mistakes).toEqual([expect.stringContaining(mistake)]);
  });

  it("is validated with what is hidden in it, and nothing is done", async () => {
    const { configuration } = opened();
    const { text = "" } = await configuration.shown();
    expect(await configuration.validate(text)).toEqual({ mistakes: [], changed: [] });
    expect(await configuration.validate(text.replace("10", "30"))).toEqual({
      mistakes: [],
      changed: ["limits.batch: 10 → 30"],
    });
    expect(await configuration.validate(text.replace("10", "0"))).toMatchObject({
      mistakes: [expect.stringContaining("limits.batch: expected a whole number")],
    });
    expect(await configuration.validate(`${text}data: /elsewhere\n`)).toMatchObject({
      mistakes: ["data: needs a restart"],
    });
    expect(await readFile(path, "utf8")).toBe(fileOf(10));
  });

  it("is not read when that would keep callers waiting", async () => {
    const { configuration, version } = opened();
    const text = `a: &a x\nb: [${"*a,".repeat(40_000)}]`;
    const ownMs = await servedMsOf(async () => {
      expect((await configuration.validate(text)).mistakes).toEqual([
        "the file: has more than 100 aliases",
      ]);
      expect(await configuration.apply({ text, version: await version() }, BY)).toMatchObject({
        kind: "mistakes",
      });
    });
    expect(ownMs).toBeLessThan(5_000);
  });

  it("is replaced with its mode and its secrets, and reloaded", async () => {
    const { configuration, audited } = opened();
    await chmod(path, 0o640);
    const { text = "", version = "" } = await configuration.shown();
    const outcome = await configuration.apply({ text: text.replace("10", "30"), version }, BY);
    expect(outcome).toMatchObject({ kind: "reloaded", changed: ["limits.batch: …"] });
    expect(await readFile(path, "utf8")).toBe(fileOf(30));
    expect((await stat(path)).mode & 0o777).toBe(0o640);
    expect(await readdir(folder)).toEqual(["headgate.yaml"]);
    expect(audited).toEqual([{ ...BY, what: "the configuration file was replaced" }]);
    expect(outcome).toMatchObject({ version: (await configuration.shown()).version });
  });

  it("is replaced where a link leads", async () => {
    const link = join(folder, "link.yaml");
    await symlink(path, link);
    const { configuration, version } = opened(undefined, link);
    await configuration.apply({ text: fileOf(30), version: await version() }, BY);
    expect(await readFile(path, "utf8")).toBe(fileOf(30));
  });

  it.each([
    [{ kind: "refused", why: "the gateway is stopping" }],
    [{ kind: "mistakes", mistakes: ["keys: y"] }],
  ] as const)("is put back when the gateway does not take it: %j", async (refusal) => {
    const { configuration, audited, version } = opened(() => refusal);
    const outcome = await configuration.apply({ text: fileOf(30), version: await version() }, BY);
    expect(outcome).toEqual(refusal);
    expect(await readFile(path, "utf8")).toBe(fileOf(10));
    expect(audited).toHaveLength(2);
  });

  it("is not put back over what somebody else wrote meanwhile", async () => {
    const { configuration, version } = opened(async () => {
      await writeFile(path, "of somebody else");
      return { kind: "refused", why: "no" };
    });
    const outcome = await configuration.apply({ text: fileOf(30), version: await version() }, BY);
    expect(outcome).toEqual({
      kind: "refused",
      why: "no; the file could not be put back: somebody else wrote the file meanwhile",
    });
    expect(await readFile(path, "utf8")).toBe("of somebody else");
  });

  it("is left alone when it was changed since it was looked at, or the text is wrong", async () => {
    const { configuration, version } = opened();
    const old = await version();
    await writeFile(path, fileOf(11));
    const text = "keys: ‹hidden 9›";
    expect(await configuration.apply({ text, version: old }, BY)).toEqual({
      kind: "changed meanwhile",
    });
    const now = await version();
    expect(await configuration.apply({ text: fileOf(0), version: now }, BY)).toMatchObject({
      kind: "mistakes",
    });
    expect(await readFile(path, "utf8")).toBe(fileOf(11));
  });

  it("is replaced by one of two who looked at the same", async () => {
    const { configuration, version } = opened();
    const seen = await version();
    const outcomes = await Promise.all(
      [20, 30].map((batch) => configuration.apply({ text: fileOf(batch), version: seen }, BY)),
    );
    expect(outcomes.map(({ kind }) => kind)).toEqual(["reloaded", "changed meanwhile"]);
    expect(await readFile(path, "utf8")).toBe(fileOf(20));
  });

  it.skipIf(!disk)("stays as it was where its disk is full", async () => {
    const { path: place, fill, empty } = disk as SmallDisk;
    const full = join(place, "headgate.yaml");
    await writeFile(full, fileOf(10));
    const { configuration, version } = opened(undefined, full);
    const asked = { text: fileOf(11), version: await version() };
    fill();
    const why = `${full}: cannot be written: no space is left on the disk`;
    expect(await configuration.apply(asked, BY)).toEqual({ kind: "refused", why });
    expect(await readFile(full, "utf8")).toBe(fileOf(10));
    empty();
    expect(await configuration.apply(asked, BY)).toMatchObject({ kind: "reloaded" });
  });

  it("is not shown when it is very large, and not there without a path", async () => {
    await writeFile(path, `${fileOf(10)}#${"x".repeat(300_000)}`);
    const large = await opened().configuration.shown();
    expect(large).toMatchObject({ whyNotWritable: expect.stringContaining("131072 bytes") });
    expect(large).not.toHaveProperty("text");
    await rm(path);
    expect((await opened().configuration.shown()).whyNotWritable).toContain("ENOENT");
    const none = new Configuration({
      source: undefined,
      reload: { past: [], compare: () => ({ changes: [], needRestart: [] }), again: never },
      audit: { note: never },
    });
    expect((await none.shown()).whyNotWritable).toContain("no configuration file");
    expect(await none.apply({ text: "", version: "" }, BY)).toMatchObject({ kind: "refused" });
    expect((await none.validate("")).mistakes).toHaveLength(1);
    await writeFile(path, "");
  });
});

const never = async (): Promise<never> => {
  throw new Error("must not be called");
};
