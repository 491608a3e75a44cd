// Installs what is missing, with any Node.js that npm itself runs on, so that `npm start` and
// `npm test` need no step before them. Plain JavaScript: it runs before our own Node.js is there.
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { installFromDebian } from "./apt-install.mjs";

/** What only tests and tools need: `npm start` has its first answer sooner without. */
const withoutDev = process.argv.includes("--without-dev");
const isForTests = !withoutDev && !process.argv.includes("--to-pack");

const packagesIn = (file) => JSON.parse(readFileSync(file, "utf8")).packages;

/**
 * npm writes the second file when it is done, but also when it writes the lock file only. Packages for other platforms
 * are never installed.
 */
function isInstalled() {
  const installed = "node_modules/.package-lock.json";
  if (!existsSync(installed)) return false;
  const have = packagesIn(installed);
  return Object.entries(packagesIn("package-lock.json")).every(
    ([path, { version, link, optional, extraneous, dev, devOptional }]) =>
      path === "" ||
      optional ||
      extraneous ||
      (withoutDev && (dev || devOptional)) ||
      (existsSync(path) &&
        (link || !path.includes("node_modules/") || have[path]?.version === version)),
  );
}

const INSTALL = ["install", "--no-save", "--ignore-scripts", "--no-audit", "--no-fund"];
/** No warnings: npm has one for each package that wants a newer Node.js than npm runs on, and the one that is installed here is. */
const QUIETLY = "--loglevel=error";

/** There while npm installs. It takes packages for whole that it was ended over. */
const UNFINISHED = "node_modules/.unfinished";

if (!isInstalled()) {
  console.error("headgate: installing dependencies, once …");
  if (existsSync(UNFINISHED)) rmSync("node_modules", { recursive: true, force: true });
  mkdirSync("node_modules", { recursive: true });
  writeFileSync(UNFINISHED, "");
  const { code, isEnded } = await install();
  if (!isEnded) rmSync(UNFINISHED, { force: true });
  if (isEnded) console.error("headgate: ended while it installed; the next start begins anew");
  else if (code !== 0)
    console.error("headgate: npm could not install the dependencies; what it said is above");
  if (isEnded || code !== 0) process.exit(isEnded ? 130 : 1);
}

/** Ctrl-C ends it at once: npm alone would go on for up to a minute, behind the prompt. */
async function install() {
  const omitted = withoutDev ? ["--omit=dev"] : [];
  const isWindows = process.platform === "win32";
  // Not `npm ci`: it begins by removing what is there.
  const npm = spawn("npm", [...INSTALL, QUIETLY, ...omitted], {
    stdio: ["ignore", "inherit", "inherit"],
    shell: isWindows,
    detached: !isWindows, // a group of its own, which a signal at the terminal does not reach
  });
  let isEnded = false;
  const end = () => {
    isEnded = true;
    if (isWindows) npm.kill();
    else process.kill(-npm.pid, "SIGKILL");
  };
  const signals = ["SIGINT", "SIGTERM", "SIGHUP"];
  for (const signal of signals) process.once(signal, end);
  const [code] = await once(npm, "close");
  for (const signal of signals) process.off(signal, end);
  return { code, isEnded };
}

/** What tests need of the system, and Debian's packages that have it. Without one they are skipped, or fail where CI is set. */
const NEEDED = {
  openssl: { of: "openssl", for: "TLS", says: "version" },
  "redis-server": { of: "redis-server", for: "the shared state" },
  chromium: { of: "chromium", for: "the console" },
  "systemd-notify": { of: "systemd", for: "what systemd is told" },
};

if (isForTests)
  for (const [command, what] of Object.entries(NEEDED))
    if (!isThere(command, what)) installForTests(command, what);

// By our own Node.js, which npm finds first from now on. Without a bundle the gateway begins with its sources.
spawnSync("node", ["scripts/bundle.mjs"], {
  stdio: "inherit",
  shell: process.platform === "win32",
});

function installForTests(command, what) {
  const { of, for: subject } = what;
  console.error(`headgate: installing ${of} for the tests, once …`);
  installFromDebian(of);
  if (isThere(command, what)) return;
  console.error(`headgate: WARNING: there is no ${command}; install one to test ${subject}`);
}

function isThere(command, { says = "--version" } = {}) {
  return spawnSync(command, [says]).status === 0;
}
