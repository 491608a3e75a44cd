// An operator uses the keyboard alone: logs in, sees a node fail within two seconds, and drains it.
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { reorganise } from "../filters/reorganise.ts";
import { type AnvilNode, startAnvil } from "../support/anvil-node.ts";
import { ask, read } from "../support/ask.ts";
import { axeViolations, lacksBrowser, logIn, openPage, startBrowser } from "../support/browser.ts";
import { type RunningGateway, startGatewayProcess } from "../support/gateway-process.ts";
import { type PassingNode, startPassingNode } from "../support/passing-node.ts";
import { stopwatch } from "../support/served-time.ts";

const TOKEN = "a-token-of-the-tests";
const READER = "another-token-of-the-tests";
/** The error text of a failing node: it would run code in a page that took it for markup. */
const ILL = '<img src="x" onerror="globalThis.isHacked = true">';

let anvil: AnvilNode | undefined;
let own: PassingNode | undefined;
let gateway: RunningGateway | undefined;
let browser: Browser | undefined;
let isIll = false;
let url = "";

/** Makes calls that only a node can answer, until the returned function is called. */
function beginCalls(): () => Promise<void> {
  let isEnded = false;
  let number = 0;
  const calls = (async () => {
    while (!isEnded) {
      number += 1;
      const address = `0x${number.toString(16).padStart(40, "0")}`;
      const endpoint = gateway?.endpoint("main") ?? "";
      await ask(endpoint, "eth_getBalance", [address, "latest"]).catch(() => undefined);
    }
  })();
  return async () => {
    isEnded = true;
    await calls;
  };
}

/** Presses Tab until the element with this name has the focus. */
async function tabTo(page: Page, name: string): Promise<void> {
  const focused = () =>
    page.evaluate(
      "document.activeElement.getAttribute('aria-label') ?? document.activeElement.textContent.trim()",
    );
  for (let presses = 0; presses < 80; presses += 1) {
    if ((await focused()) === name) return;
    await page.keyboard.press("Tab");
  }
  throw new Error(`Tab does not lead to ${name}`);
}

const rowOf = (page: Page, node: string) =>
  page.getByRole("table", { name: "Nodes of main" }).getByRole("row").filter({ hasText: node });

describe.skipIf(lacksBrowser())("the console at night", () => {
  beforeAll(async () => {
    anvil = await startAnvil();
    if (!anvil) throw new Error("no anvil for this platform");
    own = await startPassingNode(anvil.url, () => (isIll ? ILL : undefined));
    gateway = await startGatewayProcess({
      admin: {
        ...{ listen: { port: 0 }, token: TOKEN },
        tokens: [{ name: "grafana", role: "read", token: READER }],
      },
      tail: { calls: 20, slow: "10s" },
      networks: {
        main: {
          ...{ family: "evm", chainId: 31_337 },
          upstreams: [
            { url: own.url, name: "own" },
            // A second URL of the same anvil: two anvils started in different seconds have two chains.
            { url: anvil.url, name: "other", weight: 0 },
          ],
        },
      },
    });
    url = gateway.metricsUrl.replace("/metrics", "");
    browser = await startBrowser();
  });
  afterAll(async () => {
    await browser?.close();
    await gateway?.stop();
    await own?.close();
    anvil?.close();
  });

  it("shows an ill node within two seconds, and drains it, by the keyboard alone", async () => {
    const { page, complaints } = await openPage(browser as Browser, url);
    const endCalls = beginCalls();
    await logIn(page, TOKEN);
    await tabTo(page, "Nodes");
    await page.keyboard.press("Enter");
    const row = rowOf(page, "own");
    await row.getByText("Well").waitFor();
    isIll = true;
    const elapsedMs = stopwatch(process); // counts also the processor time of child processes, such as the browser
    await row
      .getByText(/Failing|Given up|Unusable/)
      .first()
      .waitFor();
    expect(elapsedMs()).toBeLessThan(2_000);

    await tabTo(page, "Drain own of main");
    await page.keyboard.press("Enter");
    const dialog = page.getByRole("dialog", { name: "Drain own?" });
    await dialog.waitFor();
    expect(await axeViolations(page)).toEqual([]);
    await page.keyboard.press("Escape");
    await dialog.waitFor({ state: "detached" });
    await tabTo(page, "Drain own of main"); // the focus is back on the button
    await page.keyboard.press("Enter");
    await tabTo(page, "Drain own");
    await page.keyboard.press("Enter");
    await page.getByText("own is drained").waitFor();
    await row.getByText("Drained").waitFor();
    await row.getByText("0/s").first().waitFor();
    await tabTo(page, "Undrain own of main");
    await page.keyboard.press("Enter");
    await row.getByText("Drained").waitFor({ state: "detached" });
    isIll = false;
    await endCalls();
    expect(await page.evaluate("globalThis.isHacked")).toBeUndefined();
    expect(complaints).toEqual([]);
    await page.context().close();
  });

  it("shows a reader the nodes, and no way to drain one", async () => {
    const { page } = await openPage(browser as Browser, url);
    await logIn(page, READER);
    await page.goto(`${url}/#/nodes`);
    await rowOf(page, "own").waitFor();
    expect(await page.getByRole("button", { name: /Drain/ }).count()).toBe(0);
    await page.context().close();
  });

  it("shows a reorganisation as two branches", async () => {
    const { page } = await openPage(browser as Browser, url);
    await logIn(page, TOKEN);
    const chain = anvil?.url ?? "";
    await read(chain, "anvil_mine", "0x5");
    const head = Number(await read(chain, "eth_blockNumber"));
    const leader = page.locator(".figure").filter({ hasText: "Led by" });
    await leader.getByText(/^(own|other)$/).waitFor(); // after the failure of "own" either node may lead
    await page.locator(".figure dd").getByText(String(head), { exact: true }).waitFor();
    await reorganise(chain, 2);
    await page.getByText("The last reorganisations").click();
    await page.getByRole("list", { name: "Removed blocks" }).first().waitFor();
    expect(await axeViolations(page)).toEqual([]);
    await page.context().close();
  });

  it("says that it is stale when the gateway is away, and goes on when it is back", async () => {
    const { page } = await openPage(browser as Browser, url);
    await logIn(page, TOKEN);
    await page.getByText("Live").waitFor();
    gateway?.process.kill("SIGSTOP");
    await page.getByText("The gateway has sent nothing for").waitFor();
    expect(await axeViolations(page)).toEqual([]);
    gateway?.process.kill("SIGCONT");
    await page.getByText("Live").waitFor();
    await page.context().close();
  });
});
