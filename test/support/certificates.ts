// Certificates for tests, made by openssl: authorities, and certificates that they sign for this machine or for a
// client.
import { execFileSync } from "node:child_process";
import { copyFileSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

export type MadeCertificate = { readonly certificate: string; readonly key: string };

export const hasOpenssl = ((): boolean => {
  try {
    execFileSync("openssl", ["version"], { stdio: "ignore" });
    return true;
  } catch {
    return false;
  }
})();

/** A folder of certificates, each under its name. */
export class Certificates {
  readonly folder = mkdtempSync(join(tmpdir(), "headgate-certificates-"));

  /** @returns The authority's certificate as a file. */
  authority(name: string): string {
    const { certificate, key } = this.#files(name);
    this.#openssl("req", "-x509", ...KEY, key, "-out", certificate, "-days", "30", ...named(name));
    return certificate;
  }

  /** A certificate for localhost and 127.0.0.1, signed by an authority. */
  signed(name: string, authority: string): MadeCertificate {
    const { certificate, key } = this.#files(name);
    const request = join(this.folder, `${name}.csr`);
    this.#openssl("req", ...KEY, key, "-out", request, ...named(name), "-addext", HERE);
    const by = this.#files(authority);
    const signing = ["-CA", by.certificate, "-CAkey", by.key, "-copy_extensions", "copy"];
    const out = ["-out", certificate, "-days", "30"];
    this.#openssl("x509", "-req", "-in", request, ...signing, ...out);
    return { certificate, key };
  }

  read(path: string): string {
    return readFileSync(path, "utf8");
  }

  /** Replaces the files of one certificate by those of another. */
  replace(place: MadeCertificate, by: MadeCertificate): void {
    copyFileSync(by.certificate, place.certificate);
    copyFileSync(by.key, place.key);
  }

  remove(): void {
    rmSync(this.folder, { recursive: true });
  }

  #files(name: string): MadeCertificate {
    return { certificate: join(this.folder, `${name}.pem`), key: join(this.folder, `${name}.key`) };
  }

  #openssl(...words: readonly string[]): void {
    execFileSync("openssl", [...words], { stdio: ["ignore", "ignore", "pipe"] });
  }
}

const KEY = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-keyout"];
const HERE = "subjectAltName=DNS:localhost,IP:127.0.0.1";
const named = (name: string): readonly string[] => ["-subj", `/CN=${name}`];
