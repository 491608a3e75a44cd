// Packages of Debian's that tests and checks need, where they may be installed.
import { spawnSync } from "node:child_process";
import { existsSync, rmSync, writeFileSync } from "node:fs";

/** Does nothing where this is no Debian, or not its root. */
export function installFromDebian(name) {
  if (process.getuid?.() !== 0 || !existsSync("/etc/debian_version")) return;
  // A list that is missing or old lacks the package or names files that are gone.
  if (!install(name) && apt("update")) install(name);
}

/** Installed only: what is started, or starts with the machine, is not for tests to bring about. */
function install(name) {
  const policy = "/usr/sbin/policy-rc.d"; // Debian asks it before a package starts its service
  const isMine = !existsSync(policy);
  if (isMine) writeFileSync(policy, "#!/bin/sh\nexit 101\n", { mode: 0o755 });
  const isDone = apt("install", "--yes", "--no-install-recommends", name);
  if (isMine) rmSync(policy);
  if (existsSync("/run/systemd/system") && SERVICES.includes(name))
    spawnSync("systemctl", ["disable", name]);
  return isDone;
}

const SERVICES = ["redis-server", "prometheus"];

function apt(...args) {
  const { status } = spawnSync("apt-get", ["--quiet", ...args], {
    env: { ...process.env, DEBIAN_FRONTEND: "noninteractive" },
    stdio: ["ignore", "ignore", "inherit"],
    timeout: 180_000,
  });
  return status === 0;
}

if (import.meta.main && process.argv[2]) installFromDebian(process.argv[2]);
