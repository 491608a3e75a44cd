// The command line makes, changes and ends keys while a gateway runs over a real node.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { anvilCommand } from "../../packages/devnet/src/node-process.ts";
import { type AnvilNode, startAnvil } from "../support/anvil-node.ts";
import { ask, type Envelope } from "../support/ask.ts";
import {
  type RunningGateway,
  runCommand,
  startGatewayProcess,
} from "../support/gateway-process.ts";
import { until } from "../support/processes.ts";
import { withinASecond } from "../support/served-time.ts";

const isHere = anvilCommand({ port: 1, chainId: 1 }) !== undefined;

describe.skipIf(!isHere)("keys that are made at runtime", () => {
  let anvil: AnvilNode;
  let gateway: RunningGateway;
  let data: string;
  /** All key texts that a command printed. */
  const texts: string[] = [];

  const start = (): Promise<RunningGateway> => {
    const upstreams = [{ url: anvil.url }];
    const network = { family: "evm", chainId: anvil.chainId, upstreams };
    return startGatewayProcess({ data, log: { level: "trace" }, networks: { main: network } });
  };

  beforeAll(async () => {
    anvil = (await startAnvil()) as AnvilNode;
    data = await mkdtemp(join(tmpdir(), "headgate-keys-"));
    gateway = await start();
  });

  afterAll(async () => {
    expect(await gateway.stop()).toBe(0);
    await anvil.close();
    await rm(data, { recursive: true });
  });

  async function keys(...words: readonly string[]): Promise<string> {
    const command = await runCommand(["keys", ...words, "--config", gateway.configPath]);
    expect(command).toMatchObject({ code: 0, stderr: "" });
    return command.stdout.trim();
  }

  async function made(...words: readonly string[]): Promise<string> {
    const text = await keys(...words, "--quiet");
    texts.push(text);
    return text;
  }

  const call = (key: string, method = "eth_chainId"): Promise<Envelope> =>
    ask(gateway.endpoint("main", key), method);

  const works = (key: string): Promise<void> =>
    withinASecond("the key works", async () => "result" in (await call(key)), gateway.process);

  const isUnknown = async (key: string): Promise<void> => {
    let seen: Envelope["error"];
    const isRefused = async (): Promise<boolean> => {
      seen = (await call(key)).error;
      return seen !== undefined;
    };
    await withinASecond("the key is unknown", isRefused, gateway.process);
    expect(seen).toEqual({ code: -32000, message: "invalid API key" });
  };

  it("work within a second, as far as they are made to", async () => {
    const key = await made("create", "narrow", "--methods", "eth_chainId", "--per-day", "1000");
    expect(key).toMatch(/^hg_[0-9A-Za-z]{33}$/);
    await works(key);
    expect((await call(key, "eth_gasPrice")).error?.code).toBe(-32004);
    await keys("update", "narrow", "--methods", "none");
    const mayDoMore = async (): Promise<boolean> => "result" in (await call(key, "eth_gasPrice"));
    await withinASecond("it may do more", mayDoMore, gateway.process);
  });

  it("are refused within a second when disabled, and for good when revoked", async () => {
    const key = await made("create", "ending");
    await works(key);
    await keys("disable", "ending");
    await isUnknown(key);
    await keys("enable", "ending");
    await works(key);
    await keys("revoke", "ending");
    await isUnknown(key);
    const again = await runCommand(["keys", "enable", "ending", "--config", gateway.configPath]);
    expect(again).toMatchObject({ code: 1, stderr: "the key ending is revoked for good\n" });
  });

  it("work under both texts while a rotation overlaps, and then under the new one", async () => {
    const old = await made("create", "turning");
    const young = await made("rotate", "turning");
    await works(young);
    await works(old);
    const youngest = await made("rotate", "turning", "--overlap", "1s");
    await works(youngest);
    await isUnknown(old);
    await until("the overlap is over", async () => (await call(young)).error);
    await works(youngest);
    const last = await made("rotate", "turning", "--overlap", "0");
    await works(last);
    await isUnknown(youngest);
  });

  it("end when they expire", async () => {
    const key = await made("create", "short", "--expires", "8s");
    await works(key);
    await until("it expires", async () => (await call(key)).error);
    expect(JSON.parse(await keys("show", "short", "--json"))).toMatchObject({ status: "expired" });
  });

  it("stay as they are when the gateway is killed", async () => {
    const key = await made("create", "lasting");
    const revoked = await made("create", "gone");
    await keys("revoke", "gone");
    gateway.process.kill("SIGKILL");
    await gateway.stop();
    gateway = await start();
    await works(key);
    await isUnknown(revoked);
  });

  it("are there once they have been shown, also when the command is killed then", async () => {
    for (const name of ["killed-a", "killed-b", "killed-c"]) {
      const args = ["bin/headgate.mjs", "keys", "create", name, "--quiet", "--config"];
      const child = spawn(process.execPath, [...args, gateway.configPath]);
      const [chunk] = (await once(child.stdout, "data")) as [Buffer];
      child.kill("SIGKILL");
      const key = String(chunk).trim();
      texts.push(key);
      await works(key);
    }
  });

  it("are in no log, no metrics and no file", async () => {
    const metrics = await (await fetch(gateway.metricsUrl)).text();
    const seen = [JSON.stringify(gateway.log), metrics];
    for (const entry of await readdir(data, { recursive: true, withFileTypes: true })) {
      if (entry.isFile()) seen.push(await readFile(join(entry.parentPath, entry.name), "latin1"));
    }
    expect(seen.length).toBeGreaterThan(3);
    expect(texts.length).toBeGreaterThan(8);
    for (const text of texts) {
      // Not even the part between the prefix and the checksum may appear.
      expect(seen.some((each) => each.includes(text.slice(3, 30)))).toBe(false);
    }
  });
});
