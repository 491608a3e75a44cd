// `headgate --version`: which code this is, and what runs it.
import { execFileSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import manifest from "../../package.json" with { type: "json" };

/** The package's folder, or the repository. */
const ROOT = join(import.meta.dirname, "../..");

export const versionLine = (): string =>
  `headgate ${manifest.version} (commit ${commit()}, Node.js ${process.versions.node})`;

/** And a + where anything was changed since. Of the repository what git says; of the package what was written when it was packed. */
export function commit(): string {
  const packed = join(ROOT, "dist/commit");
  try {
    if (existsSync(join(ROOT, ".git"))) {
      const words = ["describe", "--always", "--abbrev=12", "--exclude=*", "--dirty=+"];
      return execFileSync("git", words, { cwd: ROOT, encoding: "utf8", stdio: "pipe" }).trim();
    }
    return readFileSync(packed, "utf8").trim();
  } catch {
    return "unknown";
  }
}
