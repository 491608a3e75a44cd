// Client libraries: viem, ethers and web3.js get from the gateway the same answers as from the node itself.
import { isDeepStrictEqual } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { anvilCommand } from "../../packages/devnet/src/node-process.ts";
import { type AnvilNode, startAnvil } from "../support/anvil-node.ts";
import { ask } from "../support/ask.ts";
import {
  type ExecutionChain,
  executionChainAvailable,
  startExecutionChain,
} from "../support/execution-chain.ts";
import { type RunningGateway, startGatewayProcess } from "../support/gateway-process.ts";
import { ethersQuestions } from "./ethers.ts";
import { outcomeOf } from "./outcome.ts";
import {
  type Questions,
  type Subject,
  subjectOfAnvil,
  subjectOfExecutionChain,
} from "./subject.ts";
import { viemQuestions } from "./viem.ts";
import { web3Questions } from "./web3.ts";

/** Titles of the only questions that may make a client throw. */
const MAY_FAIL = /not there|reverts/;

/** The reason as text, or as hex where the client does not decode it. */
const sayingWhy = ({ reason }: Subject): RegExp =>
  new RegExp(`${reason}|${Buffer.from(reason).toString("hex")}`);

type Network = { readonly url: string; readonly subject: Subject };
type Asked = { readonly questions: Questions; close?(): void };

const clients: Readonly<Record<string, (url: string) => Asked>> = {
  viem: (url) => ({ questions: viemQuestions(url) }),
  ethers: ethersQuestions,
  "web3.js": (url) => ({ questions: web3Questions(url) }),
};

const networks = {
  "execution-apis": executionChainAvailable,
  anvil: anvilCommand({ port: 1, chainId: 1 }) !== undefined,
};

let chain: ExecutionChain | undefined;
let anvil: AnvilNode | undefined;
let gateway: RunningGateway;
const running: Record<string, Network> = {};

beforeAll(async () => {
  if (networks["execution-apis"]) {
    chain = await startExecutionChain();
    const { result } = await ask(chain.url, "eth_chainId");
    const subject = subjectOfExecutionChain(chain, Number(result));
    running["execution-apis"] = { url: chain.url, subject };
  }
  anvil = await startAnvil();
  if (anvil) running["anvil"] = { url: anvil.url, subject: await subjectOfAnvil(anvil) };
  const settings = Object.entries(running).map(([name, { url, subject }]) => [
    name,
    { family: "evm", chainId: subject.chainId, upstreams: [{ url }] },
  ]);
  gateway = await startGatewayProcess({ networks: Object.fromEntries(settings) });
});

afterAll(async () => {
  await gateway?.stop();
  await chain?.close();
  anvil?.close();
});

for (const [network, isThere] of Object.entries(networks)) {
  if (!isThere) it.skip(`${network} is not on this machine`, () => {});
  for (const [client, connect] of Object.entries(clients)) {
    describe.runIf(isThere)(`${client} on ${network}`, () => {
      const nowhere = connect("http://127.0.0.1:1");
      nowhere.close?.();
      let atNode: Asked;
      let atGateway: Asked;

      beforeAll(() => {
        atNode = connect(running[network]?.url ?? "");
        atGateway = connect(gateway.endpoint(network));
      });
      afterAll(() => {
        atNode.close?.();
        atGateway.close?.();
      });

      it.each(Object.keys(nowhere.questions))("%s", async (title) => {
        const { subject } = running[network] ?? {};
        if (!subject) throw new Error(`${network} did not start`);
        const want = await outcomeOf(atNode.questions[title]?.(subject));
        const got = await outcomeOf(atGateway.questions[title]?.(subject));
        expect(Object.keys(want)).toEqual(MAY_FAIL.test(title) ? [expect.any(String)] : ["answer"]);
        if (title.includes("reverts")) expect(JSON.stringify(want)).toMatch(sayingWhy(subject));
        if (!isDeepStrictEqual(got, want)) expect(got).toEqual(want); // toEqual takes seconds over 20 MB
      });
    });
  }
}
