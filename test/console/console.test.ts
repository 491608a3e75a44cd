// The console in a browser, over a real gateway and real nodes.
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type AnvilNode, startAnvil } from "../support/anvil-node.ts";
import { axeViolations, lacksBrowser, logIn, openPage, startBrowser } from "../support/browser.ts";
import { type RunningGateway, startGatewayProcess } from "../support/gateway-process.ts";

const TOKEN = "a-token-of-the-tests";

let anvil: AnvilNode | undefined;
let gateway: RunningGateway;
let browser: Browser;
let url: string;

describe.skipIf(lacksBrowser())("the console", () => {
  beforeAll(async () => {
    anvil = await startAnvil();
    if (!anvil) throw new Error("no anvil for this platform");
    const main = { family: "evm", chainId: 31_337, upstreams: [{ url: anvil.url, name: "own" }] };
    gateway = await startGatewayProcess({
      admin: { listen: { port: 0 }, token: TOKEN },
      networks: { main },
    });
    url = gateway.metricsUrl.replace("/metrics", "");
    browser = await startBrowser();
  });
  afterAll(async () => {
    await browser?.close();
    await gateway?.stop();
    anvil?.close();
  });

  const looks = [
    { look: {}, name: "light" },
    { look: { isDark: true }, name: "dark" },
    { look: { width: 360, height: 740 }, name: "360 px" },
  ];

  it.each(looks)("every screen is in order for axe: $name", async ({ look }) => {
    const { page, complaints } = await openPage(browser, url, look);
    await page.getByLabel("Token").waitFor();
    expect(await axeViolations(page)).toEqual([]);
    await logIn(page, TOKEN);
    const screens = page.getByRole("navigation", { name: "Screens" }).getByRole("link");
    const names = await screens.allTextContents();
    expect(names.length).toBeGreaterThan(6);
    for (const name of names) {
      await screens.filter({ hasText: name }).press("Enter");
      await page.getByRole("heading", { name, level: 1 }).waitFor();
      await page.getByText("Loading").waitFor({ state: "detached" });
      expect(await axeViolations(page), name).toEqual([]);
      const width = await page.evaluate("document.documentElement.scrollWidth");
      expect(width, name).toBeLessThanOrEqual(page.viewportSize()?.width ?? 0);
    }
    expect(complaints).toEqual([]);
    await page.context().close();
  });
});
