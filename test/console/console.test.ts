// The console in a browser, over a real gateway and real nodes.
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { type AnvilNode, startAnvil } from "../support/anvil-node.ts";
import { axeViolations, lacksBrowser, logIn, openPage, startBrowser } from "../support/browser.ts";
import { Certificates, hasOpenssl } from "../support/certificates.ts";
import { type RunningGateway, startGatewayProcess } from "../support/gateway-process.ts";

const TOKEN = "a-token-of-the-tests";

let anvil: AnvilNode | undefined;
let gateway: RunningGateway;
let browser: Browser;
let url: string;

const network = (): object => ({
  ...{ family: "evm", chainId: 31_337 },
  upstreams: [{ url: anvil?.url, name: "own" }],
});

describe.skipIf(lacksBrowser())("the console", () => {
  beforeAll(async () => {
    anvil = await startAnvil();
    if (!anvil) throw new Error("no anvil for this platform");
    gateway = await startGatewayProcess({
      admin: { listen: { port: 0 }, token: TOKEN },
      networks: { main: network() },
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

  it.skipIf(!hasOpenssl)(
    "is logged in to over TLS, by a cookie that no plain page gets",
    async () => {
      const made = new Certificates();
      made.authority("ca");
      const secure = await startGatewayProcess({
        admin: { listen: { port: 0, tls: made.signed("admin", "ca") }, token: TOKEN },
        networks: { main: network() },
      });
      onTestFinished(async () => {
        await secure.stop();
        made.remove();
      });
      const { origin, port } = new URL(secure.metricsUrl);
      expect(origin).toMatch(/^https:/);
      const { page, complaints } = await openPage(browser, origin, { takesAnyCertificate: true });
      await logIn(page, TOKEN);
      await page.getByText("Live").waitFor();
      expect(await page.context().cookies()).toMatchObject([
        {
          ...{ name: `__Host-headgate-session-${port}`, path: "/", domain: "127.0.0.1" },
          ...{ secure: true, httpOnly: true, sameSite: "Strict" },
        },
      ]);
      await page.goto(`${origin}/#/keys`);
      await page.getByRole("link", { name: "New key" }).press("Enter"); // a change, by the cookie
      await page.getByLabel("name", { exact: true }).fill("over-tls");
      await page.getByRole("button", { name: "Make the key" }).press("Enter");
      await page.getByLabel("The key's text").waitFor();
      await page.getByRole("button", { name: "I have it" }).press("Enter");
      await page.getByRole("button", { name: "Log out" }).press("Enter");
      await page.getByLabel("Token").waitFor();
      expect(await page.context().cookies()).toEqual([]);
      expect(complaints).toEqual([]);
      await page.context().close();
    },
  );
});
