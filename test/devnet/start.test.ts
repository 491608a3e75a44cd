// `npm start` without a configuration prints calls that can be pasted, and Ctrl-C ends it cleanly.
import { type ChildProcess, execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { resolve } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, it } from "vitest";
import { type Envelope, post } from "../support/ask.ts";
import { until } from "../support/processes.ts";

const HEADGATE = resolve("bin/headgate.mjs");
const PASTED = /curl -s (\S+) -H 'content-type: application\/json' -d '(.*)'/g;

let main: ChildProcess;
let printed = "";
/** A folder outside the repository: commands of other tests would find files that are left in it. */
let folder: string;

beforeAll(async () => {
  folder = await mkdtemp(resolve(tmpdir(), "headgate-start-"));
  main = spawn(process.execPath, [HEADGATE, "--port", "0"], {
    cwd: folder,
    stdio: ["ignore", "pipe", "inherit"],
  });
  main.stdout?.on("data", (chunk) => {
    printed += chunk;
  });
});

afterAll(async () => {
  main.kill("SIGKILL");
  await rm(folder, { recursive: true, force: true });
});

/** Makes every printed call of a network; returns the answers by method. */
async function paste(network: string): Promise<Map<string, Envelope>> {
  const calls = [...printed.matchAll(PASTED)].filter(([, url = ""]) => url.includes(network));
  const answers = await Promise.all(
    calls.map(async ([, url = "", body = ""]) => (await post(url, body)).json()),
  );
  return new Map(
    calls.map(([, , body = ""], index) => [JSON.parse(body).method, answers[index] as Envelope]),
  );
}

it("the printed EVM calls return something to look at", async () => {
  await until("calls are printed", async () => printed.includes("web3_sha3"));
  const answers = await paste("eth-devnet");
  expect(answers.size).toBeGreaterThanOrEqual(8);
  for (const [method, { result, error }] of answers) {
    if (method === "eth_estimateGas") expect(error).toMatchObject({ code: 3 });
    else expect(result, method).toBeTruthy();
  }
  expect(answers.get("eth_getTransactionByHash")?.result).toMatchObject({ blockHash: null });
  expect(answers.get("eth_getTransactionReceiptsByBlock")?.result).not.toEqual([]);
  expect(answers.get("eth_getLogs")?.result).not.toEqual([]);
});

it("the printed Conflux calls do, a little later", async () => {
  await until("calls are printed", async () => printed.includes("cfx_getLogs"));
  const answers = await paste("cfx-devnet");
  expect(answers.get("cfx_getLogs")?.result).not.toEqual([]);
  expect(answers.get("cfx_epochNumber")?.result).toMatch(/^0x/);
});

it("its keys are changed by headgate keys, in the same folder", async () => {
  const { stdout } = await promisify(execFile)(
    process.execPath,
    [HEADGATE, "keys", "create", "web", "--quiet"],
    { cwd: folder },
  );
  const [, url = "", body = ""] = [...printed.matchAll(PASTED)][0] ?? [];
  const own = url.replace(/demo$/, stdout.trim());
  await until(
    "the new key works",
    async () => "result" in ((await (await post(own, body)).json()) as Envelope),
  );
});

it("SIGHUP neither ends it nor stops its nodes: there is nothing to read again", async () => {
  main.kill("SIGHUP");
  await until("it says so", async () => printed.includes("there is no configuration file"));
  const [, url = "", body = ""] = [...printed.matchAll(PASTED)][0] ?? [];
  expect((await (await post(url, body)).json()) as Envelope).toHaveProperty("result");
});

it("Ctrl-C ends it with 0", async () => {
  const ended = once(main, "exit");
  main.kill("SIGINT");
  expect(await ended).toEqual([0, null]);
});
