// Installs what is missing, with any Node.js that npm itself runs on, so that `npm start` and
// `npm test` need no step before them. Plain JavaScript: it runs before our own Node.js is there.
import { spawnSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";

/** What only tests and tools need: `npm start` has its first answer sooner without. */
const withoutDev = process.argv.includes("--without-dev");

const packagesIn = (file) => JSON.parse(readFileSync(file, "utf8")).packages;

/** npm writes the second file when it is done. Packages for other platforms are never installed. */
function isInstalled() {
  const installed = "node_modules/.package-lock.json";
  if (!existsSync(installed)) return false;
  const have = packagesIn(installed);
  return Object.entries(packagesIn("package-lock.json")).every(
    ([path, { version, optional, extraneous, dev }]) =>
      path === "" ||
      optional ||
      extraneous ||
      (withoutDev && dev) ||
      have[path]?.version === version,
  );
}

if (!isInstalled()) {
  console.error("headgate: installing dependencies, once …");
  const omitted = withoutDev ? ["--omit=dev"] : [];
  // Not `npm ci`: it refuses a lock file that lacks the packages of platforms a registry does not serve.
  const { status } = spawnSync(
    "npm",
    ["install", "--no-save", "--ignore-scripts", "--no-audit", "--no-fund", ...omitted],
    {
      stdio: ["ignore", "inherit", "inherit"],
      shell: process.platform === "win32",
    },
  );
  if (status !== 0) {
    console.error("headgate: npm could not install the dependencies; what it said is above");
    process.exit(1);
  }
}
