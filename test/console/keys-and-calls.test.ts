// Operators' work in the console with the keyboard alone: make, try, bill and revoke a key, and replace a
// configuration. Also: hostile texts stay texts, and the role `read` sees no actions.
import type { Browser, Locator, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type AnvilNode, startAnvil } from "../support/anvil-node.ts";
import { axeViolations, lacksBrowser, logIn, openPage, startBrowser } from "../support/browser.ts";
import { type RunningGateway, startGatewayProcess } from "../support/gateway-process.ts";
import { until } from "../support/processes.ts";
import { failure, result, type ScriptedNode, startScriptedNode } from "../support/scripted-node.ts";

const TOKEN = "a-token-of-the-tests";
const READER = "a-token-that-only-reads";
const HOSTILE = `<img src=x onerror="window.wasRun=1"><script>window.wasRun=1</script>`;

let anvil: AnvilNode | undefined;
let hostile: ScriptedNode;
let gateway: RunningGateway;
let browser: Browser;
let url: string;

const post = (network: string, method: string, key = "test-key"): Promise<unknown> =>
  fetch(gateway.endpoint(network, key), {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ jsonrpc: "2.0", id: HOSTILE, method, params: [] }),
  }).then((response) => response.json());

/** Moves the focus to an element with the Tab key. */
async function goTo(page: Page, target: Locator): Promise<void> {
  await target.waitFor();
  for (let steps = 0; steps < 150; steps += 1) {
    if (await target.evaluate((element) => element === element.ownerDocument.activeElement)) return;
    await page.keyboard.press("Tab");
  }
  throw new Error(`the keyboard does not reach ${target}`);
}

async function press(page: Page, target: Locator): Promise<void> {
  await goTo(page, target);
  await page.keyboard.press("Enter");
}

async function fill(page: Page, label: string, text: string): Promise<void> {
  await goTo(page, page.getByLabel(label, { exact: true }));
  await page.keyboard.press("ControlOrMeta+A");
  await page.keyboard.type(text);
}

const button = (page: Page, name: string): Locator =>
  page.getByRole("button", { name, exact: true });
const link = (page: Page, name: string): Locator => page.getByRole("link", { name, exact: true });

describe.skipIf(lacksBrowser())("in the console an operator", () => {
  beforeAll(async () => {
    anvil = await startAnvil();
    if (!anvil) throw new Error("no anvil for this platform");
    hostile = await startScriptedNode((call) =>
      call.method === "eth_gasPrice"
        ? failure(call, JSON.stringify({ code: -32_000, message: HOSTILE }))
        : result(call, '"0x1"'),
    );
    const upstreams = [{ url: `${anvil.url}/?secret-path`, name: "own" }];
    gateway = await startGatewayProcess({
      admin: {
        listen: { port: 0 },
        token: TOKEN,
        tokens: [{ name: "reader", role: "read", token: READER }],
      },
      tail: { calls: 50, slow: "1ms" },
      prices: { computeUnits: 1_000 },
      networks: {
        main: { family: "evm", chainId: 31_337, upstreams },
        bad: {
          ...{ family: "evm", chainId: 1, window: { blocks: 0 } },
          upstreams: [{ url: hostile.url, name: "hostile" }],
        },
      },
    });
    url = gateway.metricsUrl.replace("/metrics", "");
    browser = await startBrowser();
  });
  afterAll(async () => {
    await browser?.close();
    await gateway?.stop();
    anvil?.close();
    await hostile?.close();
  });

  it("makes a key, tries it, sees its bill, and revokes it, without a mouse", async () => {
    const { page, complaints } = await openPage(browser, url);
    await logIn(page, TOKEN);
    await press(page, link(page, "Keys"));
    await press(page, link(page, "New key"));
    await fill(page, "name", "shop");
    await fill(page, "networks", "main");
    await press(page, button(page, "Make the key"));
    const text = await page.getByLabel("The key's text").inputValue();
    expect(text).toMatch(/^hg_/);
    expect(await axeViolations(page)).toEqual([]);
    await press(page, button(page, "I have it"));
    expect(await page.content()).not.toContain(text);

    await press(page, page.getByRole("main").getByRole("link", { name: "Try", exact: true }));
    await goTo(page, page.getByLabel("Method"));
    await page.keyboard.type("eth_getBlockByN");
    await press(page, button(page, "Call"));
    await page.getByText("Answered").waitFor();
    const answer = page.getByRole("region", { name: "The answer" });
    expect(await answer.textContent()).toMatch(
      /HTTP 200.*USD.*From(the store|a node).*Price3 units/s,
    );
    expect(await answer.getByLabel("The response in JSON").textContent()).toContain('"parentHash"');
    expect(await axeViolations(page)).toEqual([]);

    await press(page, link(page, "Bill"));
    await page.getByRole("link", { name: "shop" }).waitFor();
    await press(page, page.getByRole("link", { name: "shop" }));
    await page.getByRole("heading", { name: "Usage in the last 30 days" }).waitFor();
    await page.getByRole("img", { name: /^Calls by hour\. .+: \d/ }).waitFor();
    expect(
      await page.getByRole("table", { name: "The key's methods, by compute units" }).textContent(),
    ).toContain("eth_getBlockByNumber13");
    await press(page, button(page, "Revoke …"));
    await goTo(page, page.getByLabel("Type shop to confirm"));
    await page.keyboard.type("shop-not");
    await page.keyboard.press("Enter");
    expect(await page.getByRole("dialog").count()).toBe(1);
    await fill(page, "Type shop to confirm", "shop");
    await page.keyboard.press("Enter");
    await page.getByText("Revoked").first().waitFor();
    await until("the key is refused", async () => {
      const { error } = (await post("main", "eth_chainId", text)) as { error?: { code: number } };
      return error?.code === -32_000 ? true : undefined;
    });
    expect(complaints).toEqual([]);
    await page.context().close();
  });

  it("replaces the configuration; one with a mistake, or that somebody else changed, is refused", async () => {
    const { page, complaints } = await openPage(browser, url);
    await logIn(page, TOKEN);
    await press(page, link(page, "Configuration"));
    const area = page.getByLabel("The file's text");
    await area.waitFor();
    const shown = await area.inputValue();
    expect(shown).not.toMatch(/secret-path|a-token/);
    const edit = async (to: string): Promise<void> => {
      await goTo(page, area);
      await page.keyboard.press("ControlOrMeta+A");
      await page.keyboard.insertText(to);
    };
    await edit(shown.replace('"slow":"1ms"', '"slow":"soon"'));
    await press(page, button(page, "Apply …"));
    await page.getByText("tail.slow: expected a duration").waitFor();
    expect(await page.getByRole("dialog").count()).toBe(0);

    await edit(shown.replace('"slow":"1ms"', '"slow":"2ms"'));
    await press(page, button(page, "Apply …"));
    await page.getByRole("dialog").getByText("tail.slow: 1ms → 2ms").waitFor();
    expect(await axeViolations(page)).toEqual([]);
    await press(page, button(page, "Apply"));
    await page.getByText("The configuration is in force").waitFor();
    const reloads = page.getByRole("region", { name: "The last reloads" });
    await reloads.getByText("tail.slow: 1ms → 2ms").waitFor();
    expect(await reloads.textContent()).toContain("Reloaded by admin");

    await edit(shown.replace('"slow":"1ms"', '"slow":"3ms"'));
    await press(page, button(page, "Apply …"));
    await page.getByRole("dialog").waitFor();
    await gateway.write(await page.evaluate(() => "networks: {}"));
    await press(page, button(page, "Apply"));
    await page.getByRole("dialog").getByText("was changed after you read it").waitFor();
    expect(complaints).toEqual([]);
    await page.context().close();
  });

  it("sees slow and failed calls come, with their stories, and hostile texts as texts", async () => {
    const { page, complaints } = await openPage(browser, url);
    await logIn(page, TOKEN);
    await press(page, link(page, "Calls"));
    await post("bad", "eth_gasPrice");
    await post("bad", HOSTILE);
    const calls = page.getByRole("region", { name: "Calls, the newest first" });
    await press(
      page,
      calls
        .locator("summary")
        .filter({ hasText: "bad" })
        .filter({ hasText: "eth_gasPrice" })
        .first(),
    );
    await calls
      .getByRole("table", { name: "Nodes that were asked, in order" })
      .getByText("hostile")
      .waitFor();
    expect(await axeViolations(page)).toEqual([]);

    const failed = calls.locator("summary").filter({ hasText: "eth_gasPrice" });
    const before = await failed.count();
    const toldAt = () => page.locator(".freshness time").getAttribute("datetime");
    await press(page, button(page, "Pause"));
    await post("bad", "eth_gasPrice");
    for (let events = 0; events < 3; events += 1) {
      const last = await toldAt();
      await until("another event came", async () => (await toldAt()) !== last);
    }
    expect(await failed.count()).toBe(before);
    await press(page, button(page, "Resume"));
    await until("what came meanwhile", async () => (await failed.count()) === before + 1);

    await page.evaluate("location.hash = '#/calls?key=' + encodeURIComponent('<b>x</b>')");
    await page.getByText("No call matches the filters").waitFor();

    await page.evaluate("location.hash = '#/try?key=test&network=bad'");
    await page.getByLabel("Method").selectOption("eth_gasPrice");
    await press(page, button(page, "Call"));
    const json = page.getByLabel("The response in JSON");
    await json.waitFor();
    expect(await json.textContent()).toContain("<img src=x onerror=");
    await page.evaluate(
      `location.hash = "#/keys?key=" + encodeURIComponent(${JSON.stringify(HOSTILE)})`,
    );
    await page.getByText("there is no key of the name").waitFor();
    expect(await page.locator("main img, main script").count()).toBe(0);
    expect(await page.evaluate("window.wasRun")).toBeUndefined();
    expect(complaints).toEqual([]);
    await page.context().close();
  });

  it("who only reads is offered nothing to do, in the viewer's own zone", async () => {
    const { page } = await openPage(browser, url, { zone: "Asia/Tokyo" });
    await logIn(page, READER);
    await page.getByRole("link", { name: "Keys" }).press("Enter");
    await page.getByRole("link", { name: "shop" }).press("Enter");
    await page.getByRole("heading", { name: "Permissions and limits" }).waitFor();
    const made = page.locator("dt", { hasText: "Made" }).locator("+ dd");
    const zoned = await page.evaluate("new Date().getTimezoneOffset()");
    expect(zoned).toBe(-540);
    const { createdAt } = (await (
      await fetch(`${url}/keys/shop`, { headers: { authorization: `Bearer ${READER}` } })
    ).json()) as { createdAt: string };
    const hour = (new Date(createdAt).getUTCHours() + 9) % 24;
    expect(await made.textContent()).toMatch(new RegExp(`\\b${String(hour).padStart(2, "0")}:`));
    for (const name of ["New key", "Change", "Revoke …", "Try"])
      expect(await page.getByRole("main").getByRole("button", { name, exact: true }).count()).toBe(
        0,
      );
    await page.getByRole("link", { name: "Try", exact: true }).press("Enter");
    await page.getByText("Your token is read-only").waitFor();
    await page.getByRole("link", { name: "Configuration" }).press("Enter");
    await page.getByRole("region", { name: "The file", exact: true }).waitFor();
    expect(await page.getByRole("textbox").count()).toBe(0);
    expect(await page.getByRole("button", { name: "Apply …" }).count()).toBe(0);
    await page.context().close();
  });
});
