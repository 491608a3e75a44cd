// Debian's Chromium for tests of the console. Where there is none they are skipped by name; in CI that is a failure.
import { existsSync } from "node:fs";
import axe from "axe-core";
import { type Browser, chromium, type Page } from "playwright-core";

const PROGRAM = ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"].find(
  (path) => existsSync(path),
);

/** Whether tests that need a browser are left out. @throws In CI, where nothing is. */
export function lacksBrowser(): boolean {
  if (PROGRAM) return false;
  if (process.env["CI"]) throw new Error("there is no Chromium: apt-get install chromium");
  console.error("WARNING: there is no Chromium: the console is not tested");
  return true;
}

export const startBrowser = (): Promise<Browser> =>
  // As root Chromium runs without its sandbox or not at all; the pages are ours.
  chromium.launch({ executablePath: PROGRAM ?? "", args: ["--no-sandbox"] });

export type Look = {
  readonly width?: number;
  readonly height?: number;
  readonly isDark?: boolean;
  readonly zone?: string;
  /** Whoever signed it: that of a test is signed by nobody that a browser knows. */
  readonly takesAnyCertificate?: boolean;
};

export type ConsolePage = {
  readonly page: Page;
  /** What the page complained about: errors of scripts, and what its Content-Security-Policy forbade. */
  readonly complaints: readonly string[];
};

/** A page of its own, with no cookies of others'. */
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
  context.setDefaultTimeout(100_000); // a busy machine shows it later
  const page = await context.newPage();
  const complaints: string[] = [];
  page.on("pageerror", (error) => void complaints.push(String(error)));
  page.on("console", (message) => {
    // An answer of 401 or 503 is no fault of the page.
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

/** What axe finds wrong with what is shown, one line each. */
export async function axeViolations(page: Page): Promise<readonly string[]> {
  // Beside the page's own policy, which forbids such a script.
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
