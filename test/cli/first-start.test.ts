// A first start: a gateway over URLs alone, and `headgate init`, over real anvils and a node that lies.
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type AnvilNode, startAnvil } from "../support/anvil-node.ts";
import { ask, post } from "../support/ask.ts";
import { until } from "../support/processes.ts";
import { result, type ScriptedNode, startScriptedNode } from "../support/scripted-node.ts";

const PROGRAM = resolve("bin/headgate.mjs");
const PASTED = /curl -s '(\S+)' -H 'content-type: application\/json' -d '(.*)'/g;

let anvil: AnvilNode;
/** A node with Ethereum's chain id and a head. */
let other: ScriptedNode;
let folder: string;
const children: ChildProcess[] = [];

beforeAll(async () => {
  const started = await startAnvil();
  if (!started) throw new Error("no anvil for this platform");
  anvil = started;
  other = await startScriptedNode((call) =>
    result(
      call,
      call.method === "eth_getBlockByNumber" ? '{"number":"0x10","timestamp":"0x10"}' : "null",
    ),
  );
  folder = await mkdtemp(join(tmpdir(), "headgate-first start-"));
});
afterAll(async () => {
  for (const child of children) child.kill("SIGKILL");
  anvil.close();
  await other.close();
  await rm(folder, { recursive: true, force: true });
});

function headgate(args: readonly string[], environment: NodeJS.ProcessEnv = {}) {
  const child = spawn(process.execPath, [PROGRAM, ...args], {
    cwd: folder,
    stdio: ["ignore", "pipe", "pipe"],
    env: { ...process.env, npm_lifecycle_event: undefined, ...environment },
  });
  children.push(child);
  const said = { out: "", err: "" };
  child.stdout?.on("data", (chunk) => {
    said.out += chunk;
  });
  child.stderr?.on("data", (chunk) => {
    said.err += chunk;
  });
  return { child, said, ended: once(child, "close").then(([code]) => code as number | null) };
}

async function command(...args: string[]) {
  const { said, ended } = headgate(args);
  const code = await ended;
  return { code, ...said };
}

async function startOver(...urls: string[]) {
  const gateway = headgate([...urls, "--port", "0"]);
  await until("it says what to paste", async () => {
    if (gateway.child.exitCode !== null) throw new Error(gateway.said.err);
    return gateway.said.out.includes("To keep this as a file");
  });
  const stop = async (): Promise<number | null> => {
    gateway.child.kill("SIGTERM");
    return gateway.ended;
  };
  return { out: () => gateway.said.out, stop, pid: gateway.child.pid };
}

/** The command line of a process as all users of the machine see it, with blanks between its words. */
const commandLineOf = async (pid = 0): Promise<string> =>
  (await readFile(`/proc/${pid}/cmdline`, "utf8")).replace(/\0+/g, " ").trim();

const keyIn = (out: string): string => /hg_\w+/.exec(out)?.[0] ?? "";

describe("headgate <urls>", () => {
  let key: string;

  it("asks the nodes, opens a network for each chain, and prints calls that work", async () => {
    const gone = "http://127.0.0.1:1/secret-path";
    const gateway = await startOver(anvil.url, other.url, gone);
    const out = gateway.out();
    key = keyIn(out);
    expect(out).toMatch(/✓ http:\/\/127.0.0.1:\d+: anvil, anvil\/v\S+, chain 31337, head \d+/);
    expect(out).toMatch(/✓ http:\/\/127.0.0.1:\d+: eth-mainnet, .*chain 1, head 16/);
    expect(out).toMatch(/✗ http:\/\/127.0.0.1:1: .*(refused|ECONNREFUSED)/i);
    expect(out).not.toContain("secret-path");
    if (process.platform === "linux")
      expect(await commandLineOf(gateway.pid)).toBe(
        "headgate http://*** http://*** http://*** --port 0",
      );
    const calls = [...out.matchAll(PASTED)];
    expect(calls).toHaveLength(2);
    const [, url = "", body = ""] = calls[0] ?? [];
    expect(url).toContain(`/anvil/v1/${key}`);
    await until("the call works", async () => {
      const answer = (await (await post(url, body)).json()) as { result?: string };
      return answer.result?.startsWith("0x");
    });
    expect((await stat(join(folder, "data/quick-start.yaml"))).mode & 0o777).toBe(0o600);
    const made = await command("keys", "create", "web");
    expect([made.code, made.out]).toEqual([0, expect.stringContaining("The key web")]);
    const web = url.replace(key, keyIn(made.out));
    await until(
      "the key made by a command is known",
      async () => "result" in (await ask(web, "eth_chainId")),
    );
    expect(await gateway.stop()).toBe(0);
  });

  it("has the same key at the second start, which a node that is away does not keep from its network", async () => {
    const gateway = await startOver(anvil.url);
    expect(gateway.out()).toContain("The key of the first start still works");
    expect(keyIn(gateway.out())).toBe("");
    const [, url = ""] = [...gateway.out().matchAll(PASTED)][0] ?? [];
    const { result: chainId } = await ask(url.replace("<key>", key), "eth_chainId");
    expect(chainId).toBe("0x7a69");
    await gateway.stop();
    const left = join(folder, "data/quick-start.yaml");
    const text = await readFile(left, "utf8");
    await writeFile(left, text.replace(anvil.url, "http://127.0.0.1:1"));
    const without = await startOver("http://127.0.0.1:1");
    expect(without.out()).toMatch(/✗ http:\/\/127.0.0.1:1: .*the gateway tries it again/);
    await without.stop();
  });

  it.each([
    {
      args: ["http://127.0.0.1:2"],
      code: 1,
      says: "none of these nodes says which chain it is:\n✗ http://127.0.0.1:2: nothing listens there",
    },
    { args: ["http://user:secret"], code: 2, says: "URL 1: expected a URL with http, https" },
    { args: ["gopher://secret"], code: 2, says: "URL 1: expected a URL with http, https" },
    { args: ["check", "http://secret"], code: 2, says: "unknown argument a URL" },
    { args: ["http://127.0.0.1:2", "--config", "x.yaml"], code: 2, says: "not both" },
  ])("$args ends with $code", async ({ args, code, says }) => {
    const ended = await command(...args);
    expect(ended).toEqual({ code, out: "", err: expect.stringContaining(says) });
    expect(ended.err + ended.out).not.toContain("secret");
  });
});

describe("a start that cannot be", () => {
  it.each([
    {
      what: "whose data would be within a file",
      args: (url: string) => [url],
      environment: { HEADGATE_DATA: import.meta.filename },
      says: `data: cannot write to ${import.meta.filename} (EEXIST); choose a folder`,
    },
    {
      what: "of a command whose data would be within a file",
      args: () => ["keys", "create", "web"],
      environment: {
        HEADGATE_DATA: import.meta.filename,
        HEADGATE_UPSTREAMS_ETH_MAINNET: "http://127.0.0.1:2",
      },
      says: `data: cannot write to ${join(import.meta.filename, "_state")} (ENOTDIR); choose a folder`,
    },
    {
      what: "at an address of another machine",
      args: (url: string) => [url, "--port", "0"],
      environment: { HEADGATE_LISTEN__HOST: "192.0.2.7" },
      says: "listen.host: this machine cannot listen at 192.0.2.7 (EADDRNOTAVAIL): name one of its addresses",
    },
    {
      what: "at a name of no machine, in two processes",
      args: (url: string) => [url, "--port", "0"],
      environment: { HEADGATE_LISTEN__HOST: "nobody.invalid", HEADGATE_PROCESSES: "2" },
      says: "listen.host: this machine cannot listen at nobody.invalid (E",
    },
  ])("$what ends with what to do", async ({ args, environment, says }) => {
    const { said, ended } = headgate(args(anvil.url), environment);
    expect(await ended).toBe(1);
    expect(said.err).toMatch(/^.*\n$/);
    expect(said.err.slice(0, says.length)).toBe(says);
    expect(said.out).not.toContain('"level":50');
  });

  it("for its port has shown the key that it made", async () => {
    const { port } = new URL(anvil.url);
    const environment = {
      HEADGATE_DATA: join(folder, "never began"),
      // Not with --port, which gives the admin API the next port: another test may listen there.
      HEADGATE_LISTEN__PORT: port,
      HEADGATE_ADMIN__LISTEN__PORT: "0",
    };
    const { said, ended } = headgate([anvil.url], environment);
    expect(await ended).toBe(1);
    expect(said.err).toMatch(new RegExp(`^port ${port} is in use: stop what listens there, .*\n$`));
    expect(keyIn(said.out)).toMatch(/^hg_/);
    expect(said.out).not.toContain('"level":50');
  });
});

describe("the environment alone", () => {
  it("is a configuration, for the gateway and for the commands beside it", async () => {
    const environment = {
      HEADGATE_UPSTREAMS_LOCAL: anvil.url,
      HEADGATE_DATA: join(folder, "of environment"),
      HEADGATE_KEYS__0__NAME: "web",
      HEADGATE_KEYS__0__KEY: "text-of-web",
      HEADGATE_LISTEN__PORT: "0",
      HEADGATE_ADMIN__LISTEN__PORT: "0",
    };
    const gateway = headgate([], environment);
    const [, url = ""] = await until(
      "it listens",
      async () => /"server":"([^"]+)"/.exec(gateway.said.out) ?? undefined,
    );
    expect(gateway.said.out).toContain("the environment names networks");
    expect(await ask(`${url}/local/v1/text-of-web`, "eth_chainId")).toMatchObject({
      result: "0x7a69",
    });
    const listed = headgate(["keys", "list"], environment);
    expect(await listed.ended).toBe(0);
    expect(listed.said.out).toMatch(/^web +active +file/m);
    const wrong = headgate(["check"], { ...environment, HEADGATE_LISTEN__PORT: "x" });
    expect(await wrong.ended).toBe(2);
    expect(wrong.said.err).toContain(
      "listen.port: expected a whole number from 0 to 65535, got a text (HEADGATE_LISTEN__PORT)",
    );
    gateway.child.kill("SIGTERM");
    expect(await gateway.ended).toBe(0);
  });
});

describe("headgate init", () => {
  it("writes a configuration that check takes and serve finds, and never over another", async () => {
    const made = await command("init", anvil.url, other.url, "http://127.0.0.1:1");
    expect([made.code, made.err]).toEqual([0, ""]);
    expect(made.out).toMatch(
      /headgate.yaml is written. Next:\n {2}headgate check .*\n {2}headgate keys create web\n {2}headgate\n$/,
    );
    const text = await readFile(join(folder, "headgate.yaml"), "utf8");
    expect(text).toMatch(/ {2}anvil:\n {4}family: evm\n {4}chainId: 31337/);
    expect(text).toMatch(/ {2}eth-mainnet: # a block every 12 s\n/);
    expect(text).toMatch(/# {3}"http:\/\/127.0.0.1:1" # http:\/\/127.0.0.1:1/);
    const again = await command("init", anvil.url);
    expect([again.code, again.err]).toEqual([2, expect.stringContaining("exists already")]);
    expect(await readFile(join(folder, "headgate.yaml"), "utf8")).toBe(text);
    const checked = await command("check");
    expect(checked.out).toMatch(/✓ anvil \/ 127.0.0.1: anvil\/v/);
    const gateway = headgate(["--port", "0"]);
    await until("it listens", async () => gateway.said.out.includes('"listening"'));
    expect(gateway.said.out).toContain('"path":"headgate.yaml","because":"it is in this folder"');
    gateway.child.kill("SIGTERM");
    expect(await gateway.ended).toBe(0);
  });

  it("without URLs writes one to fill in", async () => {
    const { code } = await command("init", "--config", "empty.yaml");
    expect(code).toBe(0);
    const text = await readFile(join(folder, "empty.yaml"), "utf8");
    expect(text).toContain("your node, or a provider's URL");
    const listed = await command("keys", "list", "--config", "empty.yaml");
    expect(listed.code).toBe(0);
  });
});
