// Texts that a page could take for code or for its own words, from every place where a stranger writes them: errors,
// answers and evidence of nodes, ids and methods of callers, comments of the configuration. Each screen shows them as
// texts, and loads and runs nothing but its own files.
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { post } from "../support/ask.ts";
import { lacksBrowser, logIn, openPage, startBrowser } from "../support/browser.ts";
import { type RunningGateway, startGatewayProcess } from "../support/gateway-process.ts";
import { until } from "../support/processes.ts";
import { failure, result, type ScriptedNode, startScriptedNode } from "../support/scripted-node.ts";

const TOKEN = "a-token-of-the-tests";
const RUN = "globalThis.wasRun=1";
const TEXTS: readonly string[] = [
  `<script>${RUN}</script>`,
  `</pre></code></td><script>${RUN}</script>`,
  `<img src=x onerror="${RUN}">`,
  `<svg/onload=${RUN}><details open ontoggle=${RUN}>`,
  `<iframe srcdoc="<script>parent.${RUN}</script>"></iframe>`,
  `<base href="https://elsewhere.example/"><meta http-equiv=refresh content="0;url=javascript:${RUN}">`,
  `<a href="javascript:${RUN}" autofocus onfocus=${RUN}>javascript:${RUN}</a>`,
  `<link rel=stylesheet href="https://elsewhere.example/a.css"><style>body{display:none}</style>`,
  `&lt;script&gt;${RUN}&lt;/script&gt; &#60;img src=x onerror=${RUN}&#62;`,
  `"><script>${RUN}</script><"`,
  `{{constructor.constructor('${RUN}')()}} \${${RUN}} <%= ${RUN} %>`,
  "\u202egnp.sdnuf fo tuo\u2066 \u2067\u200f",
  `\u0000\u0008\u001b[2J\u001b]0;title\u0007\u2028\u2029\ufffe\ud83d`,
  "x".repeat(5_000),
  "W ".repeat(2_500),
];
const FORBIDDEN =
  "iframe, object, embed, base, meta[http-equiv], main img, main script, main style, main link, [onerror], [onload], [onfocus], [ontoggle], [srcdoc]";

let node: ScriptedNode;
let liar: ScriptedNode;
let gateway: RunningGateway;
let browser: Browser;
let url: string;
let turn = 0;
const nextText = (): string => {
  turn += 1;
  return TEXTS[turn % TEXTS.length] as string;
};

const call = async (network: string, method: string, params: unknown[], id: unknown) =>
  (
    await post(gateway.endpoint(network), JSON.stringify({ jsonrpc: "2.0", id, method, params }))
  ).text();

describe.skipIf(lacksBrowser())("a text of a stranger in the console", () => {
  beforeAll(async () => {
    node = await startScriptedNode((asked, response) => {
      const text = nextText();
      if (asked.method === "web3_clientVersion") return result(asked, JSON.stringify(text));
      if (turn % 3 === 0)
        return failure(asked, JSON.stringify({ code: -32_000, message: text, data: text }));
      if (turn % 3 === 1) return result(asked, JSON.stringify(text));
      response.writeHead(500, { "content-type": "text/html" }).end(text);
      return undefined;
    });
    liar = await startScriptedNode((asked) => {
      const text = JSON.stringify(nextText());
      if (asked.method !== "eth_getLogs") return result(asked, text);
      return result(
        asked,
        `[{"address":${text},"topics":[${text}],"data":${text},"blockHash":${text}}]`,
      );
    });
    const network = { family: "evm", chainId: 1, window: { blocks: 0 } };
    gateway = await startGatewayProcess({
      admin: { listen: { port: 0 }, token: TOKEN },
      tail: { calls: 200, slow: "1ms" },
      networks: {
        main: { ...network, upstreams: [{ url: node.url, name: "own", probe: true }] },
        lies: { ...network, upstreams: [{ url: liar.url, name: "liar" }] },
        unreached: {
          ...network,
          window: { blocks: 10 },
          upstreams: [{ url: node.url, name: "other" }],
        },
      },
    });
    url = new URL(gateway.metricsUrl).origin;
    for (const [at, text] of TEXTS.entries()) {
      const account = `0x${at.toString(16).padStart(40, "0")}`;
      await call("main", "eth_getBalance", [account, "latest"], text);
      await call("main", text, [text], at);
      await call(
        "lies",
        "eth_getLogs",
        [{ fromBlock: "0x1", toBlock: "0x1", address: account }],
        text,
      );
      await call("lies", "eth_sendRawTransaction", ["0x00"], text);
    }
    browser = await startBrowser();
  });
  afterAll(async () => {
    await browser?.close();
    expect(await gateway.stop()).toBe(0);
    await node.close();
    await liar.close();
  });

  async function expectHarmless(page: Page, where: string): Promise<void> {
    await page.evaluate(
      "for (const each of document.querySelectorAll('details')) each.open = true",
    );
    expect(await page.evaluate("globalThis.wasRun"), where).toBeUndefined();
    expect(await page.locator(FORBIDDEN).count(), where).toBe(0);
    const links = await page.evaluate("[...document.links].map(({ href }) => href)");
    for (const link of links as string[]) expect(new URL(link).origin, where).toBe(url);
    const width = await page.evaluate("document.documentElement.scrollWidth");
    expect(width, where).toBeLessThanOrEqual(1280);
    // A mark for the direction of writing turns round nothing beside its own text.
    const codes = await page.evaluate(
      "[...document.querySelectorAll('main code')].map((each) => getComputedStyle(each).unicodeBidi)",
    );
    expect(new Set(codes as string[]), where).not.toContain("normal");
  }

  it("stays a text on each screen, and nothing from elsewhere is loaded", async () => {
    const { page, complaints } = await openPage(browser, url);
    const elsewhere: string[] = [];
    page.on("request", (request) => {
      if (new URL(request.url()).origin !== url) elsewhere.push(request.url());
    });
    page.on("dialog", (dialog) => void elsewhere.push(dialog.message()));
    page.on("popup", (popup) => void elsewhere.push(popup.url()));
    await logIn(page, TOKEN);
    const shown: string[] = [];
    for (const name of await page
      .getByRole("navigation", { name: "Screens" })
      .getByRole("link")
      .allTextContents()) {
      await page
        .getByRole("navigation", { name: "Screens" })
        .getByRole("link")
        .filter({ hasText: name })
        .press("Enter");
      await page.getByRole("heading", { name, level: 1 }).waitFor();
      await page.getByText("Loading").waitFor({ state: "detached" });
      await expectHarmless(page, name);
      await expectHarmless(page, name); // what was opened is shown now
      shown.push((await page.locator("main").textContent()) ?? "");
    }
    expect(shown.join("\n")).toContain("<script>globalThis.wasRun=1</script>");
    for (const network of ["main", "lies"]) {
      await page.evaluate(`location.hash = '#/try?key=test&network=${network}'`);
      await page.getByLabel("Method").selectOption("eth_gasPrice");
      for (let tries = 0; tries < 6; tries += 1) {
        await page.getByRole("button", { name: "Call", exact: true }).press("Enter");
        await page.getByLabel("The response in JSON").waitFor();
        await expectHarmless(page, "try");
      }
    }
    for (const text of TEXTS) {
      const query = encodeURIComponent(text.slice(0, 500).toWellFormed());
      for (const place of [
        `nodes?network=`,
        `keys?key=`,
        `calls?key=`,
        `bill?key=`,
        `try?method=`,
        "",
      ]) {
        await page.evaluate(`location.hash = ${JSON.stringify(`#/${place}${query}`)}`);
        await until("the screen is there", async () => (await page.locator("h1").count()) > 0);
        await expectHarmless(page, place);
      }
    }
    expect(complaints).toEqual([]);
    expect(elsewhere).toEqual([]);
    await page.context().close();
  });

  it("is served with headers that let no page run it, whatever is asked for", async () => {
    const headers = { authorization: `Bearer ${TOKEN}`, accept: "text/html" };
    const page = await fetch(url, { headers });
    expect(page.headers.get("content-security-policy")).toMatch(
      /default-src 'none'; script-src 'self';/,
    );
    expect(page.headers.get("content-security-policy")).not.toMatch(/unsafe|data:|https?:|\*/);
    for (const path of [
      "/status",
      "/events",
      "/calls",
      "/audit",
      "/usage",
      "/metrics",
      "/configuration",
      "/keys",
      `/keys/${encodeURIComponent(TEXTS[0] as string)}`,
      `/${encodeURIComponent(TEXTS[2] as string)}`,
    ]) {
      const answer = await fetch(`${url}${path}`, { headers });
      await answer.body?.cancel();
      expect(answer.headers.get("content-type"), path).not.toMatch(/html|svg|xml/);
      expect(answer.headers.get("x-content-type-options"), path).toBe("nosniff");
    }
  });
});
