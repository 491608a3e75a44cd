// Installs missing dependencies, with any Node.js that npm itself runs on, so that `npm start` and `npm test` need no
// step before them. Plain JavaScript: it runs before the repository's own Node.js is installed.
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { installFromDebian } from "./apt-install.mjs";

/** Leaves out the packages of tests and tools, so that `npm start` answers sooner. */
const withoutDev = process.argv.includes("--without-dev");
const isForTests = !withoutDev && !process.argv.includes("--to-pack");

const packagesIn = (file) => JSON.parse(readFileSync(file, "utf8")).packages;

/**
 * Compares the lock file with npm's record of the installed packages. npm writes that record also when it writes the lock
 * file only, so packages must be on the disk as well. npm never installs packages for other platforms.
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
/** Hides npm's warnings about packages that want a newer Node.js than npm runs on: the installed one is new enough. */
const QUIETLY = "--loglevel=error";

/** Exists while npm installs: when npm is killed, it takes half-written packages for complete ones afterwards. */
const UNFINISHED = "node_modules/.unfinished";

if (!isInstalled()) {
  console.error("headgate: installing dependencies, once …");
  if (existsSync(UNFINISHED)) rmSync("node_modules", { recursive: true, force: true });
  mkdirSync("node_modules", { recursive: true });
  writeFileSync(UNFINISHED, "");
  const { code, isEnded } = await install();
  if (!isEnded) rmSync(UNFINISHED, { force: true });
  if (isEnded)
    console.error("headgate: stopped during the installation; the next start installs again");
  else if (code !== 0)
    console.error("headgate: npm could not install the dependencies; its output is above");
  if (isEnded || code !== 0) process.exit(isEnded ? 130 : 1);
}

/** Runs npm. Ctrl-C kills it at once: npm alone would go on for up to a minute, behind the prompt. */
async function install() {
  const omitted = withoutDev ? ["--omit=dev"] : [];
  const isWindows = process.platform === "win32";
  // Not `npm ci`, which first removes all installed packages.
  const npm = spawn("npm", [...INSTALL, QUIETLY, ...omitted], {
    stdio: ["ignore", "inherit", "inherit"],
    shell: isWindows,
    detached: !isWindows, // a process group of its own, which a signal at the terminal does not reach
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

/** Programs that tests need, with their Debian packages. Tests without their program are skipped; in CI they fail. */
const NEEDED = {
  openssl: { of: "openssl", for: "TLS", says: "version" },
  "redis-server": { of: "redis-server", for: "the shared state" },
  chromium: { of: "chromium", for: "the console" },
  "systemd-notify": { of: "systemd", for: "the notifications to systemd" },
};

if (isForTests)
  for (const [command, what] of Object.entries(NEEDED))
    if (!isThere(command, what)) installForTests(command, what);

// From now on npm finds the repository's own Node.js first. Without a bundle the gateway starts from its sources.
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
