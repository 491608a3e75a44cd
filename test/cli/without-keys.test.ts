// The start warns an operator who has no key yet, and only then.
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { runCommand, startGatewayProcess } from "../support/gateway-process.ts";

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "headgate-without-keys-"));
});
afterEach(() => rm(folder, { recursive: true }));

const settings = (processes: number) => ({
  ...{ processes, keys: [], data: join(folder, "data") },
  networks: {
    main: {
      ...{ family: "evm", chainId: 1, window: { blocks: 0 } },
      upstreams: [{ url: "http://127.0.0.1:1" }],
    },
  },
});

async function keys(...words: readonly string[]): Promise<void> {
  const path = join(folder, "headgate.yaml");
  await writeFile(path, JSON.stringify(settings(1)));
  expect(await runCommand(["keys", ...words, "--config", path])).toMatchObject({ code: 0 });
}

/** The log lines about keys of one start. */
async function told(processes: number): Promise<readonly unknown[]> {
  const gateway = await startGatewayProcess(settings(processes));
  expect(await gateway.stop()).toBe(0);
  return gateway.log.map(({ msg }) => msg).filter((msg) => msg?.includes("keys create"));
}

it.each([1, 2])(
  "a start without keys says so, until one is made: %d processes",
  async (processes) => {
    const warning = [expect.stringContaining("there are no active keys")];
    expect(await told(processes)).toEqual(warning);
    await keys("create", "web");
    expect(await told(processes)).toEqual([]);
    await keys("revoke", "web");
    expect(await told(processes)).toEqual(warning);
  },
);
