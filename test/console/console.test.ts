// The console in a browser, over a real gateway and real nodes.
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { type AnvilNode, startAnvil } from "../support/anvil-node.ts";
import { axeViolations, lacksBrowser, logIn, openPage, startBrowser } from "../support/browser.ts";
import { Certificates, hasOpenssl } from "../support/certificates.ts";
import { type RunningGateway, startGatewayProcess } from "../support/gateway-process.ts";

const TOKEN = "a-token-of-the-tests";
const OTHER = "a-token-of-somebody-else";

let anvil: AnvilNode | undefined;
let gateway: RunningGateway;
let browser: Browser;
let url: string;

const network = (): object => ({
  ...{ family: "evm", chainId: 31_337 },
  // The longest name: no screen may become wider than the window.
  upstreams: [{ url: anvil?.url, name: "w".repeat(64) }],
});

describe.skipIf(lacksBrowser())("the console", () => {
  beforeAll(async () => {
    anvil = await startAnvil();
    if (!anvil) throw new Error("no anvil for this platform");
    gateway = await startGatewayProcess({
      admin: {
        ...{ listen: { port: 0 }, token: TOKEN },
        tokens: [{ name: "other", role: "all", token: OTHER }],
      },
      keys: [{ name: "k".repeat(64), key: "test-key" }],
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

  /** Ends the session, as after twelve hours or a restart of the gateway. */
  const endSession = async (page: Page): Promise<void> => {
    const headers = { origin: url, "content-type": "application/json" };
    const ended = await page.context().request.post(`${url}/session/end`, { headers, data: {} });
    expect(ended.status()).toBe(200);
  };

  it("keeps what was filled in when the session ends, for nobody but who filled it in", async () => {
    const { page, complaints } = await openPage(browser, `${url}/#/keys?new=1`);
    await logIn(page, TOKEN);
    const name = page.getByLabel("name", { exact: true });
    await name.fill("of-the-night");
    await page.getByText("Live").waitFor();
    await endSession(page);
    const again = page.getByRole("dialog", { name: "Log in again" });
    await again.waitFor(); // appears by itself, because the stream has ended
    expect(await name.isVisible()).toBe(false);
    expect(await axeViolations(page)).toEqual([]);
    await page.keyboard.press("Escape");
    await page.keyboard.press("Escape");
    await again.waitFor(); // a browser may close the dialog for a moment
    await logIn(page, TOKEN);
    expect(await name.inputValue()).toBe("of-the-night");
    await page.getByRole("button", { name: "Make the key" }).press("Enter");
    await page.getByLabel("The key's text").waitFor();
    await endSession(page); // while the page shows the key's text, which the gateway tells once
    await again.waitFor();
    await logIn(page, TOKEN);
    expect(await page.getByLabel("The key's text").inputValue()).toMatch(/^hg_/);
    await page.getByRole("button", { name: "I have it" }).press("Enter");
    await page.goto(`${url}/#/keys?new=1`);
    await name.fill("of-another-night");
    await endSession(page);
    await again.waitFor();
    await logIn(page, OTHER);
    expect(await name.inputValue()).toBe("");
    expect(complaints).toEqual([]);
    await page.context().close();
  });

  it("is left in all tabs at once, and entered", async () => {
    const { page } = await openPage(browser, url);
    await logIn(page, TOKEN);
    const second = await page.context().newPage();
    await second.goto(`${url}/#/keys`);
    const place = second.getByRole("navigation", { name: "Screens" });
    await place.waitFor();
    await page.getByRole("button", { name: "Log out" }).press("Enter");
    await second.getByLabel("Token").waitFor();
    expect(await second.getByRole("heading").allTextContents()).toEqual(["Headgate"]);
    await logIn(page, TOKEN);
    await place.waitFor();
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
      await page.getByRole("link", { name: "New key" }).press("Enter"); // changes work with the cookie over TLS
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
