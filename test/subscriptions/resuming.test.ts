// The code in the documentation for users of viem and ethers, unchanged, over a gateway that is killed.
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import type { Readable } from "node:stream";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { anvilCommand, freePorts } from "../../packages/devnet/src/node-process.ts";
import { type Header, latest, mine, settled } from "../support/anvil-chain.ts";
import { type AnvilNode, startAnvil } from "../support/anvil-node.ts";
import { type RunningGateway, startGatewayProcess } from "../support/gateway-process.ts";
import { until } from "../support/processes.ts";

const isHere = anvilCommand({ port: 1, chainId: 1 }) !== undefined;

/** Runs the documented code of a library where it finds the libraries, and collects the heads. */
class Documented {
  readonly heads: Header[] = [];
  readonly #process: ChildProcess;

  private constructor(file: string, url: string) {
    this.#process = spawn(process.execPath, [file, url], { stdio: ["ignore", "pipe", "ignore"] });
    const lines = createInterface({ input: this.#process.stdout as Readable });
    lines.on("line", (line) => this.heads.push(JSON.parse(line) as Header));
  }

  static async run(library: string, url: string): Promise<Documented> {
    const text = await readFile("docs/websocket.md", "utf8");
    const blocks = [...text.matchAll(/```js\n([\s\S]*?)```/g)].map(([, block = ""]) => block);
    const isIts = (block: string) => block.includes("watchHeads") && block.includes(`"${library}"`);
    const folder = join("node_modules", ".documented");
    await mkdir(folder, { recursive: true });
    const file = join(folder, `${library}.mjs`);
    const use = "watchHeads(process.argv[2], (head) => console.log(JSON.stringify(head)));\n";
    await writeFile(file, `${blocks.find(isIts)}\n${use}`);
    return new Documented(file, url);
  }

  async stop(): Promise<void> {
    const ended = once(this.#process, "exit");
    this.#process.kill();
    await ended;
  }
}

describe.skipIf(!isHere)("the documented way to resume", () => {
  let anvil: AnvilNode;
  let gateway: RunningGateway;
  let data: string;
  let start: () => Promise<RunningGateway>;

  beforeAll(async () => {
    data = await mkdtemp(join(tmpdir(), "headgate-resuming-"));
    anvil = (await startAnvil()) as AnvilNode;
    await mine(anvil, 32);
    const { port } = await freePorts("port");
    const { chainId, url } = anvil;
    const main = { family: "evm", chainId, upstreams: [{ url }] };
    start = () => startGatewayProcess({ data, listen: { port }, networks: { main } });
    gateway = await start();
    await settled(gateway.endpoint("main"), anvil);
  });
  afterAll(async () => {
    await gateway.stop();
    anvil.close();
    await rm(data, { recursive: true, force: true });
  });

  it("tells users of viem and of ethers each head once and in order", async () => {
    const url = gateway.endpoint("main").replace("http:", "ws:");
    const clients = [await Documented.run("viem", url), await Documented.run("ethers", url)];
    const allHeard = async (): Promise<void> => {
      const { hash } = await latest(anvil.url);
      await until("both have heard of the head", async () =>
        clients.every(({ heads }) => heads.at(-1)?.hash === hash),
      );
    };
    await until("both have begun", async () => {
      await mine(anvil, 1);
      return clients.every(({ heads }) => heads.length > 0);
    });
    await mine(anvil, 3);
    await allHeard();
    const dead = once(gateway.process, "exit");
    gateway.process.kill("SIGKILL");
    await dead;
    await mine(anvil, 5);
    gateway = await start();
    await mine(anvil, 1);
    await allHeard();
    for (const { heads } of clients) {
      const numbers = heads.map(({ number }) => Number(number));
      expect(numbers).toEqual(numbers.map((_, index) => (numbers[0] ?? 0) + index));
      expect(numbers.length).toBeGreaterThanOrEqual(10);
    }
    for (const client of clients) await client.stop();
  });
});
