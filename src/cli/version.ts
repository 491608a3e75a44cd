// `headgate --version`: the version and the commit of the code, and the version of Node.js.
import { execFileSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import manifest from "../../package.json" with { type: "json" };

/** The folder of the package, or of the repository. */
const ROOT = join(import.meta.dirname, "../..");

export const versionLine = (): string =>
  `headgate ${manifest.version} (commit ${commit()}, Node.js ${process.versions.node})`;

/** The commit of the code, from git with a + if files were changed since, or as it was written into the package. */
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
