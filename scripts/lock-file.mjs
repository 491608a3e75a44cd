// Adds packages of other platforms to the lock file: npm silently leaves them out where the registry lacks them, and then
// `npm ci` refuses the file everywhere. The entries have no integrity hash, since no tarball was fetched. `npm run lock`
// runs npm first; `npm run check` lets npm verify that the file is complete.
import { readFileSync, writeFileSync } from "node:fs";

const FILE = "package-lock.json";
const lock = JSON.parse(readFileSync(FILE, "utf8"));

const SYSTEMS = /(?:^|[-/])(android|darwin|freebsd|linux|openharmony|sunos|win32)(?=-|$)/;
const PROCESSORS = /(?:^|[-/])(amd64|arm64|arm|ia32|ppc64|riscv64|s390x|wasm32|x64)(?=-|$)/;

const missing = Object.entries(lock.packages).flatMap(([parent, { optionalDependencies = {} }]) =>
  Object.entries(optionalDependencies)
    .filter(([name]) => !placesOf(parent, name).some((place) => place in lock.packages))
    .map(([name, range]) => ({ parent, name, range })),
);

for (const one of missing) lock.packages[`node_modules/${one.name}`] = entryOf(one);
const sorted = Object.entries(lock.packages).sort(([a], [b]) => a.localeCompare(b, "en"));
lock.packages = Object.fromEntries(sorted);
writeFileSync(FILE, `${JSON.stringify(lock, null, 2)}\n`);

/** The places where Node.js looks for a package, from the inside out. */
function placesOf(parent, name) {
  const places = [];
  for (let at = parent; ; at = at.slice(0, Math.max(0, at.lastIndexOf("/")))) {
    if (!at.endsWith("node_modules"))
      places.push(`${at === "" ? "" : `${at}/`}node_modules/${name}`);
    if (at === "") return places;
  }
}

function entryOf({ parent, name, range }) {
  // A parent pins the packages of its platforms to one version.
  if (!/^\d+\.\d+\.\d+[\w.+-]*$/.test(range))
    throw new Error(`${parent} needs ${name} ${range}, which is not one exact version`);
  const { dev } = lock.packages[parent];
  const [, system] = SYSTEMS.exec(name) ?? [];
  const [, processor] = PROCESSORS.exec(name) ?? [];
  const libc = system !== "linux" ? undefined : name.includes("musl") ? "musl" : "glibc";
  return {
    version: range,
    ...(processor && { cpu: [processor === "amd64" ? "x64" : processor] }),
    ...(dev && { dev }),
    ...(libc && { libc: [libc] }),
    optional: true,
    ...(system && { os: [system] }),
  };
}
