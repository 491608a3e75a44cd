// Debian's Chromium for the tests of the console. Where it is missing, the tests are skipped by name; in CI they fail.
import { existsSync } from "node:fs";
import axe from "axe-core";
import { type Browser, chromium, type Page } from "playwright-core";

const PROGRAM = ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"].find(
  (path) => existsSync(path),
);

/** Whether there is no browser, so that tests are skipped. @throws In CI. */
export function lacksBrowser(): boolean {
  if (PROGRAM) return false;
  if (process.env["CI"]) throw new Error("there is no Chromium: apt-get install chromium");
  console.error("WARNING: there is no Chromium: the console is not tested");
  return true;
}

export const startBrowser = (): Promise<Browser> =>
  // As root, Chromium runs only without its sandbox; it opens only the gateway's own pages.
  chromium.launch({ executablePath: PROGRAM ?? "", args: ["--no-sandbox"] });

export type Look = {
  readonly width?: number;
  readonly height?: number;
  readonly isDark?: boolean;
  readonly zone?: string;
  /** Accepts the certificates of tests, which no browser trusts. */
  readonly takesAnyCertificate?: boolean;
};

export type ConsolePage = {
  readonly page: Page;
  /** Errors of the page's scripts, and violations of its Content-Security-Policy. */
  readonly complaints: readonly string[];
};

/** Opens a page in a context of its own, without cookies. */
export async function openPage(
  browser: Browser,
  url: string,
  { width = 1280, height = 800, isDark = false, zone, takesAnyCertificate = false }: Look = {},
): Promise<ConsolePage> {
  const context = await browser.newContext({
    viewport: { width, height },
    colorScheme: isDark ? "dark" : "light",
    reducedMotion: "reduce",
    locale: "en-GB",
    ignoreHTTPSErrors: takesAnyCertificate,
    ...(zone && { timezoneId: zone }),
  });
  context.setDefaultTimeout(100_000); // a busy machine is slower
  const page = await context.newPage();
  const complaints: string[] = [];
  page.on("pageerror", (error) => void complaints.push(String(error)));
  page.on("console", (message) => {
    // An answer of 401 or 503 is no error of the page.
    if (message.type() === "error" && !message.text().startsWith("Failed to load resource"))
      complaints.push(message.text());
  });
  await page.goto(url);
  return { page, complaints };
}

/** Types the token, by the keyboard alone. */
export async function logIn(page: Page, token: string): Promise<void> {
  await page.getByLabel("Token").focus();
  await page.keyboard.type(token);
  await page.keyboard.press("Enter");
  await page.getByRole("navigation", { name: "Screens" }).waitFor();
}

type AxeResult = {
  id: string;
  help: string;
  nodes: { target: unknown; failureSummary?: string }[];
};

/** axe's accessibility violations in the page, one line each. */
export async function axeViolations(page: Page): Promise<readonly string[]> {
  // Through the debugger: the page's own policy forbids such a script.
  const session = await page.context().newCDPSession(page);
  const expression = `${axe.source}; axe.run().then(({violations}) => JSON.stringify(violations))`;
  const { result } = await session.send("Runtime.evaluate", {
    ...{ expression, awaitPromise: true, returnByValue: true },
  });
  await session.detach();
  const violations = JSON.parse(String(result.value)) as AxeResult[];
  return violations.flatMap(({ id, help, nodes }) =>
    nodes.map(({ target, failureSummary }) => `${id}: ${help}: ${target}: ${failureSummary}`),
  );
}
