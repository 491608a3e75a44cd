// The disk is full while the gateway runs under load: a real file system of a few megabytes that is filled and emptied.
import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ask, post } from "../support/ask.ts";
import { type RunningGateway, startGatewayProcess } from "../support/gateway-process.ts";
import { startGeneratedNode } from "../support/generated-chain/serve.ts";
import { GeneratedChain } from "../support/generated-chain.ts";
import { until } from "../support/processes.ts";
import type { ScriptedNode } from "../support/scripted-node.ts";
import { mountSmallDisk, type SmallDisk } from "../support/small-disk.ts";

const TOKEN = "a-token-of-the-operators";
const DISK_MEGABYTES = 24;

const disk = mountSmallDisk(DISK_MEGABYTES);
if (!disk) console.warn("the tests of a full disk are skipped: this user may not mount a disk");

describe.skipIf(!disk)("a full disk", () => {
  const { path: data, ...room } = disk as SmallDisk;
  const chain = new GeneratedChain({
    seed: 5,
    transactions: [20, 40],
    logs: [20, 40],
    blockSeconds: 0,
  });
  let node: ScriptedNode;
  let gateway: RunningGateway;
  let load: Load;
  let leaked: { readonly name: string; readonly key: string };

  const start = (processes: number): Promise<RunningGateway> =>
    startGatewayProcess({
      ...{ data, processes },
      admin: { listen: { port: 0 }, token: TOKEN },
      networks: {
        main: {
          ...{ family: "evm", chainId: 1, window: { blocks: 60 } },
          upstreams: [{ name: "own", url: node.url }],
        },
      },
    });

  beforeAll(async () => {
    chain.extend(20);
    node = await startGeneratedNode(chain);
  });
  afterAll(async () => {
    await node.close();
    room.remove();
  });

  it("is told at a first start, which no process dies of", async () => {
    const environment = {
      HEADGATE_DATA: join(data, "first"),
      HEADGATE_UPSTREAMS_MAIN: node.url,
      PATH: process.env["PATH"],
    };
    const create = (): Promise<unknown> =>
      promisify(execFile)(process.execPath, ["bin/headgate.mjs", "keys", "create", "web"], {
        env: environment,
      });
    room.fill(24_576); // enough to begin a file, and too little to extend it
    await expect(create()).rejects.toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/^data: no space is left on the disk of .*: make room, or /),
    });
    room.empty();
    await create();
  });

  describe.each([1, 2])("under %i processes", (processes) => {
    beforeAll(async () => {
      gateway = await start(processes);
      await until("the chain is followed", async () => (await sourceOfLatest()) === "store");
      load = new Load(gateway.endpoint("main"));
    });
    afterAll(async () => {
      room.empty();
      await load.end();
      await gateway.stop();
    });

    it("has a key that leaked, of before", async () => {
      leaked = (await (await makeKey(`leaked-${processes}`)).json()) as typeof leaked;
      await until("the key works", async () => (await withLeaked()).status === 200);
    });

    it("ends nothing: calls go to the nodes, and what must be kept is refused in words", async () => {
      const filter = await ask(gateway.endpoint("main"), "eth_newBlockFilter");
      room.fill();
      await growUntil("the store cannot be written", async () =>
        (await readiness()).includes("the chain is not followed: no space is left on the disk"),
      );
      // Small texts still fit into free pages of the file for a while.
      let refused: Response | undefined;
      await until("the state cannot be written", async () => {
        const made = Array.from({ length: 20 }, () => callOf("eth_newBlockFilter", []));
        refused = (await Promise.all(made)).find(({ status }) => status !== 200) ?? refused;
        const reasons = await readiness();
        return refused && reasons.includes("the state cannot be written: no space is left on");
      });
      await expectRefused(refused as unknown as Response);
      chain.extend(1);
      await until("the new head is told", async () => (await latest()).hash === chain.head.hash);
      expect(await sourceOfLatest()).toBe("upstream");
      await expectRefused(await callOf("eth_getFilterChanges", [filter.result]));
      let tries = 0;
      const made = await until("a key is refused", async () => {
        tries += 1;
        const response = await makeKey(`app-${processes}-${tries}`);
        return response.status === 201 ? undefined : response;
      });
      expect([made.status, made.headers.get("retry-after")]).toEqual([503, "10"]);
      expect(await made.text()).toContain("no space is left on the disk");
      expect(await measured("headgate_store_writable")).toBe(0);
      expect(await measured("headgate_state_writable")).toBe(0);
    });

    it("revokes a key and spares a node at once, and says that it is not kept yet", async () => {
      const done = await adminCall(`/keys/${leaked.name}/revoke`, { method: "POST" });
      expect(await done.json()).toMatchObject({ status: "revoked", isKept: false });
      await until("nobody lets it in", async () => {
        const tries = await Promise.all(Array.from({ length: 10 }, withLeaked));
        return tries.every(({ status }) => status === 401);
      });
      const again = await adminCall(`/keys/${leaked.name}/revoke`, { method: "POST" });
      expect(again.status).toBe(409); // the revocation is final
      const drained = await adminCall("/networks/main/upstreams/own/drain", { method: "POST" });
      expect(await drained.json()).toMatchObject({ isDrained: true, isKept: false });
      expect(await measured("headgate_upstream_drained")).toBe(1);
      await until("it is told", async () => (await measured("headgate_state_texts_held")) === 3);
    });

    it("is told once by each process, and nothing is thrown", async () => {
      await until("the last line has come", async () =>
        gateway.log.some(
          ({ msg, details }) => msg === "a change is not in the audit trail" && details,
        ),
      );
      const told = gateway.log.filter(({ msg }) => msg?.includes(" cannot be written: "));
      expect(told.length).toBeLessThanOrEqual(1 + 2 * processes);
      // The log has the operators' actions that the audit trail could not store. A key that could still be made may be
      // in the audit trail's last free page.
      const errors = gateway.log.filter(({ level = 0 }) => level >= 50);
      expect(errors.filter((line) => line["what"] !== "a key was made")).toMatchObject([
        { msg: "a change is not in the audit trail", key: leaked.name, who: "admin" },
        { msg: "a change is not in the audit trail", details: ["main/own"], who: "admin" },
      ]);
      expect(gateway.log.filter(({ msg }) => msg?.includes("ended"))).toEqual([]);
    });

    it("is no matter any more once there is room", async () => {
      room.empty();
      await until("it is ready", async () => (await readiness()) === "ready\n");
      chain.extend(3);
      await until("the head is the store's again", async () => {
        const { hash } = await latest();
        return hash === chain.head.hash && (await sourceOfLatest()) === "store";
      });
      await until("all is kept", async () => (await measured("headgate_state_texts_held")) === 0);
      const shown = await (await adminCall(`/keys/${leaked.name}`)).json();
      expect(shown).toMatchObject({ status: "revoked" });
      expect(shown).not.toHaveProperty("isKept");
      expect((await withLeaked()).status).toBe(401);
      expect(await measured("headgate_upstream_drained")).toBe(1);
      const undrained = await adminCall("/networks/main/upstreams/own/undrain", { method: "POST" });
      expect(await undrained.json()).not.toHaveProperty("isKept");
      expect((await ask(gateway.endpoint("main"), "eth_newBlockFilter")).error).toBeUndefined();
      expect((await makeKey(`app-${processes}`)).status).toBe(201);
      expect(await measured("headgate_store_writable")).toBe(1);
      await load.end();
      expect(load.failures).toEqual([]);
      expect(load.calls).toBeGreaterThan(20);
      await until(
        "the usage report has all that was done",
        async () => (await callsInTheReport()) >= load.calls,
      );
    });
  });

  it("lets a gateway start that was there before", async () => {
    room.fill();
    gateway = await start(1);
    expect(await latest()).toMatchObject({ hash: chain.head.hash });
    room.empty();
    expect(await gateway.stop()).toBe(0);
  });

  async function growUntil(what: string, isSo: () => Promise<boolean>): Promise<void> {
    await until(what, async () => {
      chain.extend(5);
      return isSo();
    });
  }
  const readiness = async (): Promise<string> => (await fetch(`${gateway.url}/readyz`)).text();
  const callOf = (method: string, params: unknown[]): Promise<Response> =>
    post(gateway.endpoint("main"), JSON.stringify({ jsonrpc: "2.0", id: 1, method, params }));
  const latest = async (): Promise<{ hash?: string }> =>
    ((await ask(gateway.endpoint("main"), "eth_getBlockByNumber", ["latest", false])).result ??
      {}) as { hash?: string };
  const sourceOfLatest = async (): Promise<string | null> =>
    (await callOf("eth_getBlockByNumber", ["latest", false])).headers.get("x-headgate-source");
  const adminCall = (path: string, init: RequestInit = {}): Promise<Response> =>
    fetch(new URL(path, gateway.metricsUrl), {
      ...init,
      headers: { authorization: `Bearer ${TOKEN}`, "content-type": "application/json" },
    });
  const withLeaked = (): Promise<Response> =>
    post(
      gateway.endpoint("main").replace(/[^/]+$/, leaked.key),
      JSON.stringify({ jsonrpc: "2.0", id: 1, method: "eth_chainId", params: [] }),
    );
  const makeKey = (name: string): Promise<Response> =>
    adminCall("/keys", { method: "POST", body: JSON.stringify({ name }) });
  async function measured(name: string): Promise<number | undefined> {
    const text = await (await adminCall("/metrics")).text();
    const value = new RegExp(`^${name}(?:\\{[^}]*\\})? (\\d+)$`, "m").exec(text)?.[1];
    return value === undefined ? undefined : Number(value);
  }
  async function callsInTheReport(): Promise<number> {
    const report = (await (await adminCall("/usage")).json()) as { rows?: { calls: number }[] };
    return (report.rows ?? []).reduce((sum, { calls }) => sum + calls, 0);
  }
});

async function expectRefused(response: Response): Promise<void> {
  const { error } = (await response.json()) as { error?: { message: string } };
  expect([response.status, response.headers.get("retry-after")]).toEqual([503, "10"]);
  expect(error?.message).toContain("no space is left on the disk");
}

/** A caller that calls without a pause for the head, which nodes can always tell. */
class Load {
  readonly failures: string[] = [];
  calls = 0;
  #isOver = false;
  readonly #running: Promise<void>;

  constructor(url: string) {
    this.#running = this.#run(url);
  }

  async end(): Promise<void> {
    this.#isOver = true;
    await this.#running;
  }

  async #run(url: string): Promise<void> {
    while (!this.#isOver) {
      const { error } = await ask(url, "eth_getBlockByNumber", ["latest", false]).catch(
        (thrown: Error) => ({ error: thrown }),
      );
      this.calls += 1;
      if (error) this.failures.push(error.message);
    }
  }
}
