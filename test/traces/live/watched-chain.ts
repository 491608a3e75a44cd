// The chain with the cases on it, the true execution of each, and the gateway over it.
import { type RunningGateway, startGatewayProcess } from "../../support/gateway-process.ts";
import type { Accounts } from "../state-recorder.ts";
import type { Case } from "./case.ts";
import { common, type Mined, mine, plantAll, startChain, wholeState } from "./chain.ts";
import { accountsAt, differing, machineWith } from "./states.ts";
import { Executor, type Truth } from "./truth.ts";

export type Watched = Mined & {
  readonly truth: Truth;
  /** The accounts that ethereumjs wrote, as the node has them before and after the block. */
  readonly before: Accounts;
  readonly after: Accounts;
};

export type WatchedChain = {
  readonly url: string;
  /** By the names of the cases. */
  readonly byName: ReadonlyMap<string, Watched>;
  /** The addresses whose present accounts differ between the node and ethereumjs. */
  differing(): Promise<readonly string[]>;
  close(): void;
};

export async function startWatchedChain(cases: readonly Case[]): Promise<WatchedChain> {
  const { url, close } = await startChain();
  await plantAll(url, cases);
  const vm = await machineWith(await wholeState(url));
  const executor = new Executor(vm);
  const byName = new Map<string, Watched>();
  for (const one of cases) {
    const mined = await mine(url, one);
    const truth = await executor.execute(mined);
    const block = Number(mined.receipt.blockNumber);
    const before = await accountsAt({ url, block: block - 1 }, truth.recorded);
    const after = await accountsAt({ url, block }, truth.recorded);
    byName.set(one.name, { ...mined, truth, before, after });
  }
  return { url, byName, differing: async () => differing(vm, await wholeState(url)), close };
}

/** Starts a gateway with the network `main`. */
export const startGatewayOver = (nodeUrl: string): Promise<RunningGateway> => {
  const upstreams = [{ url: nodeUrl }];
  const chainId = Number(common.chainId());
  return startGatewayProcess({ networks: { main: { family: "evm", chainId, upstreams } } });
};
